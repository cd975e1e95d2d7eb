#!/usr/bin/env python3
"""Steps on many devices against published runs: one line per source, network, framework and system.

Each row of the table becomes the command that a user would write: network, plan, batches, precision, system, and what
the framework is (training.py). Rows whose plan is not stated in full, or that need what is not laid out (fp8), are left
out. No constant of dlcost was fitted to these rows.

Where the runs of one device are given too, the efficiency over these is compared: what is the step's own error drops out.

usage: training_multi.py DLCOST training_multi_gpu.csv [training_single_gpu.csv] [--rows]
"""

import argparse
import concurrent.futures
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

import published_systems
import training
from published_runs import line

SYSTEMS = {
    "a100-sxm4-40gb": "dgx-a100-40gb", "a100-sxm4-80gb": "dgx-a100-80gb", "v100-sxm2-16gb": "dgx-1-v100",
    "p100-sxm2": "dgx-1-p100", "rtx-3090": "workstation-2x-rtx-3090",
}  # fmt: skip
TRAINING = {
    "V100-SXM3-32GB": "dgx-2", "V100-SXM3-32GB(DGX-2H)": "dgx-2", "P100-SXM2-16GB (DGX-1)": "dgx-1-p100",
    "A100-SXM4-80GB": "dgx-a100-80gb", "a100_80gb": "dgx-a100-80gb", "a100_40gb": "dgx-a100-40gb", "h100_80gb": "dgx-h100",
    "H100-SXM 96GB HBM2e 500W": "dgx-h100",
}  # fmt: skip
# Megatron-LM fuses bias, pointwise and softmax kernels; scores are in memory.
MEGATRON = ["--runtime", "torchscript", "--precision", "fp16", "--launch", "graph"]
# gpt_oss_llm_pretrain.py: grad_reduce_in_fp32 = False, with which Megatron Core adds gradients up in the parameters' type
# (distributed_data_parallel.py), by the products that make them (gradient_accumulation_fusion).
FUSED_BF16_SUMS = ["--sums", "bf16", "--fuse-sums"]
# torchtitan's H100 have six stacks of HBM2e (6 x 1024 bit x 3.2 Gbit/s) and 500 W.
HBM2E = ["--set", "power=500W", "--set", "memory.bandwidth=2.46TB/s", "--set", "memory.size=96GB"]
# Its "op" policy (torchtitan/parallelisms/parallelize_llama.py, _apply_ac_to_transformer_block): attention and every other
# product are kept, the first of a layer among them: q, v, gate and down.
EVERY_OTHER_PRODUCT = "selective:pointwise," + ",".join(f"*/{p}_proj/MatMul" for p in ("k", "o", "up"))
ATTENTION_CORE = "selective:/h/*/attn/[MSA]*"  # scores, softmax and context: Korthikanti et al.


with open(os.path.join(os.path.dirname(__file__), "../tests/networks/configs/gpt-oss-120b.json"), encoding="utf-8") as config:
    GPT_OSS = json.load(config)
CONFIGS = {"gpt-oss-120b": GPT_OSS}


def integer(row, name, fallback=1):
    return int(row[name]) if row[name].isdigit() else fallback


def gpt(row, vocabulary):
    heads, width, layers = (integer(row, n) for n in ("heads", "hidden", "layers"))
    return ("gpt2", (f"layers={layers}", f"width={width}", f"heads={heads}", f"positions={row['seq']}",
                     f"vocabulary={vocabulary}"))  # fmt: skip


def recomputation(row):
    if row["recompute"].startswith("full"):
        return ["--recompute", "scopes"]
    return ["--recompute", ATTENTION_CORE] if row["recompute"].startswith("selective") else []


def plan(row, zero=0):
    names = {"dp": integer(row, "dp"), "tp": integer(row, "tp"), "pp": integer(row, "pp"), "chunks": integer(row, "vp")}
    text = ",".join(f"{k}={v}" for k, v in names.items() if v > 1) or "dp=1"
    return text + (",sp=1" if "sequence parallel" in row["recompute"] else "") + (f",zero={zero}" if zero else "")


