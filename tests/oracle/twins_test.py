"""The same network written in two ways costs the same: opset 9 and newest, fused into contrib
operators and not, float and quantized, with control flow and unrolled, with functions and without.

usage: twins_test.py DLCOST MODELS_FOLDER
"""

import pathlib
import sys

import onnx

import harness
import onnx_models
from estimator import Estimator, EstimatorError, unknown

# (reference, variants): equal multiply-accumulates. A pattern of a variant may match several files.
SAME_MACS = [
    ("torch/bert", ["optimized/bert", "runtime/bert_*", "quantized/bert_*"]),
    ("torch/gpt2", ["optimized/gpt2", "quantized/gpt2_*"]),
    ("torch/gpt2_past", ["optimized/gpt2_past", "runtime/gpt2_past_*"]),
    ("torch/llama", ["optimized/llama", "quantized/llama_*"]),
    ("torch/t5", ["optimized/t5"]),
    # Not runtime/cnn_all: its blocked layout pads 8 channels to the width of this machine's vectors.
    ("keras/convolutions", ["keras/convolutions_opset9", "keras/keras_export_convolutions"]),
    ("keras/recurrent", ["keras/keras_export_recurrent"]),
    ("control/lstm_operator", ["control/lstm_scan"]),
    ("quantized/cnn", ["quantized/cnn_*", "runtime/cnn_extended", "runtime/cnn_qdq_*"]),
]
# Loops, branches and functions do exactly the operations of their unrolled twin.
SAME_WORK = "control/*.twin.onnx"


def main():
    estimator, root = Estimator(sys.argv[1]), pathlib.Path(sys.argv[2])
    checks = harness.Checks("twins")

    def report(path):
        model = onnx.load(path, load_external_data=False)
        return estimator.report(path, onnx_models.binding_options(model))

    def compare(twin, path, quantities):
        name = f"{path.relative_to(root)} and {twin.relative_to(root)}"
        try:
            a, b = report(path), report(twin)
        except EstimatorError as error:
            checks.check(name, [str(error)])
            return
        problems = unknown(a) + unknown(b)
        problems += [f"{q}: {a['totals'][q]} and {b['totals'][q]}" for q in quantities
                     if a["totals"][q] != b["totals"][q] or not b["totals"][q]]
        checks.check(name, problems)

    for twin in sorted(root.glob(SAME_WORK)):
        compare(twin, twin.with_name(twin.name.replace(".twin", "")), ["macs", "flops"])
    for opset9 in sorted(root.glob("vision/*.opset9.onnx")):
        compare(opset9, opset9.with_name(opset9.name.replace(".opset9", "")), ["macs"])
    for reference, patterns in SAME_MACS:
        if (root / f"{reference}.onnx").exists():
            for pattern in patterns:
                for path in sorted(root.glob(f"{pattern}.onnx")):
                    compare(root / f"{reference}.onnx", path, ["macs"])
    if not list(root.glob("torch/*.onnx")):
        checks.note("without PyTorch: no exported networks")
    checks.finish()


if __name__ == "__main__":
    main()
