#!/usr/bin/env python3
"""Curves over the batch against published runs: where throughput saturates, and where it falls.

Runs of one network, framework, device and type in at least three batches, the largest at least eight times the
smallest, are a curve. `dlcost sweep` evaluates the same batches with the row's framework as --runtime. The saturation
batch is the smallest whose throughput is within 10 % of the best, of the same batches on both sides. Where several runs
have one batch (releases of a library), their median counts.

A second sweep goes through every power of two up to the largest batch, and others, of boards that were not measured, up
to where memory ends, inference and training: where throughput falls by more than 3 % from one to the next, the fall and
what the sweep says of it are printed.

usage: saturation.py DLCOST serving.csv
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

from networks import NotJudged, question

NETWORKS = ("resnet50", "bert-base", "bert-large")
DEVICES = re.compile(r"a100|v100|t4$")
WITHIN = 0.9  # of the best throughput
# Boards whose throughput nobody saw fall with the batch: (network, its sizes).
OTHERS = "p4,p40,p100-sxm2"
RISING = (("resnet50", ()), ("bert-base", ("--dim", "sequence=128")), ("bert-large", ("--dim", "sequence=384")))
TRAINED = {"resnet50": ("--train", "momentum"), "bert-base": ("--train", "adamw"), "bert-large": ("--train", "adamw")}


def curves(table):
    """{(network, framework, device, type, length, its settings, options without the batch): {batch: seconds}}"""
    runs = {}
    with open(table, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            try:
                asked = question(row)
            except NotJudged:
                continue
            if asked.network not in NETWORKS or not DEVICES.match(asked.device) or len(asked.passes) > 1:
                continue
            settings, options, _ = asked.passes[0]
            at = options.index("--batch")
            batch, rest = int(options[at + 1]), options[:at] + options[at + 2 :]
            length = next((o.split("=")[1] for o in rest if o.startswith("sequence=")), "")
            key = (asked.network, asked.framework, asked.device, asked.dtype, length, settings, rest)
            runs.setdefault(key, {}).setdefault(batch, []).append(asked.measured)
    return {
        key: {batch: statistics.median(times) for batch, times in sorted(batches.items())}
        for key, batches in sorted(runs.items())
        if len(batches) >= 3 and max(batches) >= 8 * min(batches)
    }


def saturation(throughput):
    best = max(throughput.values())
    return min(batch for batch, rate in throughput.items() if rate >= WITHIN * best)


def sweep(binary, path, batches, options):
    command = [binary, "sweep", path, "--batch", batches, *options, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def falls(result):
    """Lines on where throughput falls, of sizes that fit into memory."""
    for curve in result["curves"]:
        for fall in curve["falls"]:
            if fall["to"] <= (curve["largest_that_fits"] or 0):
                before, after = fall["before"], fall["after"]
                why = "by waves" if fall["by_waves"] else f"{before['algorithm']}, then {after['algorithm']}"
                yield f"{curve['device']} {100 * fall['share']:.1f} % from {fall['from']} to {fall['to']}, {fall['op']}: {why}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dlcost")
    parser.add_argument("table")
    arguments = parser.parse_args()
    if not os.path.exists(arguments.table):
        print(f"skipped: there is no {arguments.table}")
        return
    measured = curves(arguments.table)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for settings in sorted({key[5] for key in measured} | {(network,) for network in NETWORKS}):
            done = [arguments.dlcost, "network", *settings, "-o", f"{folder}/{' '.join(settings)}.onnx"]
            subprocess.run(done, check=True, capture_output=True)

        def evaluate(item):
            key, batches = item
            path, options = f"{folder}/{' '.join(key[5])}.onnx", key[6]
            same = sweep(arguments.dlcost, path, ",".join(map(str, batches)), options)
            all_sizes = sweep(arguments.dlcost, path, f"1:{max(batches)}:x2", options)
            return {p["sizes"]["batch"]: p["items_per_s"] for p in same["points"]}, list(falls(all_sizes))

        def rising(item):
            network, options = item
            result = sweep(arguments.dlcost, f"{folder}/{network}.onnx", "1:1024:x2", ["--gpu", OTHERS, *options])
            return [f"{network} {' '.join(options)}: {line}" for line in falls(result)]

        results = list(pool.map(evaluate, measured.items()))
        asked = [(network, sizes + more) for network, sizes in RISING for more in ((), TRAINED[network])]
        others = list(pool.map(rising, asked))
    print("network     framework          device          type length  batches       saturates at  throughput, expected")
    print("                                                                       measured    ours  / measured, median")
    near, errors, fallen = 0, [], []
    for (key, batches), (ours, down) in zip(measured.items(), results):
        rates = {batch: batch / seconds for batch, seconds in batches.items()}
        there, here = saturation(rates), saturation(ours)
        near += abs(math.log2(here / there)) <= 1
        ratios = [ours[batch] / rates[batch] for batch in batches]
        errors += [ratio - 1 for ratio in ratios]
        network, name, device, dtype, length, _, options = key
        print(f"{network:11} {name:18} {device:15} {dtype:4} {length:>6}  {min(batches):3} to {max(batches):4}"
              f"  {there:9}  {here:6}  {statistics.median(ratios):20.2f}")  # fmt: skip
        fallen += [f"{network} {' '.join(options)}: {line}" for line in down]
    size = sorted(map(abs, errors))
    print(f"saturation within one power of two: {near} of {len(measured)} curves")
    print(f"throughput: median error {100 * statistics.median(size):.1f} %, bias {100 * statistics.median(errors):+.1f} %, "
          f"of {len(size)} points")  # fmt: skip
    print(f"falls from one power of two to the next: {len(fallen)} on {len(measured)} curves")
    for line in fallen:
        print(f"    {line}")
    fallen = [line for lines in others for line in lines]
    print(f"the same on {OTHERS}, inference and training: {len(fallen)} on {len(others) * len(OTHERS.split(','))} curves")
    for line in fallen:
        print(f"    {line}")


if __name__ == "__main__":
    main()
