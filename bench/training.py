#!/usr/bin/env python3
"""Expected times of training steps against published runs: one line per network, framework and device.

Each row of the table (a run on one GPU) becomes the command line that a user would write: network, batch, length,
precision, device, and what the framework is: which operators run as one kernel and how kernels start. No constant of
dlcost was fitted to these rows.

usage: training.py DLCOST training_single_gpu.csv [--rows]
"""

import argparse
import re

import published_runs

RESNET, BERT = ("norm=kept",), ("dropout=kept",)
# (pattern of the row's model, network that `dlcost network` writes, its settings, optimizer)
NETWORKS = (
    (r"^ResNet-50$|ConvNets/resnet50v1.5|/RN50v1.5|^resnet50(-v1.5)?$", "resnet50", RESNET, "momentum"),
    (r"^ResNet-152$", "resnet152", RESNET, "momentum"),
    (r"ConvNets/resnext101-32x4d$", "resnext101-32x4d", RESNET, "momentum"),
    (r"ConvNets/se-resnext101-32x4d$", "se-resnext101-32x4d", RESNET, "momentum"),
    (r"^VGG16$", "vgg16", (), "momentum"),
    (r"^bert-base$|^bert_base_squad$", "bert-base", BERT, "adamw"),
    (r"^bert_large_squad$", "bert-large", BERT, "adamw"),
    (r"^LanguageModeling/BERT$", "bert-large", BERT, "lamb"),
    (r"^LanguageModeling/BERT/biobert$", "bert-base", BERT, "adamw"),
)
DEVICES = {
    "A100-SXM4-40GB": "a100-sxm4-40gb", "A100-SXM4-80GB": "a100-sxm4-80gb", "A100 80GB SXM4": "a100-sxm4-80gb",
    "A100 80GB PCIe": "a100-pcie-80gb", "LambdaCloud 1x A100 40GB PCIe": "a100-pcie-40gb",
    "LambdaCloud A100 40GB PCIe": "a100-pcie-40gb", "LambdaCloud 1x A10": "a10", "LambdaCloud A10": "a10",
    "LambdaCloud 1x V100 16GB": "v100-sxm2-16gb", "LambdaCloud V100 16GB": "v100-sxm2-16gb",
    "LambdaCloud 1x GH200 96GB": "gh200-96gb", "V100-SXM2-16GB": "v100-sxm2-16gb", "V100-SXM2-32GB": "v100-sxm2-32gb",
    "V100-SXM3-32GB": "v100-sxm2-32gb", "RTX 3090": "rtx-3090", "K80 (one GK210 of two)": "k80",
    "P100-SXM2-16GB (DGX-1)": "p100-sxm2", "Quadro RTX 8000": "quadro-rtx-8000",
}  # fmt: skip
# Batches with the mark of a footnote behind them: "bsz=196" and [1], which says 196 itself (DLPerf,
# reports/dlperf_benchmark_test_report_v1.md, ResNet-50 in AMP by PaddlePaddle).
MARKED = {"1961": "196"}
TENSOR_FLOAT = ("a100", "a10", "rtx-3090", "gh200")  # where frameworks of that time multiply float32 in tf32
# What runs as one kernel, and how kernels start. PyTorch added a bias on its own before 1.12.
FRAMEWORKS = (
    (r"w/XLA", ["--runtime", "xla"]),
    (r"PyTorch", ["--runtime", "pytorch-eager", "--fusion", "none"]),
    (r"TensorFlow", ["--runtime", "tensorflow", "--fusion", "none"]),
    (r"MXNet|MxNet|OneFlow|Paddle", ["--fusion", "none"]),
)


def halves(row, network):
    """NVIDIA's pretraining of BERT in PaddlePaddle: with --amp softmax, normalization and Gelu are in half too, products have epilogues and
    attention is one kernel (program.py: custom_white_list, fuse_gemm_epilogue, fuse_mha)."""
    paddle = row["set"] == "dle" and row["framework"] == "PaddlePaddle"
    return paddle and network.startswith("bert") and row["precision"] == "amp_fp16" and pretrains(row)


def precision(row, device, network):
    name = row["precision"]
    if halves(row, network):
        return "fp16"
    # DeepLearningExamples trains BERT with Apex at level O2: weights in half, copies in float32.
    if name == "amp_fp16" and "PyTorch" in row["framework"] and network.startswith("bert"):
        return "fp16"
    if name.startswith("fp32"):  # 43.9 sequences/s of BERT large are 1.7 times what an A100 adds up in fp32
        name = "tf32" if device.startswith(TENSOR_FLOAT) else "fp32"
    return {"amp_fp16": "amp-fp16", "fp32": "fp32", "tf32": "tf32"}.get(name)


def pretrains(row):
    """Whether words are predicted: DLPerf's runs, and those of NVIDIA's examples that are no fine-tuning."""
    return row["set"] == "dlperf" or "Pre-training" in row["note"]


def head(row):
    """The settings of BERT's head: PyTorch's example of March 2020, which DLPerf ran, predicted every position
    (its modeling.py); the others those that were masked."""
    if not pretrains(row):
        return ()
    return ("head=pretraining-all",) if row["set"] == "dlperf" and "PyTorch" in row["framework"] else ("head=pretraining",)


def masked(tokens):
    """The positions of a sequence that are predicted, as the examples' data are made: --max_predictions_per_seq."""
    return {128: 20, 512: 80}[tokens]


