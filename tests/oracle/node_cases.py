"""The node and model tests of the onnx packages: model, inputs and outputs of a real run."""

import pathlib
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

DEBIAN_DATA = pathlib.Path("/usr/share/libonnx-testdata/data")


class Case:
    """A model with the first data set of its test: names to arrays, or to None for non-tensors."""

    def __init__(self, name, model, inputs, outputs):
        self.name, self.model, self.inputs, self.outputs = name, model, inputs, outputs


def _named(values, data):
    as_array = [d if isinstance(d, (np.ndarray, np.generic)) else None for d in data]
    return dict(zip((v.name for v in values), as_array))


def generated():
    """What the installed onnx package generates."""
    warnings.filterwarnings("ignore")
    np.random.seed(0)
    from onnx.backend.test.case.node import collect_testcases
    for case in collect_testcases(None):
        if case.model is None:
            continue
        inputs, outputs = case.data_sets[0] if case.data_sets else ([], [])
        graph = case.model.graph
        yield Case(case.name, case.model, _named(graph.input, inputs), _named(graph.output, outputs))


def _arrays(folder, prefix, values):
    arrays = []
    for i, value in enumerate(values):
        file = folder / f"{prefix}_{i}.pb"
        if value.type.WhichOneof("value") != "tensor_type" or not file.exists():
            arrays.append(None)
            continue
        tensor = onnx.TensorProto()
        tensor.ParseFromString(file.read_bytes())
        arrays.append(numpy_helper.to_array(tensor))
    return arrays


def debian():
    """What Debian's libonnx-testdata holds (an older onnx, other opsets)."""
    for path in sorted(DEBIAN_DATA.glob("*/*/model.onnx")):
        model = onnx.load(path)
        stored = {t.name for t in model.graph.initializer}
        runtime = [v for v in model.graph.input if v.name not in stored]
        data = path.parent / "test_data_set_0"
        yield Case(f"debian/{path.parent.parent.name}/{path.parent.name}", model,
                   _named(runtime, _arrays(data, "input", runtime)),
                   _named(model.graph.output, _arrays(data, "output", model.graph.output)))
