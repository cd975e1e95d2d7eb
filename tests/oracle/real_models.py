"""A model whose files are there against a run of it: what `packages_test.py` and `exports_test.py` compare."""

import fnmatch
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper

import data_flow
import executed
import onnx_models
import stored_weights
from estimator import EstimatorError, tensors, unknown

# What an excuse may be for; "run" is a model that onnxruntime does not run.
SUBJECTS = ("run", "unknown", "macs", "shapes", "parameters", "weight_bytes")


def read_allowed(path):
    """[(model pattern, subjects, reason)]"""
    lines = [line.split(None, 2) for line in path.read_text().splitlines()
             if line.strip() and not line.startswith("#")]
    return [tuple(line) for line in lines]


def _bindings(options):
    """What --dim, --input and --value say: ({symbol: size}, {input: shape}, {input: integers})."""
    dims, shapes, values = {}, {}, {}
    for option, argument in zip(options[::2], options[1::2]):
        if option == "--dim":
            name, size = argument.rsplit("=", 1)
            dims[name] = int(size)
        elif option == "--input":
            name, shape = argument.rsplit(":", 1)
            shapes[name] = [int(s) for s in shape.split("x")]
        elif option == "--value":
            name, numbers = argument.rsplit("=", 1)
            values[name] = [int(n) for n in numbers.split(",")]
    return dims, shapes, values


def feed_of(model, options, given):
    """Inputs of the bound shapes: small random reals, ones, words; and the integers that someone gave."""
    rng = np.random.default_rng(0)
    dims, shapes, values = _bindings(options)
    feed = {}
    for value in onnx_models.runtime_inputs(model.graph):
        declared = onnx_models.sizes(value.type) or []
        shape = shapes.get(value.name) or [d if isinstance(d, int) and d >= 0 else dims.get(d, 1) for d in declared]
        kind = onnx_models.tensor_type(value.type).elem_type
        numbers = given.get(value.name, values.get(value.name))
        if kind == TensorProto.STRING:
            feed[value.name] = np.full(shape, "a", dtype=object)
            continue
        dtype = helper.tensor_dtype_to_np_dtype(kind)
        if numbers is not None:
            feed[value.name] = np.resize(np.array(numbers, dtype), shape)
        elif np.issubdtype(dtype, np.floating):
            feed[value.name] = rng.standard_normal(shape).astype(dtype)
        else:
            feed[value.name] = np.ones(shape, dtype)
    return feed


def _agree(got, want, bounded):
    """The runtime computes f16 in f32 where it has no kernel; an upper bound is not below the run."""
    kinds = {got["dtype"], want[0]}
    if len(kinds) > 1 and kinds != {"f16", "f32"}:
        return False
    shape = got["shape"]
    return shape == want[1] or (bounded and shape is not None and len(shape) == len(want[1]) and
                                all(g >= w for g, w in zip(shape, want[1])))


class Comparison:
    """Compares models one after the other, and keeps count."""

    def __init__(self, checks, estimator, work, allowed):
        self.checks, self.estimator, self.work, self.allowed = checks, estimator, pathlib.Path(work), allowed
        self.used = set()
        self.models = self.tensors = self.bounds = self.macs = 0

    def verdict(self, name, subject, problems):
        """A check, unless there is an excuse for it."""
        excuse = next((a for a in self.allowed if fnmatch.fnmatch(name, a[0]) and subject in a[1].split(",")), None)
        if problems and excuse:
            self.used.add(excuse)
            self.checks.excuse(f"{name}: {subject}", f"{excuse[0]}: {excuse[2]}")
        else:
            self.checks.check(f"{name}: {subject}", problems)

    def compare(self, name, path, options, given=None, model=None):
        """`model` stands in for the file at `path` where that has no weights to run with."""
        self.models += 1
        try:
            report = self.estimator.report(path, options)
        except EstimatorError as error:
            self.verdict(name, "unknown", [str(error)])
            return
        self.verdict(name, "unknown", unknown(report))
        try:
            model = model or onnx.load(str(path))
            run = executed.run(model, feed_of(model, options, given or {}), self.work)
        except Exception as error:  # pylint: disable=broad-except
            self.verdict(name, "run", [f"onnxruntime does not run it: {str(error)[:300]}"])
            return
        self.compare_run(name, report, run)

    def compare_run(self, name, report, run):
        graph = run.model.graph
        touched = data_flow.reached(graph)
        runs = data_flow.reached(graph, sizes=data_flow.open_sizes(graph))
        want = {first: count for first, count in run.macs.items() if first in runs}
        self.verdict(name, "macs", self.different_macs(report, want))
        self.macs += sum(count for _, count in want.values())
        self.verdict(name, "shapes", self.different_shapes(report, run))
        parameters, size = stored_weights.weights(run.model, run, touched)
        got = report["model"]
        self.verdict(name, "parameters", [] if got["parameters"] == parameters else
                     [f"got {got['parameters']}, the file's tensors have {parameters}"])
        self.verdict(name, "weight_bytes", [] if got["weight_bytes"] == size else
                     [f"got {got['weight_bytes']}, the file's tensors have {size}"])

    @staticmethod
    def different_macs(report, want):
        """Lines: the totals when they differ, and the nodes that make the difference."""
        total = sum(count for _, count in want.values())
        if report["totals"]["macs"] == total:
            return []
        lines, mine = [f"got {report['totals']['macs']}, the run has {total}"], {}
        for node in report["nodes"]:
            first = next((t["name"] for t in node["outputs"] if t["name"]), node["name"])
            mine[first] = mine.get(first, 0) + node["macs"]
        for first in sorted(mine.keys() | want.keys()):
            op, count = want.get(first, ("nothing", 0))
            if mine.get(first, 0) != count:
                lines.append(f"{first}: got {mine.get(first, 0)}, {op} has {count}")
        return lines

    def different_shapes(self, report, run):
        got, lines = tensors(report), []
        bounds = {t["name"] for node in report["nodes"] if node.get("upper_bound") for t in node["outputs"]}
        for name, want in run.tensors.items():
            if name not in got:
                continue  # inside what dlcost writes out in another way
            if not _agree(got[name], want, name in bounds):
                lines.append(f"{name}: got {got[name]['dtype']} {got[name]['shape']}, want {want[0]} {want[1]}")
            elif got[name]["shape"] == want[1]:
                self.tensors += 1
            else:
                self.bounds += 1
        return lines

    def summarize(self, what, complete):
        """With the whole list compared, every excuse must have been needed."""
        self.checks.note(f"{self.models} models of {what}: {self.tensors} tensors equal, {self.bounds} upper bounds, "
                         f"{self.macs} MACs in runs")
        for entry in self.allowed if complete else []:
            self.checks.check(f"excuse {entry[:2]} is needed", [] if entry in self.used else ["remove it"])