def update(row, network, kind):
    """How parameters change. NVIDIA's examples run Apex's fused optimizers but for BERT's fine-tuning in fp32 (run_squad.py:
    BertAdam) and SGD, which was a loop over tensors before PyTorch 2.0; TensorFlow's are written in operations."""
    if "TensorFlow" in row["framework"]:
        return ["--update-form", "loop"] if "XLA" not in row["framework"] else []
    if "PyTorch" not in row["framework"]:
        return []
    loops = "resne" in network or network == "vgg16" or (kind in ("fp32", "tf32") and not pretrains(row))
    return ["--update-form", "loop" if loops else "fused"]


def layout(row, network, kind):
    """DeepLearningExamples trains ResNets in half precision channels last (PyTorch: Classification/ConvNets/configs.yml,
    memory_format; MXNet and PaddlePaddle are taken to do the same)."""
    last = row["set"] == "dle" and "resne" in network and kind == "amp-fp16"
    return ["--layout", "kernels"] if last else []


def length(row, network):
    """The tokens of a sequence, which fine-tuning on SQuAD and tagging do not say: 384 and 128."""
    if not network.startswith("bert"):
        return None
    if row["seq"]:
        return int(row["seq"])
    return 128 if "NER" in row["note"] else 384


def passes(row):
    """The batch of one pass and how many make a step, where a table says what one GPU accumulates."""
    if not row["micro_batch"]:
        return None
    batch = int(MARKED.get(row["micro_batch"], row["micro_batch"]))
    if row["framework"] not in ("PyTorch", "PaddlePaddle") or not row["grad_accum"]:
        return batch, 1
    # "256 and 128": of the two precisions tf32 or fp32 first accumulates more.
    counts = [int(n) for n in re.findall(r"\d+", row["grad_accum"])]
    count = counts[0] if row["precision"] in ("fp32", "tf32") else counts[-1]
    # The whole step's batch stands in some rows where others have that of a pass.
    return (batch // count if batch >= 2048 else batch), count


def question(row):
    """(set, network, framework, device, precision, command, seconds), or None for a row that asks for something else."""
    match = next((n for n in NETWORKS if re.search(n[0], row["model"])), None)
    device = DEVICES.get(row["device"])
    framework = next((f for f in FRAMEWORKS if re.search(f[0], row["framework"])), None)
    if not match or not device or not framework or row["metric"] != "throughput":
        return None
    if "real data" in row["note"] or "SParsity" in row["note"]:
        return None  # an input pipeline; products with half of the weights
    if row["set"] == "dle" and row["framework"] in ("PyTorch", "PaddlePaddle") and row["seq"] == "512":
        return None  # without padding: 264 whole sequences/s would be nine tenths of an A100's fp16 peak
    _, network, settings, optimizer = match
    kind, step = precision(row, device, network), passes(row)
    if kind is None or step is None:
        return None
    batch, count = step
    if network == "bert-large" and "squad" in row["note"].lower():
        optimizer = "adamw"
    options = ["--gpu", device, "--batch", str(batch), "--train", optimizer, "--precision", kind,
               *([] if halves(row, network) else framework[1]),
               *layout(row, network, kind), *update(row, network, kind)]  # fmt: skip
    tokens = length(row, network)
    if tokens:
        settings = (*settings, *head(row))
        options += ["--dim", f"sequence={tokens}"]
        if "head=pretraining" in settings:
            options += ["--dim", f"predictions={masked(tokens)}"]
        if pretrains(row):
            options += ["--loss", "cross_entropy"]
        if "W/O clip" not in row["framework"]:
            options += ["--clip-norm", "1"]
    if count > 1:
        options += ["--accumulate", str(count)]
    seconds = batch * count / float(row["value"])
    name = re.sub(r"(W/O clip|bsz=\d+| 1\.x|NGC|2$|^2| \(.*)", "", row["framework"]).strip()
    return row["set"], network, settings, name, device, kind, tuple(options), seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dlcost")
    parser.add_argument("table")
    parser.add_argument("--rows", action="store_true")
    arguments = parser.parse_args()
    asked = sorted({q for q in map(question, published_runs.read(arguments.table)) if q})
    times = published_runs.expected_all(arguments.dlcost, [((q[1], *q[2]), q[6]) for q in asked])
    groups, sources = {}, {}
    for (source, network, _, name, device, kind, options, measured), time in zip(asked, times):
        groups.setdefault((source, network, name, device, kind), []).append(time / measured - 1)
        sources.setdefault(source, []).append(time / measured - 1)
        if arguments.rows:
            print(f"{source} {network} {name} {' '.join(options)}: {measured * 1e3:.1f} ms, expected {time * 1e3:.1f} ms"
                  f" ({100 * (time / measured - 1):+.0f}%)")  # fmt: skip
    print(published_runs.head("source, network, framework, device, precision"))
    for key, errors in sorted(groups.items()):
        print(published_runs.line(" ".join(key), errors))
    for source, errors in sorted(sources.items()):
        print(published_runs.line(f"all of {source}", errors))
    everything = [e for errors in sources.values() for e in errors]
    print(published_runs.line("all", everything))
    print(f"within 35%: {100 * sum(abs(e) <= 0.35 for e in everything) / len(everything):.1f}%")


if __name__ == "__main__":
    main()
