"""What the programs that judge expected times by published runs share: the question to dlcost and the line of a table."""

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


def read(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def totals(binary, path, options):
    """The sums of dlcost's report of the model in `path`."""
    done = subprocess.run([binary, path, *options, "--format", "json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(options)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["totals"]


def expected(binary, path, options):
    """Seconds that dlcost expects of the model in `path`."""
    return totals(binary, path, options)["expected_s"]


def totals_all(binary, questions):
    """Those of each (path, options), in their order."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda question: totals(binary, *question), questions))


def weights_of_shapes(model, inputs):
    """Makes stored tensors, of which the file has the shapes alone, of all inputs but those named."""
    given = list(model.graph.input)
    del model.graph.input[:]
    for tensor in given:
        if tensor.name in inputs:
            model.graph.input.append(tensor)
            continue
        kind = tensor.type.tensor_type
        weight = model.graph.initializer.add(name=tensor.name, data_type=kind.elem_type, data_location=1)  # EXTERNAL
        weight.dims.extend(dim.dim_value for dim in kind.shape.dim)
        weight.external_data.add(key="location", value="weights.bin")


def short_kernel(name):
    """A CUDA kernel's name as a profiler tells it, without the arguments of templates and functions."""
    first = re.match(r"void cutlass::Kernel2<([\w:]+)|void cutlass__5x_cudnn::Kernel<([\w:]+)", name)
    if first:
        return (first[1] or first[2])[:110]
    if name.startswith("_ZN"):
        return name[:60]
    name = re.sub(r"void |at::native::|\(anonymous namespace\)::", "", name)
    depth, short = 0, ""
    for letter in name:
        depth += {"<": 1, ">": -1}.get(letter, 0)
        short += letter if depth == 0 and letter != ">" else ""
    return re.sub(r"\(.*", "", short)[:110]


def folder_arguments():
    """What the programs take whose networks lie in a folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dlcost", help="or --export")
    parser.add_argument("table")
    parser.add_argument("folder")
    parser.add_argument("--rows", action="store_true", help="a line for each row")
    return parser


def expected_all(binary, questions):
    """Seconds of each (settings of `dlcost network`, options of a report), in their order; each network is written once."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = {}
        for network, _ in questions:
            if network not in paths:
                paths[network] = f"{folder}/{len(paths)}.onnx"
                subprocess.run([binary, "network", *network, "-o", paths[network]], check=True, capture_output=True)
        # What is asked twice is worked out once.
        distinct = list(dict.fromkeys(questions))
        seconds = pool.map(lambda q: expected(binary, paths[q[0]], q[1]), distinct)
        answers = dict(zip(distinct, seconds))
        return [answers[question] for question in questions]


def head(title):
    return f"{title:60} rows  median   bias      p90  in 30%"


def line(name, errors):
    """One group: the middle of the errors' sizes, of the errors, nine of ten, and how many are within 30 %."""
    size = sorted(abs(e) for e in errors)
    within = sum(e <= 0.3 for e in size) / len(size)
    return (f"{name:60} {len(size):4} {100 * statistics.median(size):6.1f}% {100 * statistics.median(errors):+6.1f}%"
            f" {100 * size[int(0.9 * (len(size) - 1))]:6.1f}% {100 * within:6.1f}%")  # fmt: skip
