#!/usr/bin/env python3
"""Memory of training steps against published tables: one line per row of a table that dlcost lays out.

What the forward pass keeps for the backward pass, in total and as a share of what it keeps without recomputation
(Korthikanti et al., arXiv 2205.05198), weights, gradients and states beside that, and measured peaks. Each row is the
command that a user would write, without a loss where the paper leaves it out (activations of layers alone). Rows that need what is not laid out (8 bits within whole bf16, four axes of
parallelism), are not training or are no network of `dlcost network` are counted as left out.

usage: memory.py DLCOST memory.csv
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import published_runs
from training_multi import EVERY_OTHER_PRODUCT, MEGATRON

# Scores, softmax, dropout and context, but not what the projections behind them read.
ATTENTION_CORE = "selective:" + ",".join(f"*/attn/{op}" for op in ("MatMul", "Mul", "Add", "Softmax", "Dropout"))
GIB = 1 << 30
# Interleaved stages per device, which the table has no column for: the paper's own.
CHUNKS = {"gpt3-175B": 3}


def recomputation(name):
    if name == "full":
        return ["--recompute", "scopes"]
    return ["--recompute", ATTENTION_CORE] if name.endswith("sel") else []


def korthikanti(row, recompute):
    """The command of a row of Korthikanti et al., with another recomputation where one is given."""
    name = row["recompute"] if recompute is None else recompute
    network = ("gpt2", f"layers={row['layers']}", f"width={row['hidden']}", f"heads={row['heads']}",
               f"positions={row['seq']}", "vocabulary=51200", "dropout=kept")  # fmt: skip
    plan = f"tp={row['tp']}"
    if int(row["pp"]) > 1:
        plan += f",pp={row['pp']}"
        if row["model"] in CHUNKS:
            plan += f",chunks={CHUNKS[row['model']]}"
    if name.startswith("seq"):
        plan += ",sp=1"
    return network, ("--system", "dgx-a100-80gb", *MEGATRON, "--loss", "none", "--train", "adamw", "--dim",
                     f"sequence={row['seq']}", *recomputation(name), "--micro-batch", row["micro_batch"],
                     "--global-batch", row["global_batch"], "--parallel", plan)  # fmt: skip


def torchtitan(row):
    # Its loss ran in eager mode in all of these runs: a copy of its train.py says of torch.compile(loss_fn) that it "causes
    # CUDA errors, turning off for now".
    if row["model"] != "llama-3.1-8B" or row["precision"] != "bf16":
        return None
    runtime = "pytorch-compile" if "compile" in row["note"] else "pytorch-eager"
    return ("llama3-8b", "dtype=f32"), (
        "--system", "dgx-h100", "--runtime", runtime, "--attention", "flash", "--precision", "bf16", "--recompute",
        EVERY_OTHER_PRODUCT, "--loss", "nll", "--train", "adamw", "--update-form", "fused", "--dim", f"sequence={row['seq']}",
        "--micro-batch", row["micro_batch"], "--global-batch", row["global_batch"], "--gradients", "fp32", "--parallel",
        f"dp={row['dp']},fsdp=2")  # fmt: skip


class Plans:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.paths, self.plans = binary, folder, {}, {}

    def plan(self, network, options):
        if network not in self.paths:
            self.paths[network] = os.path.join(self.folder, f"{len(self.paths)}.onnx")
            command = [self.binary, "network", *network, "-o", self.paths[network]]
            subprocess.run(command, check=True, capture_output=True)
        if (network, options) not in self.plans:
            command = [self.binary, "parallel", self.paths[network], *options, "--format", "json"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command[1:])}: {done.stderr.strip()}")
            self.plans[network, options] = json.loads(done.stdout)["plans"][0]
        return self.plans[network, options]


def judge(plans, row):
    """What is compared, published and expected; None for a row that is left out."""
    published = float(row["value"])
    if row["set"] == "calculon":
        plan = plans.plan(*korthikanti(row, None))
        if row["metric"] == "activations":
            return published, plan["saved_bytes"] / GIB
        if row["metric"] == "activations_relative_to_none":
            return published, 100 * plan["saved_bytes"] / plans.plan(*korthikanti(row, "none"))["saved_bytes"]
        return published, plan["lasting_bytes"] / GIB
    question = torchtitan(row) if row["set"] == "torchtitan" else None
    if question is None:
        return None
    return published, plans.plan(*question)["memory_bytes"] / GIB


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dlcost")
    parser.add_argument("table")
    arguments = parser.parse_args()
    groups, left_out = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        plans = Plans(arguments.dlcost, folder)
        print(f"{'network, recomputation, what':70} published  expected")
        for row in published_runs.read(arguments.table):
            judged = judge(plans, row)
            if judged is None:
                key = f"{row['set']} {row['model']} {row['framework']}"
                left_out[key] = left_out.get(key, 0) + 1
                continue
            published, expected = judged
            error = expected / published - 1
            groups.setdefault(row["metric"], []).append(error)
            what = f"{row['model']} {row['recompute'] or '-'} {row['metric']}"
            print(f"{what:70} {published:9.2f} {expected:9.2f} {row['unit']} ({100 * error:+.1f}%)")
    print("\n" + published_runs.head("what"))
    for metric, errors in groups.items():
        print(published_runs.line(metric, errors))
    for key, rows in left_out.items():
        print(f"left out: {key}: {rows}")


if __name__ == "__main__":
    main()
