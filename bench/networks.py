#!/usr/bin/env python3
"""Expected times of whole networks against published runs: one line per network, framework and type.

Each row of the table (a run on one device, with its batch, length and type) becomes the command lines that a user
would write: its framework is --runtime, its type --dtype, --math or, where PyTorch mixes them, --precision. Nothing
else is told, but that the servers of 2021 (Triton) fuse no attention. Generated text is a prompt and as many decode passes as tokens, at the middle of the lengths
that they see; T5's translations, whose tables have no lengths, are in published_translations.py. Runs whose figure holds more than the network are told apart, and rows that ask for something
else are counted by reason. No constant of dlcost was fitted to the rows that are judged.

usage: networks.py DLCOST serving.csv [--devices] [--rows]
"""

import argparse
import collections
import os
import re

import published_runs
import published_translations

LLAMA_7B = ("llama3-8b", "inner=11008", "kv_heads=32", "vocabulary=32000")
LLAMA_13B = (
    "llama3-8b", "layers=40", "width=5120", "heads=40", "inner=13824", "kv_heads=40", "vocabulary=32000",
)  # fmt: skip
CONFIGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "networks", "configs")
GPT_J = (os.path.join(CONFIGS, "gpt-j-6b.json"),)
MISTRAL_7B = (os.path.join(CONFIGS, "mistral-7b.json"),)
NAMES = {LLAMA_7B: "llama-7b", LLAMA_13B: "llama-13b", GPT_J: "gpt-j-6b", MISTRAL_7B: "mistral-7b"}
# (pattern of the row's model and note, settings of `dlcost network`)
NETWORKS = (
    (r"^bert-base-uncased;|^BERT [Bb]ase;", ("bert-base",)),
    (r"^bert: BERT performance|LanguageModeling/BERT;.*Model=base", ("bert-base",)),
    (r"^BERT [Ll]arge;|LanguageModeling/BERT;.*Model=large|^LanguageModeling/BERT/triton/large;", ("bert-large",)),
    (r"^LanguageModeling/BERT/triton/dist6l;", ("bert-base", "layers=6")),
    (r"ConvNets/(triton/)?resnet50|/RN50v1.5|^resnet50;", ("resnet50",)),
    (r"ConvNets/resnext101-32x4d;", ("resnext101-32x4d",)),
    (r"ConvNets/se-resnext101-32x4d;", ("se-resnext101-32x4d",)),
    (r"ConvNets/efficientnet;.*Model=efficientnet-b0", ("efficientnet-b0",)),
    (r"ConvNets/efficientnet;.*Model=efficientnet-b4", ("efficientnet-b4",)),
    (r"ConvNets/efficientnet;.*Model=efficientnet-widese-b0", ("efficientnet-b0", "squeeze=wide")),
    (r"ConvNets/efficientnet;.*Model=efficientnet-widese-b4", ("efficientnet-b4", "squeeze=wide")),
    (r"^gpt2;$", ("gpt2",)),
    (r"^llama-3-8B;", ("llama3-8b",)),
    (r"^LLaMA 7B;|^Llama2-7B;", LLAMA_7B),
    (r"^Llama2-13B;", LLAMA_13B),
    (r"^GPT-J 6B;", GPT_J),
    (r"^Mistral 7B;", MISTRAL_7B),
    (r"^gpt: Performance of GPT-", ("gpt2",)),
    (r"^t5: T5-small ", ("t5-small",)),
    (r"^t5: T5-base ", ("t5-base",)),
    (r"^t5: T5-3B ", ("t5-3b",)),
)
WANTED = re.compile(r"bert|resnet-?50|resnext101-32x4d|RN50|efficientnet|gpt|t5|llama|mistral", re.IGNORECASE)
DEVICES = {
    "A100 (40GB)": "a100-sxm4-40gb", "A100-SXM4-40GB": "a100-sxm4-40gb", "A100-SXM4-80GB": "a100-sxm4-80gb",
    "A100": "a100-sxm4-40gb", "A30": "a30", "A10": "a10", "A40": "a40", "T4": "t4", "L4": "l4", "L40S": "l40s",
    "A100-40GB": "a100-sxm4-40gb", "A100-80GB": "a100-sxm4-80gb", "V100-16GB": "v100-sxm2-16gb",
    "V100": "v100-sxm2-16gb", "V100-SXM2-16GB": "v100-sxm2-16gb", "V100-SXM2-32GB": "v100-sxm2-32gb",
    "V100-PCIE-16GB": "v100-pcie-16gb", "A100 PCIe 80GB": "a100-pcie-80gb", "A100 SXM 80GB": "a100-sxm4-80gb",
    "H100 PCIe 80GB": "h100-pcie",
    "A40 48GB": "a40", "L40S 48GB": "l40s", "RTX A6000 48GB": "rtx-a6000", "RTX 6000 Ada 48GB": "rtx-6000-ada",
    "3070 8GB": "rtx-3070", "3080 10GB": "rtx-3080-10gb", "3080 Ti 12GB": "rtx-3080-ti", "4070 Ti 12GB": "rtx-4070-ti",
    "4080 16GB": "rtx-4080", "RTX 4000 Ada 20GB": "rtx-4000-ada", "RTX 5000 Ada 32GB": "rtx-5000-ada",
    "3090 24GB": "rtx-3090", "4090 24GB": "rtx-4090", "3090 Ti": "rtx-3090-ti", "4090": "rtx-4090",
    "M1 7-Core GPU 8GB": "m1-7c", "M1 Max 32-Core GPU 64GB": "m1-max-32c", "M2 Ultra 76-Core GPU 192GB": "m2-ultra-76c",
    "M3 Max 40-Core GPU 64GB": "m3-max-40c", "H100": "h100-sxm5",
}  # fmt: skip
# fp8 is TensorRT-LLM's, as Model Optimizer quantizes, with a cache in fp8.
TYPES = {
    "fp32": ["--math", "default"], "tf32": ["--math", "tf32"], "fp16": ["--dtype", "f16"], "F16": ["--dtype", "f16"],
    "amp_fp16": ["--dtype", "f16"], "int8": ["--dtype", "int8"], "fp8": ["--precision", "w8a8-fp8"],
    "int4": ["--precision", "w4a16-int4"], "Q4_K_M": ["--precision", "q4_k_m"],
}  # fmt: skip
# The row's framework as --runtime.
RUNTIMES = {
    "TensorRT": "tensorrt",
    "FasterTransformer": "fastertransformer",
    "Paddle-TRT": "paddle-trt",
    "PyTorch": "pytorch-eager",
    "Huggingface": "pytorch-eager",
    "TorchScript": "torchscript",
    "TF": "tensorflow",
    "ONNX Runtime": "onnxruntime",
    "TensorRT-LLM": "trtllm",
    "llama.cpp": "llama.cpp",
    "MLC LLM": "generic",
    "ExLlamaV2": "generic",
}
# Figures that hold more than the network, told apart. Paddle-TRT's clock runs from one batch to the next, with the
# loader's iteration between: DeepLearningExamples, PaddlePaddle/Classification/RN50v1.5/inference.py. (TensorFlow's and
# MXNet's hold whole input pipelines.) Translations by transformers are loops of Python around each token: sampling,
# beam search, caches that it reorders.
APART = {
    "Paddle-TRT": "with the loading of the next batch in the figure",
    "Huggingface": "with generation loops in Python in the figure",
}

