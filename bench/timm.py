#!/usr/bin/env python3
"""Expected times of torchvision's networks against timm's published runs: a line per device, task, layout and compiler.

Each row of published/timm.csv becomes the command line that a user of its run would write: PyTorch in eager mode or
compiled, under autocast (fp16), with the attention that timm calls in that version. The networks are torchvision's,
which have the parameters and the multiplications of the row's (docs/accuracy.md); they are not part of this repository,
and rows whose file is not in the folder are counted. No constant of dlcost was fitted to these rows.

usage: timm.py DLCOST timm.csv MODELS_FOLDER [--rows] [--networks]
       timm.py --export timm.csv MODELS_FOLDER    write the networks (needs torch and torchvision)
"""

import collections
import os
import re
import statistics
import sys

import published_runs

FAMILIES = (
    ("depthwise", r"^(mobilenet|efficientnet|mnasnet)"),
    ("depthwise, large kernels", r"^convnext"),
    ("grouped", r"^(resnext|regnet)"),
    ("attention", r"^(vit|swin|maxvit)"),
    ("plain", r""),
)
# Networks of one size, the others have open heights and widths.
ONE_SIZE = ("vgg", "vit", "swin", "inception", "maxvit")
RUNTIMES = {"eager": "pytorch-eager", "dynamo": "pytorch-compile"}
# Under Inductor convolutions lie channels last, whatever the model asks for.
LAYOUTS = {"nchw": [], "nhwc": ["--layout", "kernels"]}
# timm calls scaled_dot_product_attention where PyTorch has it (2.0), but in Swin v2, whose scores are cosines, and in Swin,
# whose call is off unless asked for (timm 1.0, swin_transformer.py: use_fused_attn(experimental=True)).
CALLS_ATTENTION = re.compile(r"^(vit|maxvit)")

Question = collections.namedtuple("Question", "row path options seconds")


def family(row):
    return next(name for name, pattern in FAMILIES if re.search(pattern, row["network"]))


def version(row):
    return tuple(int(part) for part in row["torch"].split("."))


def question(row, folder):
    options = ["--gpu", row["device"], "--runtime", RUNTIMES[row["compile"]], "--precision", "amp-fp16",
               "--batch", row["batch"], *LAYOUTS[row["layout"]]]  # fmt: skip
    if not row["network"].startswith(ONE_SIZE):
        options += ["--dim", f"height={row['image']}", "--dim", f"width={row['image']}"]
    if row["compile"] == "eager" and version(row) >= (2, 2) and CALLS_ATTENTION.search(row["network"]):
        options += ["--attention", "flash-2"]
    if row["what"] == "train":  # benchmark.py: SGD with momentum, a loop over tensors before 2.0
        options += ["--train", "momentum"] + (["--update-form", "loop"] if version(row) < (2, 0) else [])
    seconds = int(row["batch"]) / float(row["samples_per_s"])
    return Question(row, f"{folder}/{row['network']}.onnx", tuple(options), seconds)


def export(table, folder):
    """The table's networks as PyTorch runs them: normalizations stay apart from convolutions. Weights mean nothing."""
    import torch  # pylint: disable=import-outside-toplevel
    import torchvision  # pylint: disable=import-outside-toplevel

    def same(tensor, *_, **__):
        return tensor

    for name in dir(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, same)
    sizes = collections.defaultdict(set)
    for row in published_runs.read(table):
        sizes[row["network"]].add(int(row["image"]))
    for name, images in sorted(sizes.items()):
        path = f"{folder}/{name}.onnx"
        if os.path.exists(path):
            continue
        told = {"init_weights": False} if name.startswith(("vgg", "inception")) else {}
        if name.startswith("inception"):
            told.update(aux_logits=False, transform_input=False)
        model = getattr(torchvision.models, name)(weights=None, **told).eval()
        # The exporter stores equal tensors once.
        for number, tensor in enumerate(model.parameters()):
            tensor.data.view(-1)[0] = number
        axes = {"input": {0: "batch"}, "output": {0: "batch"}}
        if not name.startswith(ONE_SIZE):
            axes["input"].update({2: "height", 3: "width"})
        size = max(images)
        with torch.enable_grad():  # else attention runs in a kernel that has no ONNX operator
            torch.onnx.export(model, torch.randn(2, 3, size, size), path, opset_version=17, input_names=["input"],
                              output_names=["output"], dynamic_axes=axes, do_constant_folding=False,
                              training=torch.onnx.TrainingMode.PRESERVE)  # fmt: skip
        print(name, flush=True)


def key(row):
    return f"{row['device']} {row['what']} {row['layout']} {row['compile']} {row['torch']}"


def layouts(rows):
    """How much faster channels last are: {(device, family): [(measured, expected)]} of rows alike but for that."""
    found, ratios = {}, collections.defaultdict(list)
    for row, seconds, time in rows:
        same = (row["device"], row["what"], row["compile"], row["torch"], row["network"], row["image"])
        found.setdefault(same, {})[row["layout"]] = (seconds / int(row["batch"]), time / int(row["batch"]), row)
    for same, pair in found.items():
        if len(pair) == 2:
            first, last = pair["nchw"], pair["nhwc"]
            ratios[(f"{same[0]} {same[1]}", family(first[2]))].append((first[0] / last[0], first[1] / last[1]))
    return ratios


def main():
    parser = published_runs.folder_arguments()
    parser.add_argument("--networks", action="store_true", help="a line for each network of a device, task and layout")
    if sys.argv[1:2] == ["--export"]:
        export(*sys.argv[2:4])
        return
    arguments = parser.parse_args()
    questions = [question(row, arguments.folder) for row in published_runs.read(arguments.table)]
    asked = [q for q in questions if os.path.exists(q.path)]
    answers = published_runs.totals_all(arguments.dlcost, [(q.path, q.options) for q in asked])
    times = [totals["expected_s"] for totals in answers]
    groups = collections.defaultdict(list)
    for q, time in zip(asked, times):
        error = time / q.seconds - 1
        parts = [(0, key(q.row)), (1, f"{key(q.row)}: {family(q.row)}"), (2, f"all {family(q.row)}"), (3, "all")]
        if arguments.networks:
            parts.append((1, f"{key(q.row)}: {family(q.row)}: {q.row['network']}"))
        for part in parts:
            groups[part].append(error)
        if arguments.rows:
            print(f"{q.row['network']} {q.row['image']} {key(q.row)} {' '.join(q.options)}: {q.seconds * 1e3:.2f} ms,"
                  f" expected {time * 1e3:.2f} ms ({100 * error:+.0f}%)")  # fmt: skip
    print(published_runs.head("device, task, layout, compiler, PyTorch"))
    for (_, name), errors in sorted(groups.items()):
        print(published_runs.line(name, errors))
    print(f"\n{'channels last against first: how much faster':60} pairs  measured  expected")
    told = [(q.row, q.seconds, time) for q, time in zip(asked, times)]
    for (device, name), pairs in sorted(layouts(told).items()):
        measured, expected = (statistics.median(column) for column in zip(*pairs))
        print(f"{device + ': ' + name:60} {len(pairs):5} {measured:9.2f} {expected:9.2f}")
    print(f"\nnot in the folder: {len(questions) - len(asked)} rows")


if __name__ == "__main__":
    main()