def megatron(row):
    """A step of GPT by Megatron-LM, stated as a time or as the FLOP/s of a device that a time was counted from."""
    if not all(row[n] for n in ("tp", "pp", "dp", "layers", "micro_batch")) or row["device"] not in TRAINING:
        return None
    batch, length, devices = integer(row, "global_batch"), integer(row, "seq"), integer(row, "n_devices")
    if row["metric"] == "step_time":
        seconds = float(row["value"])
    elif row["metric"] == "hardware_flops_per_device" and "SC21" in row["recompute"]:
        layers, width = integer(row, "layers"), integer(row, "hidden")
        flops = 96 * batch * length * layers * width**2 * (1 + length / (6 * width) + 51200 / (16 * layers * width))
        seconds = flops / devices / (float(row["value"]) * 1e12)
    else:
        return None
    # The paper of 2021 ran before fusion, in fp16, whose gradients stay so (arguments.py turns sums in fp32 on for bf16
    # alone); that of 2022 counts gradients in fp32, and the release with its sequence parallelism adds in products.
    sums = ["--sums", "fp16"] if "SC21" in row["recompute"] else ["--sums", "fp32", "--fuse-sums"]
    options = [*MEGATRON, *sums, "--loss", "cross_entropy", *recomputation(row), "--dim", f"sequence={length}", "--micro-batch", row["micro_batch"],
               "--global-batch", str(batch), "--parallel", plan(row), "--train", "adamw"]  # fmt: skip
    return *gpt(row, 51200), "Megatron-LM", TRAINING[row["device"]], options, seconds


def sharded(row):
    """Llama and MPT with every parameter shared out (FSDP), in tokens per second of a device."""
    if row["metric"] != "throughput_per_device" or not row["sharding"] or row["device"] not in TRAINING:
        return None
    alone = all(row[n] in ("", "1") for n in ("tp", "pp", "cp", "ep"))
    # llm-foundry's autocast finds weights, activations and gradients in bf16: FSDP's mixed precision "PURE" and
    # low_precision_layernorm (scripts/train/benchmarking/submit_benchmarks.py).
    kind = {"bf16": "bf16", "amp_bf16": "bf16"}.get(row["precision"])
    if not alone or kind is None or not row["micro_batch"] or not row["global_batch"]:
        return None
    devices, batch, length = (integer(row, n) for n in ("n_devices", "global_batch", "seq"))
    if batch % (devices * integer(row, "micro_batch")) != 0:
        return None
    seconds = batch * length / devices / float(row["value"])
    llama = row["model"] == "llama-3.1-8B"
    network = ("llama3-8b", ("dtype=f32",)) if llama else gpt(row, 50368)
    runtime = "pytorch-compile" if "compile" in row["note"].split("|")[-1] else "pytorch-eager"
    recompute = {"full": ["--recompute", "scopes"], "selective": ["--recompute", EVERY_OTHER_PRODUCT]}.get(row["recompute"], [])
    recompute += HBM2E if "HBM2e" in row["device"] else []
    # torchtitan's optimizer is fused; llm-foundry's runs over tensors that FSDP made one of each block.
    recompute += ["--update-form", "fused"] if llama else []
    # torchtitan shards with fully_shard (FSDP2) and adds gradients up in fp32 (mixed_precision_reduce).
    recompute += ["--gradients", "fp32"] if llama else []
    zero = {"FULL_SHARD": "zero=3", "FSDP": "fsdp=2", "SHARD_GRAD_OP": "zero=2"}.get(row["sharding"].split(";")[0])
    if zero is None:
        return None
    # PyTorch's attention is FlashAttention-2; llm-foundry's was Triton's first (submit_benchmarks.py, --attn_impl).
    attention = "flash-2" if llama else "flash-1"
    # torchtitan's loss is PyTorch's, of scores in fp32, and not compiled (memory.py); llm-foundry's is a fused kernel.
    loss = "nll" if llama else "cross_entropy"
    options = ["--runtime", runtime, "--attention", attention, "--precision", kind, *recompute, "--loss", loss, "--dim",
               f"sequence={length}", "--micro-batch", row["micro_batch"], "--global-batch", str(batch), "--train",
               "adamw", "--parallel", f"dp={devices},{zero}"]  # fmt: skip
    return *network, f"FSDP {runtime}", TRAINING[row["device"]], options, seconds