Question = collections.namedtuple("Question", "network framework device dtype passes measured")


class NotJudged(Exception):
    """Why a row is no question."""


def framework(row):
    name, note = row["framework"].removesuffix("-FP16"), row["note"]
    if re.search(r"EFF|[Ss]parse|MIG|Decoder", note):
        raise NotJudged("padding removed, sparse weights, a part of a device, or a decoder alone")
    if row["set"].startswith("mlperf") or row["set"].startswith("aic"):
        raise NotJudged("a server under load: what requests wait for each other")
    if name.startswith("Triton"):
        if row["metric"] != "latency_server_compute_infer":
            raise NotJudged("a client's time, or the same run by another metric")
        if "PyTorch" in name:
            raise NotJudged("a server that does not wait for its device")
        return "TensorRT" if "TensorRT" in name else "ONNX Runtime"
    if name == "PaddlePaddle" and "Paddle-TRT" in note:
        return "Paddle-TRT"
    if name == row["device"] and "BERT performance comparison" in row["model"]:
        return "FasterTransformer"
    if name == "TensorRT" and row["device"] == "A30":
        raise NotJudged("a table that repeats an L4's")  # 20 of the 22 rows that both have agree within 3 %
    if name not in RUNTIMES or "DALI" in note:
        raise NotJudged("an input pipeline in the figure, or a framework without a runtime here")
    return name


