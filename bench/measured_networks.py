#!/usr/bin/env python3
"""Expected times of networks of timm and Hugging Face against those that measure_networks.py took: a line per way and type.

Nothing is told that a user would not tell: device, batch, type, runtime, loss. `graph` rows ask for --launch graph. Steps
of eager and of training are also held against what their kernels took alone, asked so too: another host calls them faster
or slower. A graph that launches other kernels than eager ran another network: Hugging Face's models look whether a mask
hides anything, which they cannot while a graph is captured, and then compute with it.

usage: measured_networks.py DLCOST runs.csv MODELS_FOLDER [--rows]
"""

import collections
import os

import published_runs

TYPES = {"fp16": ("--dtype", "f16"), "fp32": (), "amp-bf16": ("--precision", "amp-bf16")}
WAYS = {
    "eager": ("--runtime", "pytorch-eager"),
    "graph": ("--runtime", "pytorch-eager", "--launch", "graph"),
    "compile": ("--runtime", "pytorch-compile"),
    "train": ("--runtime", "pytorch-eager", "--train", "momentum", "--loss", "sum"),
    "kernels of eager": ("--runtime", "pytorch-eager", "--launch", "graph"),
    "kernels of train": ("--runtime", "pytorch-eager", "--train", "momentum", "--loss", "sum", "--launch", "graph"),
}


def question(row, folder):
    options = ("--gpu", row["device"], "--batch", row["batch"], *TYPES[row["dtype"]], *WAYS[row["way"]])
    return f"{folder}/{row['network']}.onnx", options


def case(row):
    return row["network"], row["dtype"], row["batch"]


def main():
    arguments = published_runs.folder_arguments().parse_args()
    rows = published_runs.read(arguments.table)
    eager = {case(row): row["kernels"] for row in rows if row["way"] == "eager"}
    other = [row for row in rows if row["way"] == "graph" and eager.get(case(row)) != row["kernels"]]
    rows = [row for row in rows if row not in other]
    rows += [{**row, "way": f"kernels of {row['way']}", "step_us": row["kernels_us"]} for row in rows
             if row["way"] in ("eager", "train")]  # fmt: skip
    asked = [row for row in rows if os.path.exists(question(row, arguments.folder)[0])]
    groups = collections.defaultdict(list)
    answers = published_runs.totals_all(arguments.dlcost, [question(row, arguments.folder) for row in asked])
    for row, totals in zip(asked, answers):
        seconds = float(row["step_us"]) / 1e6
        error = totals["expected_s"] / seconds - 1
        way = f"{row['device']} {row['way']}"
        for part in ((0, way), (1, f"{way} {row['dtype']}"), (2, "all")):
            groups[part].append(error)
        if arguments.rows:
            print(f"{row['network']:30} {row['way']:16} {row['dtype']:9} {row['batch']:>3}: {seconds * 1e3:9.3f} ms,"
                  f" expected {totals['expected_s'] * 1e3:9.3f} ms ({100 * error:+.0f}%),"
                  f" kernels {float(row['kernels_us']) / 1e3:.3f} ms, {row['kernels']}")  # fmt: skip
    print(published_runs.head("device, way, type"))
    for (_, name), errors in sorted(groups.items()):
        print(published_runs.line(name, errors))
    if other:
        print(f"not asked, the graph ran other kernels: {len(other)} rows")
    if len(asked) < len(rows):
        print(f"not asked, no model in {arguments.folder}: {len(rows) - len(asked)} rows")


if __name__ == "__main__":
    main()