def experts(row):
    """Mixtures of experts by Megatron Bridge, in tokens per second of a device, in bf16."""
    system = {"H100": "dgx-h100", "GB200": "gb200-nvl72"}.get(row["device"])
    if row["metric"] != "throughput_per_device" or row["precision"] != "BF16" or system is None:
        return None
    if row["model"] != "GPT OSS 120B" or not all(row[n] for n in ("tp", "pp", "ep", "micro_batch", "global_batch")):
        return None
    devices, batch, length = (integer(row, n) for n in ("n_devices", "global_batch", "seq"))
    tp, pp, ep = (integer(row, n) for n in ("tp", "pp", "ep"))
    plan = f"dp={devices // tp // pp},tp={tp},pp={pp},ep={ep},zero=1"
    # scripts/performance/configs/gpt_oss of Megatron Bridge: norms and the experts' activations are computed again, and
    # all-to-alls run beside another micro-batch on GB200 (moe_a2a_overlap), where a node's memory needs no pipeline.
    # Gradients and parameters of replicas are exchanged beside computation (recipes/gpt_oss/gpt_oss.py).
    overlap = ["--overlap", "ep,dp" if system.startswith("gb200") else "dp"]
    options = ["--runtime", "pytorch-eager", "--attention", "flash", "--precision", "bf16", "--loss", "cross_entropy",
               "--recompute", "selective:*layernorm*,*experts/QuickGelu*,*experts/MoE/Mul*", *overlap, *FUSED_BF16_SUMS, "--dim",
               f"sequence={length}", "--micro-batch", row["micro_batch"], "--global-batch", str(batch), "--train",
               "adamw", "--parallel", plan]  # fmt: skip
    return "gpt-oss-120b", (), "Megatron Bridge", system, options, batch * length / devices / float(row["value"])


def sends(row, network, kind):
    """How gradients are sent, as the scripts of a source have it."""
    bert, half = network.startswith("bert"), kind == "fp16"
    if "PyTorch" in row["framework"] and bert:
        if not training.pretrains(row):  # run_squad.py: Apex's messages of 10 million elements
            return ["--bucket", "20MB" if half else "40MB"]
        # run_pretraining.py: DLPerf's single_node_train.sh takes Apex's messages of 250 million elements, more than BERT
        # base has; NVIDIA's own adds up once behind all passes, in fp16 (allreduce_post_accumulation_fp16).
        return ["--no-overlap"] if row["set"] == "dlperf" else ["--no-overlap", "--gradients", "fp16"]
    if re.search("M[Xx]Net", row["framework"]) or "TensorFlow" in row["framework"] and (row["set"] == "dle" or "NGC" in row["framework"]):
        # Horovod fuses up to 64 MiB; TensorFlow's BERT compresses what it sends (optimization.py) with --use_fp16.
        half = bert and kind == "amp-fp16" and "TensorFlow" in row["framework"]
        return ["--bucket", "64MiB", *(["--gradients", "fp16"] if half else [])]
    return []


