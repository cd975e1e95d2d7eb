"""Contrib operators: output types and shapes of single nodes, against onnxruntime running them.

Some have a kernel for GPUs only; for those the shape is written beside the case here.

usage: contrib_test.py DLCOST WORK_FOLDER
"""

import pathlib
import sys

import onnxruntime

import contrib_cases
import harness
import onnx_models
from estimator import Estimator, EstimatorError, unknown

# Operators without a kernel on the CPU: the shape of the output from onnxruntime's ContribOperators.md.
WITHOUT_KERNEL = {"BiasAdd": [2, 4, 16], "BiasSplitGelu": [2, 4, 8], "GroupNorm": [2, 8, 8, 4],
                  "NhwcConv": [2, 6, 6, 6], "GemmFastGelu": [2, 4, 8], "Rfft": [2, 9, 2]}


def run(model, feed):
    """{name: (dtype, shape)} of the outputs of a run."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           ["CPUExecutionProvider"])
    found = {}
    for output, value in zip(session.get_outputs(), session.run(None, feed)):
        kind = output.type.removeprefix("tensor(").removesuffix(")").upper()
        found[output.name] = (onnx_models.DTYPES[kind], list(value.shape))
    return found


def main():
    estimator, work = Estimator(sys.argv[1]), pathlib.Path(sys.argv[2])
    checks = harness.Checks("contrib operators")
    for number, case in enumerate(contrib_cases.CASES):
        model, feed = contrib_cases.model(case)
        title = f"{number} {case[0]} {case[1]} {case[2]}"
        path = onnx_models.save(model, work / f"{number}_{case[0]}.onnx")
        if case[0] in WITHOUT_KERNEL:
            truth = {"output_0": ("f32", WITHOUT_KERNEL[case[0]])}
        else:
            try:
                truth = run(model, feed)
            except Exception as error:  # pylint: disable=broad-except
                checks.check(title, [f"onnxruntime does not run the case: {str(error)[:300]}"])
                continue
        try:
            report = estimator.report(path)
        except EstimatorError as error:
            checks.check(title, [str(error)])
            continue
        got = {t["name"]: (t["dtype"], t["shape"]) for n in report["nodes"] for t in n["outputs"]}
        checks.check(title, unknown(report) + [
            f"{name}: got {got.get(name)}, want {want}" for name, want in truth.items()
            if got.get(name) != want])
    checks.finish()


if __name__ == "__main__":
    main()