def of_type(row, name):
    if row["precision"] not in TYPES:
        raise NotJudged("no type, or one that is not modelled")
    if row["precision"] == "int8" and name == "FasterTransformer":
        raise NotJudged("three schemes that quantize different parts")
    options = TYPES[row["precision"]]
    if row["precision"] == "amp_fp16" and name == "PyTorch":
        options = ["--precision", "amp-fp16"]
        if re.search("resne[tx]", row["model"].lower()):  # Classification/ConvNets/configs.yml: memory_format nhwc
            options += ["--layout", "kernels"]
    return row["precision"].removeprefix("amp_").replace("F16", "fp16"), options


def generated(network, settings, row, batch):
    """A prompt and the tokens behind it: (network, dimensions, how often)."""
    prompt, tokens = int(row["input_len"]), int(row["output_len"])
    decode = (*network, *settings, "phase=decode")
    return [((*network, *settings, "phase=prefill"), [*batch, "--dim", f"sequence={prompt}"], 1),
            (decode, [*batch, "--dim", f"past={prompt + tokens // 2}"], tokens - 1)]  # fmt: skip


def passes(network, row):
    """[(settings of `dlcost network`, dimensions, how often)], and the seconds that all of them took."""
    value, metric, unit = float(row["value"]), row["metric"], row["unit"]
    if not row["batch"]:
        raise NotJudged("no batch, or no length")
    batch = ["--batch", row["batch"]]
    if network[0] == "llama3-8b" or network in (GPT_J, MISTRAL_7B):
        if metric == "decode_throughput":  # the mean length while so many tokens are generated
            past = int(row["output_len"]) // 2
            return [((*network, "phase=decode"), [*batch, "--dim", f"past={past}"], 1)], 1 / value
        if metric == "prefill_throughput":
            # In pieces of 512 tokens (llama-bench: -ub), each of which reads the weights.
            settings = (*network, "phase=prefill", "dtype=f32")
            return [(settings, [*batch, "--dim", "sequence=512"], 2)], 1024 / value
        if metric == "ttft":
            length = ["--dim", f"sequence={row['input_len']}"]
            return [((*network, "phase=prefill"), batch + length, 1)], value / 1e3
        if metric in ("throughput_per_device", "throughput") and row["output_len"]:
            return generated(network, (), row, batch), int(row["batch"]) * int(row["output_len"]) / value
        raise NotJudged("a client's time, or the same run by another metric")
    if network[0] == "gpt2" and metric == "decode_latency":
        return [((*network, "phase=decode"), [*batch, "--dim", f"past={row['input_len']}"], 1)], value / 1e3
    if network[0] == "gpt2":
        size = dict(re.findall(r"(\w+)=(\d+)", row["note"]))
        width = int(size["head_num"]) * int(size["size_per_head"])
        settings = (f"layers={size['num_layers']}", f"width={width}", f"heads={size['head_num']}", "positions=4096")
        return generated(network, settings, row, batch), value / 1e3
    if network[0].startswith("t5"):
        if value == 0:
            raise NotJudged("no figure")
        if published_translations.split(row):
            raise NotJudged("several devices")
        return published_translations.runs(network, row)
    if "bert" in network[0]:
        length = row["input_len"] or ("384" if "triton" in row["model"] else "")  # its README: questions of SQuAD
        if not length:
            raise NotJudged("no batch, or no length")
        batch += ["--dim", f"sequence={length}"]
    latency = metric in ("latency", "latency_average", "latency_server_compute_infer") and unit == "ms"
    if not latency and not (metric == "throughput" and unit == "images/s"):
        raise NotJudged("a client's time, or the same run by another metric")
    return [(network, batch, 1)], value / 1e3 if latency else int(row["batch"]) / value


