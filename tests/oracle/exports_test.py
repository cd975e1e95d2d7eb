"""Networks that exporters wrote, against runs of them: those of make_models.py with their weights, and those of
exported/torch/ (make_exports.py), which are kept without, with random ones.

usage: exports_test.py DLCOST MODELS_FOLDER WORK_FOLDER
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import harness
import onnx_models
import real_models
from estimator import Estimator

WITHOUT_WEIGHTS = pathlib.Path(__file__).with_name("exported") / "torch"
ALLOWED = pathlib.Path(__file__).with_name("exports_allowed.txt")
# The branch that the run takes.
OPTIONS = {"keras/cond": ["--branch", "else"]}


def filled(path):
    """The model with small random reals, and zeros for integers: an index of 0 is valid everywhere."""
    model, rng = onnx.load(str(path), load_external_data=False), np.random.default_rng(0)
    tensors = [*model.graph.initializer, *(a.t for n in model.graph.node for a in n.attribute if a.HasField("t"))]
    for tensor in tensors:
        if tensor.data_location == TensorProto.EXTERNAL:
            dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
            numbers = np.zeros(tuple(tensor.dims), dtype)
            if np.issubdtype(dtype, np.floating):
                numbers += 0.01 * rng.standard_normal(numbers.shape).astype(dtype)
            tensor.CopyFrom(numpy_helper.from_array(numbers, tensor.name))
    return model


def main():
    estimator, models, work = Estimator(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    work.mkdir(parents=True, exist_ok=True)
    checks = harness.Checks("exported networks")
    comparison = real_models.Comparison(checks, estimator, work, real_models.read_allowed(ALLOWED))

    def compare(name, path, model):
        comparison.compare(name, path, [*onnx_models.binding_options(model), *OPTIONS.get(name, [])],
                           model=model)

    for path in sorted(WITHOUT_WEIGHTS.glob("*.onnx")):
        compare(f"without_weights/{path.stem}", path, filled(path))
    for path in sorted(models.glob("*/*.onnx")):
        compare(f"{path.parent.name}/{path.stem}", path, onnx.load(str(path)))
    # Without PyTorch many models were not made.
    comparison.summarize("exporters", complete=(models / "torch").exists())
    checks.finish()


if __name__ == "__main__":
    main()
