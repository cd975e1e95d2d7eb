#!/usr/bin/env python3
"""Expected times of networks of images under TensorRT against published runs: a line per source and type, and per device.

Each row of published/tensorrt.csv becomes the command line that a user of its run would write: the device, the type, the
batch and --runtime tensorrt. Published times hold more than the network: the copy of the images to the device and of the
answer back, where a row says so, and the host's part of an inference. The networks are not part of this repository; rows
whose file is not in the folder are counted. No constant of dlcost was fitted to these rows (docs/accuracy.md).

usage: tensorrt.py DLCOST tensorrt.csv MODELS_FOLDER [--rows]
       tensorrt.py --export MODELS_FOLDER    write the networks (needs torch, torchvision, and ultralytics for YOLO)
"""

import collections
import os
import sys

import published_runs

IMAGE = {"efficientnet_b3": (300, 300), "inception_v3": (299, 299), "retinanet_resnext50": (800, 800),
         "retinanet_resnet50": (800, 1344), "fcn_resnet50": (512, 1024)}  # fmt: skip
CLASSIFIERS = ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "mobilenet_v2", "efficientnet_b0",
               "efficientnet_b3", "inception_v3", "vgg11", "vgg13", "vgg16", "vgg19", "resnext50_32x4d",
               "shufflenet_v2_x1_0", "alexnet", "squeezenet1_0", "squeezenet1_1", "densenet121", "densenet161",
               "densenet169", "densenet201")  # fmt: skip
DETECTORS = tuple(f"yolo{version}{size}" for version, sizes in (("v8", "nsmlx"), ("11", "nsmlx"), ("26", "nsmlx"),
                                                                ("v10", "nsmblx")) for size in sizes)  # fmt: skip


def question(row):
    options = ["--gpu", row["device"], "--runtime", "tensorrt", "--batch", row["batch"]]
    return tuple(options + (["--dtype", row["type"]] if row["type"] != "f32" else []))


def retinanet(torchvision, backbone, classes, from_backbone):
    """torchvision's, without what is done to boxes afterwards. Its two smallest maps come from the backbone's last or not."""
    import torch  # pylint: disable=import-outside-toplevel
    from torchvision.models.detection import backbone_utils, retinanet as parts  # pylint: disable=import-outside-toplevel
    from torchvision.ops.feature_pyramid_network import LastLevelP6P7  # pylint: disable=import-outside-toplevel

    class RetinaNet(torch.nn.Module):
        def __init__(self):
            super().__init__()
            layers = getattr(torchvision.models, backbone)(weights=None)
            blocks = LastLevelP6P7(2048 if from_backbone else 256, 256)
            self.maps = backbone_utils._resnet_fpn_extractor(layers, 5, [2, 3, 4], blocks)  # pylint: disable=protected-access
            self.head = parts.RetinaNetHead(256, 9, classes)

        def forward(self, image):
            answer = self.head(list(self.maps(image).values()))
            return answer["cls_logits"].sigmoid(), answer["bbox_regression"]

    return RetinaNet()


def fcn(torchvision):
    """mmsegmentation's: a ResNet-50 that keeps an eighth of the image, two convolutions, one over both and the backbone."""
    import torch  # pylint: disable=import-outside-toplevel

    def block(before, after):
        return torch.nn.Sequential(torch.nn.Conv2d(before, after, 3, padding=1, bias=False), torch.nn.BatchNorm2d(after),
                                   torch.nn.ReLU())  # fmt: skip

    class Fcn(torch.nn.Module):
        def __init__(self):
            super().__init__()
            layers = torchvision.models.resnet50(weights=None, replace_stride_with_dilation=[False, True, True])
            self.backbone = torch.nn.Sequential(*list(layers.children())[:-2])
            self.head = torch.nn.Sequential(block(2048, 512), block(512, 512))
            self.join, self.classes = block(2560, 512), torch.nn.Conv2d(512, 19, 1)

        def forward(self, image):
            found = self.backbone(image)
            scores = self.classes(self.join(torch.cat([found, self.head(found)], 1)))
            return torch.nn.functional.interpolate(scores, size=image.shape[2:], mode="bilinear").argmax(1)

    return Fcn()


def detector(name):
    """With the head that it exports: boxes and scores, or the best 300 where it has them itself."""
    import ultralytics  # pylint: disable=import-outside-toplevel

    model = ultralytics.YOLO(f"{name}.yaml").model.eval().fuse(verbose=False)
    for module in model.modules():
        for attribute, value in (("export", True), ("dynamic", False), ("format", "onnx"), ("max_det", 300)):
            if hasattr(module, attribute):
                setattr(module, attribute, value)
    return model


def export(folder):
    """Weights mean nothing."""
    import torch  # pylint: disable=import-outside-toplevel
    import torchvision  # pylint: disable=import-outside-toplevel

    def classifier(name):
        told = {"init_weights": False, "aux_logits": False, "transform_input": False} if name == "inception_v3" else {}
        return getattr(torchvision.models, name)(weights=None, **told)

    makers = {name: lambda name=name: classifier(name) for name in CLASSIFIERS}
    makers["retinanet_resnext50"] = lambda: retinanet(torchvision, "resnext50_32x4d", 264, False)
    makers["retinanet_resnet50"] = lambda: retinanet(torchvision, "resnet50", 80, True)
    makers["fcn_resnet50"] = lambda: fcn(torchvision)
    makers.update({name: lambda name=name: detector(name) for name in DETECTORS})
    for name, make in makers.items():
        path = f"{folder}/{name}.onnx"
        if os.path.exists(path):
            continue
        height, width = IMAGE.get(name, (640, 640) if name in DETECTORS else (224, 224))
        torch.onnx.export(make().eval(), torch.randn(1, 3, height, width), path, opset_version=17,
                          input_names=["image"], dynamic_axes={"image": {0: "batch"}})  # fmt: skip
        print(name, flush=True)


def main():
    if sys.argv[1:2] == ["--export"]:
        export(sys.argv[2])
        return
    arguments = published_runs.folder_arguments().parse_args()
    rows = published_runs.read(arguments.table)
    paths = {row["network"]: f"{arguments.folder}/{row['network']}.onnx" for row in rows}
    asked = [row for row in rows if os.path.exists(paths[row["network"]])]
    answers = published_runs.totals_all(arguments.dlcost, [(paths[row["network"]], question(row)) for row in asked])
    groups, below = collections.defaultdict(list), []
    for row, totals in zip(asked, answers):
        measured, time = float(row["ms"]), totals["expected_s"] * 1e3
        error = time / measured - 1
        for part in ((0, f"{row['source']} {row['type']}"), (1, f"all {row['device']}"), (2, "all")):
            groups[part].append(error)
        line = f"{row['source']}, {row['network']} {' '.join(question(row))}: {measured:.3f} ms"
        if totals["bound_s"] * 1e3 > measured:
            below.append(f"{line}, below its bound {totals['bound_s'] * 1e3:.3f} ms")
        if arguments.rows:
            print(f"{line}, expected {time:.3f} ms ({100 * error:+.0f}%)")
    print(published_runs.head("source, type"))
    for (_, name), errors in sorted(groups.items()):
        print(published_runs.line(name, errors))
    print(f"\nbelow the bound: {len(below)} rows", *below, sep="\n  ")
    print(f"not in the folder: {len(rows) - len(asked)} rows")


if __name__ == "__main__":
    main()
