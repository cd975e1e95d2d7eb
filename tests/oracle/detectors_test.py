"""torchvision's two-stage detectors, small and with random weights, against a run: the multiply-accumulates of every
node are at most what dlcost bounds them by, and equal once --at tells it how many boxes each stage kept.

usage: detectors_test.py DLCOST WORK_FOLDER
"""

import contextlib
import io
import pathlib
import sys
import warnings

import numpy as np
import onnx

import executed
import harness
from estimator import Estimator

try:
    import torch
    from torchvision.models import detection
    from torchvision.models.detection.backbone_utils import mobilenet_backbone
except ImportError as missing:
    harness.skip(f"{missing.name} is not installed (Debian's python3-torchvision)")

SIDE = 64


def export(kind, path):
    """Writes the detector `kind` for one image of SIDE x SIDE."""
    torch.manual_seed(0)
    backbone = mobilenet_backbone(backbone_name="mobilenet_v3_small", weights=None, fpn=True)
    anchors = detection.rpn.AnchorGenerator(sizes=((16, 32),) * 3, aspect_ratios=((1.0,),) * 3)
    model = kind(backbone, num_classes=3, rpn_anchor_generator=anchors, min_size=SIDE, max_size=SIDE,
                 box_score_thresh=0.0, rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=40,
                 box_detections_per_img=20)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(model.eval(), ([torch.rand(3, SIDE, SIDE)],), str(path), opset_version=13)
    return onnx.load(path)


def macs(report):
    """{first output: MACs} of the nodes that multiply."""
    return {n["outputs"][0]["name"]: n["macs"] for n in report["nodes"] if n["macs"]}


def followed(estimator, path, run):
    """The report once --at names what the run kept, at every node that dlcost calls the cause of a bound."""
    options, told = [], {}
    while True:
        report = estimator.report(path, options)
        causes = [c["node"] for c in report["certainty"]["causes"] if c["node"] not in told]
        if not causes:
            return report
        first = {n["name"]: n["outputs"][0]["name"] for n in report["nodes"] if n["outputs"]}
        told[causes[0]] = run.tensors[first[causes[0]]][1]
        options += ["--at", f"{causes[0]}={'x'.join(map(str, told[causes[0]]))}"]


def check(checks, estimator, name, kind, folder):
    path = folder / f"{name}.onnx"
    model = export(kind, path)
    image = np.random.default_rng(0).random((3, SIDE, SIDE), dtype=np.float32)
    run = executed.run(model, {model.graph.input[0].name: image}, folder)
    want = {output: count for output, (_, count) in run.macs.items() if count}
    bound = estimator.report(path)
    checks.check(f"{name}: bounds", [f"{o}: {macs(bound).get(o, 0)} MACs, ran {m}" for o, m in want.items()
                                     if macs(bound).get(o, 0) < m])
    told = followed(estimator, path, run)
    checks.equal(f"{name}: MACs, node by node", macs(told), want)
    checks.note(f"{name}: {sum(want.values())} MACs as run, bounded by {bound['totals']['macs']}")


def main():
    estimator, folder = Estimator(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    checks = harness.Checks("two-stage detectors")
    for name, kind in (("faster-rcnn", detection.FasterRCNN), ("mask-rcnn", detection.MaskRCNN),
                       ("keypoint-rcnn", detection.KeypointRCNN)):
        check(checks, estimator, name, kind, folder)
    checks.finish()


if __name__ == "__main__":
    main()
