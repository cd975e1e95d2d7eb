"""Every node model of the onnx packages: output types and shapes equal the declared ones.

Many node models take as an input what decides a shape (axes, sizes, scales). Where the estimator
says that it cannot know, the model is tried again with its small inputs stored as initializers,
the way exporters write them.

usage: node_models_test.py DLCOST WORK_FOLDER
"""

import fnmatch
import pathlib
import sys

import onnx
from onnx import numpy_helper

import harness
import node_cases
import onnx_models
from estimator import Estimator, EstimatorError, unknown

SMALL = 64  # elements of an input that may decide a shape
ALLOWED = pathlib.Path(__file__).with_name("node_models_allowed.txt")


def read_allowed():
    """[(pattern, reason)] from lines "pattern  reason"."""
    lines = [line.split(None, 1) for line in ALLOWED.read_text().splitlines()
             if line.strip() and not line.startswith("#")]
    return [(pattern, reason.strip()) for pattern, reason in lines]


def with_small_inputs_stored(case):
    """A copy of the model whose small inputs are initializers, or None when it has none."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    if model.ir_version < 4:
        return None  # initializers had to be inputs too
    stored = []
    for value in list(model.graph.input):
        array = case.inputs.get(value.name)
        if array is None or array.ndim > 1 or array.size > SMALL:
            continue
        model.graph.initializer.append(numpy_helper.from_array(array, value.name))
        model.graph.input.remove(value)
        stored.append(value.name)
    return model if stored else None


def expected(case):
    """(name, dtype, shape) of every tensor output; the shape of the run where it is not declared."""
    for value in case.model.graph.output:
        tensor = onnx_models.tensor_type(value.type)
        if tensor is None:
            continue
        shape = onnx_models.sizes(value.type)
        run = case.outputs.get(value.name)
        if run is not None:
            shape = list(run.shape)
        dtype = onnx_models.dtype_name(tensor.elem_type)
        yield value.name, dtype, shape


def options(case, model):
    """Binds inputs that declare symbolic sizes to the sizes of the test's data."""
    result = []
    for value in onnx_models.runtime_inputs(model.graph):
        declared = onnx_models.sizes(value.type)
        array = case.inputs.get(value.name)
        if array is not None and declared is not None and not all(
                isinstance(d, int) for d in declared):
            result += ["--input", f"{value.name}:{'x'.join(map(str, array.shape))}"]
    return result


def outputs_of(report):
    """{name: (tensor, whether its node's sizes are upper bounds)}"""
    return {t["name"]: (t, node.get("upper_bound", False))
            for node in report["nodes"] for t in node["outputs"]}


def agree(got, want, upper_bound):
    """Equal sizes where `want` has a number; not smaller where `got` is an upper bound."""
    return len(got) == len(want) and all(
        not isinstance(w, int) or g == w or (upper_bound and g >= w) for g, w in zip(got, want))


def compare(case, report):
    """(contradictions, unresolved) between a report and the declared outputs."""
    wrong, open_ends = [], unknown(report)
    found = outputs_of(report)
    for name, dtype, shape in expected(case):
        if name not in found:
            continue  # an output that is an input or an initializer
        got, upper_bound = found[name]
        if got["dtype"] not in (dtype, "undefined"):
            wrong.append(f"{name}: type {got['dtype']}, declared {dtype}")
        if got["shape"] is None:
            open_ends.append(f"{name}: no shape, declared {shape}")
        elif shape is not None and not agree(got["shape"], shape, upper_bound):
            wrong.append(f"{name}: shape {got['shape']}, declared {shape}")
    return wrong, open_ends


def main():
    estimator, work = Estimator(sys.argv[1]), pathlib.Path(sys.argv[2])
    checks = harness.Checks("node models")
    cases = list(node_cases.generated())
    count = len(cases)
    cases += list(node_cases.debian())
    checks.note(f"{count} models of onnx {onnx.__version__}, {len(cases) - count} of Debian")
    jobs = [(onnx_models.save(c.model, work / f"{c.name}.onnx"), options(c, c.model))
            for c in cases]
    again, stored = [], 0
    results = {}
    for case, result in zip(cases, estimator.reports(jobs)):
        results[case.name] = result
        if isinstance(result, EstimatorError) or any(compare(case, result)):
            model = with_small_inputs_stored(case)
            if model is not None and not (not isinstance(result, EstimatorError)
                                          and compare(case, result)[0]):
                again.append((case, model))
    jobs = [(onnx_models.save(m, work / f"{c.name}.stored.onnx"), options(c, m)) for c, m in again]
    for (case, _), result in zip(again, estimator.reports(jobs)):
        results[case.name] = result
        stored += 1
    allowed, used = read_allowed(), set()
    for case in cases:
        result = results[case.name]
        if isinstance(result, EstimatorError):
            problems = [str(result)]
        else:
            wrong, open_ends = compare(case, result)
            problems = wrong + open_ends
        match = next(((p, r) for p, r in allowed if fnmatch.fnmatch(case.name, p)), None)
        if problems and match:
            used.add(match[0])
            checks.excuse(case.name, match[1])
        else:
            checks.check(case.name, problems)
    checks.note(f"{stored} models needed their small inputs stored")
    for pattern, _ in allowed:
        checks.check(f"allowance {pattern} is needed", [] if pattern in used else ["remove it"])
    checks.finish()


if __name__ == "__main__":
    main()