def replicas(row):
    """What training.py asks of one device, on several."""
    asked = training.question(row)
    devices = integer(row, "n_devices")
    if asked is None or devices < 2 or not row["global_batch"].isdigit() and row["global_batch"] or any(row[n] not in ("", "1") for n in ("tp", "pp")):
        return None
    _, network, settings, framework, device, kind, options, _ = asked
    system = TRAINING.get(row["device"], SYSTEMS.get(device))
    options = list(options)

    def take(name):
        at = options.index(name)
        value = options[at + 1]
        del options[at : at + 2]
        return value

    batch = int(take("--batch"))
    take("--gpu")
    accumulated = int(take("--accumulate")) if "--accumulate" in options else 1
    if row["set"] == "dlperf":
        system = "dlperf.yaml"
    if row["set"] == "lambda":
        system = f"lambda-{device}.yaml"
    if system is None or "LambdaCloud" in row["device"]:
        return None  # what it runs on is not stated
    every = batch * devices * accumulated
    whole = every if row["micro_batch"] in training.MARKED else integer(row, "global_batch", every)
    passes = max(1, whole // (batch * devices))
    options += ["--micro-batch", str(batch), "--global-batch", str(batch * devices * passes)]
    options += [*sends(row, network, kind), "--parallel", f"dp={devices}"]
    return network, settings, f"{framework} {kind}", system, options, batch * devices * passes / float(row["value"])


def question(row):
    found = {"calculon": megatron, "megatron_lm": megatron, "llm_foundry": sharded, "torchtitan": sharded,
             "megatron_bridge": experts}.get(
        row["set"], replicas)(row)  # fmt: skip
    if found is None:
        return None
    network, settings, framework, system, options, seconds = found
    return row["set"], network, tuple(settings), framework, system, tuple(options), seconds


def run(binary, path, system, options):
    if system.endswith(".yaml"):
        system = os.path.join(os.path.dirname(path), system)
    command = [binary, "parallel", path, "--system", system, *options, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{' '.join(command[1:])}: {done.stderr.strip()}", file=sys.stderr)
        return None
    return json.loads(done.stdout)["plans"][0]


def alone(options):
    """The same on one device."""
    options = list(options)
    options[options.index("--parallel") + 1] = "dp=1"
    options[options.index("--global-batch") + 1] = options[options.index("--micro-batch") + 1]
    return tuple(options)


def single_runs(path):
    """What the table of one device asks."""
    with open(path, encoding="utf-8") as file:
        return [q for q in map(training.question, csv.DictReader(file)) if q]


def value_of(options, name):
    return options[options.index(name) + 1] if name in options else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dlcost")
    parser.add_argument("table")
    parser.add_argument("single", nargs="?")
    parser.add_argument("--rows", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.table, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    asked = sorted({q for q in map(question, rows) if q})
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        published_systems.write(folder, set(training.DEVICES.values()))
        paths = {}
        for q in asked:
            if q[1:3] in paths:
                continue
            if q[1] in CONFIGS:
                paths[q[1:3]] = f"{folder}/{q[1]}.json"
                with open(paths[q[1:3]], "w", encoding="utf-8") as file:
                    json.dump(CONFIGS[q[1]], file)
                continue
            paths[q[1:3]] = f"{folder}/{len(paths)}.onnx"
            command = [arguments.dlcost, "network", q[1], *q[2], "-o", paths[q[1:3]]]
            subprocess.run(command, check=True, capture_output=True)
        plans = list(pool.map(lambda q: run(arguments.dlcost, paths[q[1:3]], q[4], q[5]), asked))
        groups, sources = {}, {}
        for q, expected in zip(asked, plans):
            if expected is None:
                continue
            error = expected["step_s"] / q[6] - 1
            groups.setdefault((q[0], q[1], q[3], q[4]), []).append(error)
            sources.setdefault(q[0], []).append(error)
            if arguments.rows:
                print(f"{q[0]} {q[1]} {' '.join(q[2])} {q[4]} {' '.join(q[5])}: {q[6] * 1e3:.1f} ms, expected"
                      f" {expected['step_s'] * 1e3:.1f} ms ({100 * error:+.0f}%)")  # fmt: skip
        print(f"{'source, network, framework, system':60} rows  median   bias      p90  in 30%")
        for key, errors in sorted(groups.items()):
            print(line(" ".join(key), errors))
        for source, errors in sorted(sources.items()):
            print(line(f"all of {source}", errors))
        print(line("all", [e for errors in sources.values() for e in errors]))
        if arguments.single:
            singles = single_runs(arguments.single)
            own(arguments, singles, asked, plans, paths)
            efficiencies(arguments, singles, rows, asked, plans, paths)


def own(arguments, singles, asked, plans, paths):
    """The error that the same source's runs of one device have already, of the nearest batch, and what the job adds."""
    steps, sources = {}, {}
    for q, expected in zip(asked, plans):
        alike = [s for s in singles if (s[0], s[1], f"{s[3]} {s[5]}") == (q[0], q[1], q[3])
                 and value_of(s[6], "--dim") == value_of(q[5], "--dim")
                 and q[4] in ("dlperf.yaml", f"lambda-{s[4]}.yaml", SYSTEMS.get(s[4]), *(TRAINING[d] for d in TRAINING if training.DEVICES.get(d) == s[4]))]  # fmt: skip
        if expected is None or not alike:
            continue
        batch = int(value_of(q[5], "--micro-batch"))
        near = min(alike, key=lambda s: (abs(math.log(int(value_of(s[6], "--batch")) / batch)), s[7]))
        options = list(alone(q[5]))
        near_batch = int(value_of(near[6], "--batch"))
        options[options.index("--micro-batch") + 1] = str(near_batch)
        options[options.index("--global-batch") + 1] = str(near_batch * int(value_of(near[6], "--accumulate") or 1))
        key = (q[1:3], q[4], tuple(options))
        if key not in steps:
            steps[key] = run(arguments.dlcost, paths[q[1:3]], q[4], options)["step_s"]
        alone_error = steps[key] / near[7] - 1
        error = expected["step_s"] / q[6] - 1
        sources.setdefault(q[0], []).append((error, alone_error, (1 + error) / (1 + alone_error) - 1))
        if arguments.rows:
            print(f"{q[0]} {q[1]} {q[3]} {q[4]} {q[5][-1]} batch {batch} (one device: {value_of(near[6], chr(45)*2+'batch')}): step {100 * error:+.1f}%, one device {100 * alone_error:+.1f}%")
    print(f"\n{'with runs of one device by the same source':60} rows    step  one device  the job's own: median   bias")
    sources["all"] = [errors for each in list(sources.values()) for errors in each]
    for source, errors in sorted(sources.items()):
        step, single, job = ([100 * e for e in column] for column in zip(*errors))
        print(f"{source:60} {len(job):4} {statistics.median(step):+6.1f}%     {statistics.median(single):+6.1f}%"
              f"  {statistics.median(map(abs, job)):21.1f}% {statistics.median(job):+6.1f}%")  # fmt: skip


def efficiencies(arguments, singles, rows, asked, plans, paths):
    """Items per second of a device over those of one alone, as measured and as expected."""
    known = {(s[0], s[1], s[3], s[5], s[6]): s[7] for s in singles}
    one = {}
    for row in rows:
        q, single = question(row), training.question(row)
        if q is None or single is None or q not in asked:
            continue
        seconds = known.get((single[0], single[1], single[3], single[5], single[6]))
        expected = plans[asked.index(q)]
        if seconds is None or expected is None or expected["micro_batches"] != 1:
            continue
        if q not in one:
            alone_step = run(arguments.dlcost, paths[q[1:3]], q[4], alone(q[5]))
            one[q] = (seconds / q[6], alone_step["step_s"] / expected["step_s"])
    print(f"\n{'efficiency on many devices':60} measured expected")
    for q, (measured, expected) in sorted(one.items()):
        print(f"{' '.join((q[0], q[1], q[3], q[4], q[5][-1])):60} {100 * measured:7.1f}% {100 * expected:7.1f}%")
    if one:
        print(line("all, error", [e / m - 1 for m, e in one.values()]))


if __name__ == "__main__":
    main()
