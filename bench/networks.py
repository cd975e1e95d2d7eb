#!/usr/bin/env python3
"""Expected times of whole networks against published runs: one line per network, framework and device.

Each row of the table (a run on one device, with its batch, length and type) becomes the command line that a user
would write: its framework is --runtime, its type --dtype or --math, and nothing else is told.
No constant of dlcost was fitted to these rows.

usage: networks.py DLCOST serving.csv [--rows]
"""

import argparse
import concurrent.futures
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

# (pattern of the row's model and note, network that `dlcost network` writes)
NETWORKS = (
    (r"^BERT base;|^BERT Base;|^bert: BERT performance|LanguageModeling/BERT;.*Model=base", "bert-base"),
    (r"^BERT [Ll]arge;|LanguageModeling/BERT;.*Model=large|^LanguageModeling/BERT/triton/large;", "bert-large"),
    (r"ConvNets/(triton/)?resnet50|/RN50v1.5|^resnet50;", "resnet50"),
    (r"^llama-3-8B;", "llama3-8b"),
)
# Tokens per second of a decoder: (settings of the network, its dimension, tokens per pass) by the row's metric. The mean
# length while 1024 tokens are generated is 512.
DECODERS = {
    "decode_throughput": ("phase=decode", "past=512", 1),
    "prefill_throughput": ("phase=prefill", "sequence=1024", 1024),
}
DEVICES = {
    "A100 (40GB)": "a100-sxm4-40gb", "A100-SXM4-40GB": "a100-sxm4-40gb", "A100-SXM4-80GB": "a100-sxm4-80gb",
    "A100": "a100-sxm4-40gb", "A30": "a30", "A10": "a10", "A40": "a40", "T4": "t4", "L4": "l4", "L40S": "l40s",
    "V100": "v100-sxm2-16gb", "V100-SXM2-16GB": "v100-sxm2-16gb", "V100-SXM2-32GB": "v100-sxm2-32gb",
    "A100 PCIe 80GB": "a100-pcie-80gb", "A100 SXM 80GB": "a100-sxm4-80gb", "H100 PCIe 80GB": "h100-pcie",
    "A40 48GB": "a40", "L40S 48GB": "l40s", "RTX A6000 48GB": "rtx-a6000", "RTX 6000 Ada 48GB": "rtx-6000-ada",
    "3090 24GB": "rtx-3090", "4090 24GB": "rtx-4090",
}  # fmt: skip
TYPES = {
    "fp32": ["--math", "default"], "tf32": ["--math", "tf32"], "fp16": ["--dtype", "f16"], "F16": ["--dtype", "f16"],
    "amp_fp16": ["--dtype", "f16"], "int8": ["--dtype", "int8"],
}  # fmt: skip
# The row's framework as --runtime. Frameworks whose figures hold an input pipeline are left out.
FRAMEWORKS = {
    "TensorRT": "tensorrt",
    "FasterTransformer": "fastertransformer",
    "Paddle-TRT": "paddle-trt",
    "PyTorch": "pytorch-eager",
    "TorchScript": "torchscript",
    "llama.cpp": "llama.cpp",
}


def framework(row):
    """The framework's name here, or None where the run is another question (padding removed, pruned)."""
    name, note = row["framework"].removesuffix("-FP16"), row["note"]
    if re.search(r"EFF|[Ss]parse|MIG|Decoder|DALI", note):
        return None
    if name == "PaddlePaddle" and "Paddle-TRT" in note:
        return "Paddle-TRT"
    if name == row["device"] and "BERT performance comparison" in row["model"]:
        return "FasterTransformer"
    if name == "TensorRT" and row["device"] == "A30":
        return None  # the table repeats an L4's: 20 of the 22 rows that both have agree within 3 %
    return name


def seconds(row):
    """The time of one pass, from a latency, or from a throughput where the row has no latency of its own."""
    value = float(row["value"])
    if row["metric"] in ("latency", "latency_average") and row["unit"] == "ms":
        return value / 1e3
    if row["metric"] in DECODERS and row["unit"] == "tokens/s":
        return DECODERS[row["metric"]][2] / value
    if row["metric"] == "throughput" and row["unit"] == "images/s":
        return int(row["batch"]) / value
    return None


def question(row):
    """(network, framework, device, options, seconds), or None for a row that asks for something else."""
    text = f"{row['model']};{row['note']}"
    network = next((n for pattern, n in NETWORKS if re.search(pattern, text)), None)
    name, device = framework(row), DEVICES.get(row["device"])
    alone = all(row[c] in ("", "1") for c in ("n_devices", "tp", "pp"))
    if not (network and device and alone and name in FRAMEWORKS and row["precision"] in TYPES and row["batch"]):
        return None
    if row["precision"] == "int8" and name == "FasterTransformer":
        return None  # three schemes that quantize different parts
    measured = seconds(row)
    if measured is None or ("bert" in network and not row["input_len"]):
        return None
    options = ["--gpu", device, "--batch", row["batch"], *TYPES[row["precision"]]]
    options += ["--runtime", FRAMEWORKS[name]]
    if "bert" in network:
        options += ["--dim", f"sequence={row['input_len']}"]
    if network == "llama3-8b":
        if row["metric"] not in DECODERS:
            return None
        settings, dimension, _ = DECODERS[row["metric"]]
        network += " " + settings
        options += ["--dim", dimension]
    precision = row["precision"].removeprefix("amp_").replace("F16", "fp16")
    return network, name, device, precision, tuple(options), measured


def expected(binary, path, options):
    done = subprocess.run([binary, path, *options, "--format", "json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(options)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["totals"]["expected_s"]


def line(name, errors):
    size = sorted(abs(e) for e in errors)
    within = sum(e <= 0.3 for e in size) / len(size)
    return (f"{name:60} {len(size):4} {100 * statistics.median(size):6.1f}% {100 * statistics.median(errors):+6.1f}%"
            f" {100 * size[int(0.9 * (len(size) - 1))]:6.1f}% {100 * within:6.1f}%")  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dlcost")
    parser.add_argument("table")
    parser.add_argument("--rows", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.table, encoding="utf-8") as file:
        asked = sorted({q for q in map(question, csv.DictReader(file)) if q})
    groups = {}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = {n: f"{folder}/{n.replace(' ', '-')}.onnx" for n in {q[0] for q in asked}}
        for network, path in paths.items():
            subprocess.run([arguments.dlcost, "network", *network.split(), "-o", path], check=True, capture_output=True)
        times = pool.map(lambda q: expected(arguments.dlcost, paths[q[0]], q[4]), asked)
        for (network, name, device, dtype, options, measured), time in zip(asked, times):
            groups.setdefault((network, name, device, dtype), []).append(time / measured - 1)
            if arguments.rows:
                print(f"{network} {name} {' '.join(options)}: {measured * 1e3:.3f} ms, expected {time * 1e3:.3f} ms")
    print(f"{'network, framework, device, type':60} rows  median   bias      p90  in 30%")
    for key, errors in sorted(groups.items()):
        print(line(" ".join(key), errors))
    for name in sorted({key[1] for key in groups}):
        print(line(f"all {name}", [e for key, errors in groups.items() if key[1] == name for e in errors]))
    print(line("all", [e for errors in groups.values() for e in errors]))


if __name__ == "__main__":
    main()
