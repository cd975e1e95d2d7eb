#!/usr/bin/env python3
"""Expected times of transformers' vision models in PyTorch's eager mode and compiled, against those that it publishes.

Each row of published/compiled.csv becomes the two command lines that a user of its run would write: float32 under
PyTorch 2.0.1, where Inductor leaves attention that is written out as it is. DETR is asked with images of 800 x 1066, which
its processor makes of the photograph that the source names. No constant of dlcost was fitted to these rows.

usage: compiled.py DLCOST compiled.csv FOLDER [--rows]
       compiled.py --export FOLDER    write the networks (transformers 4.30, PyTorch 1.13), whose weights mean nothing
"""

import collections
import sys

import published_runs


def networks(t):
    """By the table's name: what makes the model, and the image that it is given."""
    return {
        "vit": (lambda: t.ViTForImageClassification(t.ViTConfig(num_labels=1000)), (224, 224)),
        "beit": (
            lambda: t.BeitForImageClassification(
                t.BeitConfig(num_labels=21841, use_relative_position_bias=True, use_mean_pooling=True)),
            (224, 224)),
        "convnext": (
            lambda: t.ConvNextForImageClassification(
                t.ConvNextConfig(depths=[3, 3, 27, 3], hidden_sizes=[192, 384, 768, 1536], num_labels=1000)),
            (224, 224)),
        "resnet": (lambda: t.ResNetForImageClassification(t.ResNetConfig(num_labels=1000)), (224, 224)),
        "segformer": (lambda: t.SegformerForSemanticSegmentation(t.SegformerConfig(num_labels=150)), (512, 512)),
        "mobilenet": (
            lambda: t.MobileNetV2ForSemanticSegmentation(
                t.MobileNetV2Config(num_labels=21, image_size=513, output_stride=8)),
            (513, 513)),
        "detr101": (
            lambda: t.DetrForObjectDetection(t.DetrConfig(backbone="resnet101", use_pretrained_backbone=False)),
            (800, 1066)),
        "cdetr": (
            lambda: t.ConditionalDetrForObjectDetection(t.ConditionalDetrConfig(use_pretrained_backbone=False)),
            (800, 1066)),
    }  # fmt: skip


def export(folder):
    import torch  # pylint: disable=import-outside-toplevel
    import transformers  # pylint: disable=import-outside-toplevel

    class First(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, image):
            outputs = self.model(pixel_values=image)
            return tuple(outputs[name] for name in ("logits", "pred_boxes") if name in outputs)

    for name, (make, image) in networks(transformers).items():
        model = make().eval()
        for number, tensor in enumerate(model.parameters()):  # the exporter stores equal tensors once
            tensor.data.view(-1)[0] = number
        # Normalizations stay apart from convolutions.
        torch.onnx.export(First(model), torch.randn(2, 3, *image), f"{folder}/{name}.onnx", opset_version=17,
                          input_names=["input"], output_names=["logits"], dynamic_axes={"input": {0: "batch"}},
                          do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE)  # fmt: skip
        print(name, flush=True)


# Inductor finds attention in what is written out since 2.1 (PyTorch, pull request 97741).
WAYS = {"eager": ["--runtime", "pytorch-eager"],
        "compiled": ["--runtime", "pytorch-compile", "--attention", "materialized"]}  # fmt: skip
WITHOUT_ATTENTION = ("convnext", "resnet", "mobilenet")


def options(row, way):
    told = WAYS[way][:2] if row["network"] in WITHOUT_ATTENTION else WAYS[way]
    return ("--gpu", row["device"], "--batch", row["batch"], *told)


def main():
    if sys.argv[1:2] == ["--export"]:
        export(sys.argv[2])
        return
    arguments = published_runs.folder_arguments().parse_args()
    asked = [(row, way) for row in published_runs.read(arguments.table) for way in WAYS]
    answers = published_runs.totals_all(
        arguments.dlcost, [(f"{arguments.folder}/{row['network']}.onnx", options(row, way)) for row, way in asked])
    groups = collections.defaultdict(list)
    for (row, way), totals in zip(asked, answers):
        measured, time = float(row[f"{way}_ms"]), totals["expected_s"] * 1e3
        error = time / measured - 1
        if arguments.rows:
            print(f"{row['network']} {row['device']} {row['batch']} {way}: {measured:.1f} ms, expected {time:.1f} ms"
                  f" ({100 * error:+.0f}%)")  # fmt: skip
        for part in [(0, f"{row['device']} {way}, batch {row['batch']}"), (1, f"{way}: {row['network']}"),
                     (2, f"all {way}"), (3, "all")]:  # fmt: skip
            groups[part].append(error)
    print(published_runs.head("device, mode; network"))
    for (_, name), errors in sorted(groups.items()):
        print(published_runs.line(name, errors))


if __name__ == "__main__":
    main()
