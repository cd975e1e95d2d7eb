"""torchvision's classification networks, exported with a dynamic batch axis: complete, the
parameters PyTorch has (up to folded batch normalization), and the multiply-accumulates that
PyTorch's dispatcher really sees at batch 1.

By default a subset that takes about a minute, one or two networks of most families;
DLCOST_ORACLE_FULL=1 tries every network.

usage: torchvision_test.py DLCOST WORK_FOLDER
"""

import math
import os
import pathlib
import sys

import onnx

import harness
from estimator import Estimator, EstimatorError, unknown

try:
    import torch
    import torchvision
except ImportError as missing:
    harness.skip(f"no PyTorch: {missing}")

import models_torch
from torch_counts import dispatched_macs, unset_weights

SUBSET = ("alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "googlenet", "mnasnet0_5",
          "mobilenet_v2", "mobilenet_v3_small", "regnet_y_400mf", "resnet18", "resnet50",
          "resnext50_32x4d", "shufflenet_v2_x0_5", "squeezenet1_1", "swin_t", "vit_b_32")
NOT_EXPORTED = {name: "this torch's exporter has no aten::zero"
                for name in ("swin_v2_t", "swin_v2_s", "swin_v2_b")}
SIZES = {"inception_v3": 299}
DEFAULT_SIZE = 224


def build(name):
    """A network with weights of no meaning, no two of them equal: the exporter stores equal ones once."""
    options = {"init_weights": False, "aux_logits": False} if name in (
        "googlenet", "inception_v3") else {}
    with unset_weights():
        module = getattr(torchvision.models, name)(weights=None, **options).eval()
    for tensor in [*module.parameters(), *module.buffers()]:
        if tensor.is_floating_point():
            tensor.data.uniform_(0.5, 1.5)
    return module


def expected_parameters(module, path):
    """PyTorch's parameters, with what folding batch normalization into convolutions changes: scale,
    shift and statistics go, a bias comes where there was none. A normalization that stays stores
    its statistics as well."""
    graph = onnx.load(str(path), load_external_data=False).graph
    sizes = {t.name: math.prod(t.dims) for t in graph.initializer}
    norms = [m for m in module.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    channels = sum(m.num_features for m in norms)
    kept = sum(sizes[n.input[1]] for n in graph.node if n.op_type == "BatchNormalization")
    biases = sum(sizes[n.input[2]] for n in graph.node if n.op_type == "Conv" and len(n.input) > 2)
    own_biases = sum(m.bias.numel() for m in module.modules()
                     if isinstance(m, torch.nn.Conv2d) and m.bias is not None)
    return (sum(p.numel() for p in module.parameters()) - 2 * (channels - kept) + 2 * kept
            + biases - own_biases)


def check(checks, estimator, name, work):
    size = SIZES.get(name, DEFAULT_SIZE)
    module = build(name)
    path = work / f"{name}.onnx"
    # Weights stay as they are in the module, so that they can be counted.
    models_torch.export(module, torch.zeros(2, 3, size, size), path, ["input"],
                        {"input": {0: "batch"}, "output": {0: "batch"}}, fold=False)
    macs = dispatched_macs(module, torch.zeros(1, 3, size, size))
    try:
        for batch in (1, 3):
            report = estimator.report(path, ["--batch", str(batch)])
            checks.check(f"{name} at batch {batch}: nothing unknown", unknown(report))
            checks.equal(f"{name} at batch {batch}: MACs", report["totals"]["macs"], batch * macs)
        checks.equal(f"{name}: parameters", report["model"]["parameters"],
                     expected_parameters(module, path))
    except EstimatorError as error:
        checks.check(name, [str(error)])
    for file in work.iterdir():  # weights, some of them in files of their own
        file.unlink()


def main():
    estimator, work = Estimator(sys.argv[1]), pathlib.Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    checks = harness.Checks("torchvision classification networks")
    every = torchvision.models.list_models(module=torchvision.models)
    full = bool(os.environ.get("DLCOST_ORACLE_FULL"))
    names = sys.argv[3:] or [n for n in every if full or n in SUBSET]
    if not full:
        checks.note(f"{len(names)} of {len(every)} networks; DLCOST_ORACLE_FULL=1 for all")
    for name in names:
        if name in NOT_EXPORTED:
            checks.excuse(name, NOT_EXPORTED[name])
        else:
            check(checks, estimator, name, work)
    checks.finish()


if __name__ == "__main__":
    main()
