"""Types and shapes of every tensor, against onnx shape inference (strict, with data propagation)
and against onnxruntime really running the model with every intermediate tensor as an output.

usage: shapes_test.py DLCOST MODELS_FOLDER
"""

import collections
import fnmatch
import pathlib
import sys

import numpy as np
import onnx
from onnx import helper, shape_inference

import harness
import onnx_models
from estimator import Estimator, EstimatorError, tensors, unknown

ALLOWED = pathlib.Path(__file__).with_name("shapes_allowed.txt")
ORACLES = ("onnx", "runtime")


def read_allowed():
    """[(oracle, model pattern, tensor pattern, reason)]"""
    lines = [line.split(None, 3) for line in ALLOWED.read_text().splitlines()
             if line.strip() and not line.startswith("#")]
    return [tuple(line) for line in lines]


def inferred(model):
    """{name: (dtype, shape)} of what onnx infers completely for the bound model."""
    result = shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    found = {}
    for value in list(result.graph.value_info) + list(result.graph.output):
        shape = onnx_models.sizes(value.type)
        if shape is not None and all(isinstance(d, int) for d in shape):
            tensor = onnx_models.tensor_type(value.type)
            found[value.name] = (onnx_models.dtype_name(tensor.elem_type), shape)
    return found


def executed(model):
    """{name: (dtype, shape)} of every tensor that a run of the model produces."""
    import onnxruntime
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    del probe.graph.output[:]
    for node in probe.graph.node:
        probe.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in node.output if n)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(probe.SerializeToString(), options,
                                           ["CPUExecutionProvider"])
    results = session.run(None, onnx_models.random_inputs(model))
    found = {}
    for output, value in zip(session.get_outputs(), results):
        if isinstance(value, np.ndarray):
            kind = output.type.removeprefix("tensor(").removesuffix(")").upper()
            kind = {"FLOAT8E4M3FN": kind}.get(kind, kind)
            found[output.name] = (onnx_models.DTYPES[kind], list(value.shape))
    return found


def contradictions(report, truth, allowed):
    """Lines for tensors whose type or shape differ; how many were compared; allowances used."""
    got, lines, compared, used = tensors(report), [], 0, set()
    for name, (dtype, shape) in truth.items():
        if name not in got:
            continue  # folded, or inside a function that dlcost expands
        compared += 1
        mine = (got[name]["dtype"], got[name]["shape"])
        if mine == (dtype, shape):
            continue
        excuse = next((a for a in allowed if fnmatch.fnmatch(name, a[2])), None)
        if excuse:
            used.add(excuse)
        else:
            lines.append(f"{name}: got {mine[0]} {mine[1]}, want {dtype} {shape}")
    return lines, compared, used


def oracle_answers(path):
    """(oracle, its {name: (dtype, shape)} or the exception it failed with)"""
    for oracle, ask in zip(ORACLES, (inferred, executed)):
        model = onnx.load(path)
        try:
            yield oracle, ask(onnx_models.bind(model))
        except Exception as error:  # pylint: disable=broad-except
            yield oracle, error


def main():
    estimator, models = Estimator(sys.argv[1]), pathlib.Path(sys.argv[2])
    checks = harness.Checks("types and shapes of every tensor")
    paths = sorted(models.glob("*/*.onnx"))
    if not paths:
        harness.skip(f"no models in {models}")
    allowed, used = read_allowed(), set()
    compared = dict.fromkeys(ORACLES, 0)
    statuses = collections.Counter()
    reports = estimator.reports(
        [(p, onnx_models.binding_options(onnx.load(p, load_external_data=False))) for p in paths])
    for path, report in zip(paths, reports):
        name = f"{path.parent.name}/{path.stem}"
        if isinstance(report, EstimatorError):
            checks.check(name, [str(report)])
            continue
        statuses.update(report["coverage"])
        excuse = next((a for a in allowed if a[0] == "unknown" and fnmatch.fnmatch(name, a[1])), None)
        if excuse and unknown(report):
            used.add(excuse)
            checks.excuse(name, f"something unknown: {excuse[3]}")
        else:
            checks.check(f"{name}: nothing unknown", unknown(report))
        for oracle, truth in oracle_answers(path):
            mine = [a for a in allowed if a[0] == oracle and fnmatch.fnmatch(name, a[1])]
            if isinstance(truth, Exception):
                excuse = next((a for a in mine if a[2] == "FAILS"), None)
                if excuse:
                    used.add(excuse)
                    checks.excuse(name, f"{oracle} fails: {excuse[3]}")
                else:
                    checks.check(f"{name}: {oracle}", [f"the oracle fails: {str(truth)[:300]}"])
                continue
            lines, count, excuses = contradictions(report, truth, mine)
            compared[oracle] += count
            used |= excuses
            if not truth:
                checks.excuse(name, f"{oracle} tells nothing about the model")
            else:
                checks.check(f"{name}: {oracle}", lines or ([] if count else ["nothing compared"]))
    for oracle, count in compared.items():
        checks.note(f"{count} tensors compared with {oracle}")
    checks.note("nodes of all models: " + ", ".join(f"{n} {s}" for s, n in statuses.items()))
    for entry in allowed:
        checks.check(f"allowance {entry[:3]} is needed", [] if entry in used else ["remove it"])
    checks.finish()


if __name__ == "__main__":
    main()
