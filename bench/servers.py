#!/usr/bin/env python3
"""Expected times of language models on a server under load against published runs: one line per network, device,
framework and type.

A row is the time per token that a server of one device reached with so many requests at a time, all of one prompt's
and one answer's length. While a request's answer is written, every other request's prompt is read once, so that it takes

    answer * (a decode pass of all requests) + (requests - 1) * (the prompt of one)

which are two reports: `phase=decode` at the middle of the lengths, and a prompt. The row's framework is --runtime, its
type --precision. Nothing else is told, and no constant of dlcost was set with these rows.

usage: servers.py DLCOST serving.csv [--rows]
"""

import argparse
import os

import published_runs

CONFIGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "networks", "configs")
PUBLISHED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "published")
# The row's model as what `dlcost network` takes.
NETWORKS = {
    "meta-llama/Llama-3.1-8B-Instruct": "llama3-8b",
    "meta-llama/Llama-3.1-70B": f"{CONFIGS}/llama-3-70b.json",
    "openai/gpt-oss-120b": f"{CONFIGS}/gpt-oss-120b.json",
    "Qwen/Qwen3-32B": f"{PUBLISHED}/qwen3-32b.json",
}
DEVICES = {"h100_sxm": "h100-sxm5", "b200_sxm": "b200", "gb200": "gb200"}
# As servers quantize: NVIDIA's recipes, and experts alone in gpt-oss's checkpoint. No type: as the checkpoint, bf16.
TYPES = {"fp8": ("--precision", "w8a8-fp8"), "fp4": ("--precision", "w4a4-nvfp4"), "": (), "bf16": ()}


def question(row):
    """(key, [(settings, options, how often per token)], seconds per token), or None."""
    if row["metric"] != "tpot" or row["n_devices"] != "1" or row["model"] not in NETWORKS:
        return None
    if row["device"] not in DEVICES or row["precision"] not in TYPES or not (row["batch"] or row["concurrency"]):
        return None
    requests = int(row["batch"] or row["concurrency"])
    prompt, answer = int(row["input_len"]), int(row["output_len"])
    network = NETWORKS[row["model"]]
    # A reference network is told which phase it is, a configuration's is a prompt unless told.
    prefill = (network,) if network.endswith(".json") else (network, "phase=prefill")
    types = ("--precision", "w4a16-mxfp4") if row["model"].startswith("openai/gpt-oss") else TYPES[row["precision"]]
    told = ("--gpu", DEVICES[row["device"]], "--runtime", row["framework"], *types)
    middle = prompt + answer // 2
    passes = [((network, "phase=decode"), (*told, "--batch", str(requests), "--dim", f"past={middle}"), 1),
              (prefill, (*told, "--batch", "1", "--dim", f"sequence={prompt}"), (requests - 1) / answer)]  # fmt: skip
    key = (row["model"].split("/")[1], DEVICES[row["device"]], row["framework"], row["precision"] or "bf16")
    what = f"{requests} requests of {prompt} and {answer} tokens"
    return key, what, passes, float(row["value"]) / 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dlcost")
    parser.add_argument("table")
    parser.add_argument("--rows", action="store_true")
    arguments = parser.parse_args()
    asked = [q for q in map(question, published_runs.read(arguments.table)) if q]
    parts = [(settings, options) for _, _, passes, _ in asked for settings, options, _ in passes]
    seconds = iter(published_runs.expected_all(arguments.dlcost, parts))
    groups = {}
    for key, what, passes, measured in asked:
        time = sum(often * next(seconds) for _, _, often in passes)
        groups.setdefault(key, []).append(time / measured - 1)
        if arguments.rows:
            print(f"{' '.join(key)}, {what}: {measured * 1e3:.2f} ms, expected {time * 1e3:.2f} ms ({100 * (time / measured - 1):+.0f}%)")
    print(published_runs.head("network, device, framework, type"))
    for key, errors in sorted(groups.items()):
        print(published_runs.line(" ".join(key), errors))
    for column, name in sorted({(c, key[c]) for key in groups for c in (1, 3)}):
        print(published_runs.line(f"all {name}", [e for key, errors in groups.items() if key[column] == name for e in errors]))
    print(published_runs.line("all", [e for errors in groups.values() for e in errors]))


if __name__ == "__main__":
    main()