def question(row):
    """What a user would ask of the row, or NotJudged."""
    network = next((n for pattern, n in NETWORKS if re.search(pattern, f"{row['model']};{row['note']}")), None)
    if not WANTED.search(row["model"]):
        raise NotJudged("another network")
    if any(row[c] not in ("", "1") for c in ("n_devices", "tp", "pp")):
        raise NotJudged("several devices")
    if not network:
        raise NotJudged("a network that `dlcost network` does not write")
    name = framework(row)
    device = DEVICES.get(row["device"])
    if row["set"] == "tensorrt_llm" and row["device"] == "A100":
        device = "a100-sxm4-80gb"  # batches of 512 requests of GPT-J, with 60 GB of keys and values
    if not device:
        raise NotJudged("a device that dlcost does not know")
    dtype, options = of_type(row, name)
    runs, measured = passes(network, row)
    if name == "PyTorch" and network[0] == "efficientnet-b0" and dtype != "fp16":
        raise NotJudged("launch.layer was set with it")
    if name == "PyTorch" and "bert" not in network[0]:  # nothing folds its normalizations
        runs = [((*settings, "norm=kept"), dims, times) for settings, dims, times in runs]
    if name == "llama.cpp":
        # A prompt's activations are float32 beside its products; a vector's products take them as they are.
        if "phase=prefill" in runs[0][0] and dtype == "fp16":
            options = ["--precision", "products-fp16"]
        options = [*options, "--attention", "materialized"]  # llama-bench of 2024: -fa 0 unless told otherwise
    told = ["--gpu", device, *options, "--runtime", RUNTIMES[name]]
    if row["framework"].startswith("Triton") or (name, row["version"]) == ("ONNX Runtime", "1.4.0"):
        # Containers of 21.10 (its README) fuse none in a plain ONNX file; version 1.4 has no kernel for it.
        told += ["--attention", "materialized"]
    runs = tuple((settings, (*told, *dims), times) for settings, dims, times in runs)
    return Question(NAMES.get(network, " ".join(network)), name, device, dtype, runs, measured)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dlcost")
    parser.add_argument("table")
    parser.add_argument("--devices", action="store_true", help="a line for each device")
    parser.add_argument("--rows", action="store_true")
    arguments = parser.parse_args()
    asked, reasons = set(), collections.Counter()
    for row in published_runs.read(arguments.table):
        try:
            asked.add(question(row))
        except NotJudged as reason:
            reasons[str(reason)] += 1
    asked = sorted(asked)
    parts = [(settings, options) for q in asked for settings, options, _ in q.passes]
    seconds = iter(published_runs.expected_all(arguments.dlcost, parts))
    groups, apart = {}, {name: {} for name in APART}
    for q in asked:
        time = sum(times * next(seconds) for _, _, times in q.passes)
        kind = apart.get(q.framework, groups)
        key = (q.network, q.framework, *([q.device] if arguments.devices else []), q.dtype)
        kind.setdefault(key, []).append(time / q.measured - 1)
        if arguments.rows:
            told = " ".join(q.passes[0][1])
            print(f"{q.network} {q.framework} {told}: {q.measured * 1e3:.3f} ms, expected {time * 1e3:.3f} ms"
                  f" ({100 * (time / q.measured - 1):+.0f}%)")  # fmt: skip
    print(published_runs.head("network, framework, " + ("device, " if arguments.devices else "") + "type"))
    for key, errors in sorted(groups.items()):
        print(published_runs.line(" ".join(key), errors))
    for column in (1, 0):
        for name in sorted({key[column] for key in groups}):
            errors = [e for key, errors in groups.items() if key[column] == name for e in errors]
            print(published_runs.line(f"all {name}", errors))
    print(published_runs.line("all", [e for errors in groups.values() for e in errors]))
    for name, heading in APART.items():
        print(f"\n{heading}")
        for key, errors in sorted(apart[name].items()):
            print(published_runs.line(" ".join(key), errors))
    print(f"\nnot judged: {sum(reasons.values())} rows")
    for reason, rows in reasons.most_common():
        print(f"{rows:6} {reason}")


if __name__ == "__main__":
    main()
