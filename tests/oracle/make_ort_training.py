"""Writes exported/ort_training/: small networks, and the training graphs that ONNX Runtime's own tools derive from them
(onnxruntime.training.artifacts, mean square of the output and a target). Not part of the tests, whose environment
has no such wheel: run it where onnxruntime-training 1.19.2, onnx 1.16.2 and PyTorch are installed.

usage: make_ort_training.py FOLDER   where training_test.py left its networks
"""

import pathlib
import sys
import tempfile

import onnx
from onnx import TensorProto
from onnxruntime.training import artifacts

NETWORKS = ("resnet18", "bert", "gpt2", "lstm", "gru", "convolutions")
TARGET = pathlib.Path(__file__).with_name("exported") / "ort_training"
SMALL = 64  # numbers of a tensor that stays in the file
RUNNING = ("running_mean", "running_var", "num_batches_tracked")


def with_statistics(model):
    """The builder of gradients wants all outputs of a LayerNormalization."""
    for node in model.graph.node:
        if node.op_type == "LayerNormalization":
            for i in range(len(node.output), 3):
                node.output.append(f"{node.output[0]}/statistics{i}")
    return model


def without_weights(model):
    """A tensor of more than SMALL numbers is said to lie in a file that is not there."""
    for tensor in model.graph.initializer:
        numbers = 1
        for dim in tensor.dims:
            numbers *= dim
        if numbers <= SMALL:
            continue
        for field in ("raw_data", "float_data", "int64_data", "int32_data"):
            tensor.ClearField(field)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="weights")
    return model


def main(folder):
    TARGET.mkdir(exist_ok=True)
    for name in NETWORKS:
        model = with_statistics(onnx.load(f"{folder}/{name}.onnx"))
        reals = [t.name for t in model.graph.initializer if t.data_type == TensorProto.FLOAT and t.dims]
        frozen = [n for n in reals if n.endswith(RUNNING)]
        with tempfile.TemporaryDirectory() as written:
            artifacts.generate_artifacts(
                model, requires_grad=[n for n in reals if n not in frozen], frozen_params=frozen,
                loss=artifacts.LossType.MSELoss, artifact_directory=written)
            graph = onnx.load(f"{written}/training_model.onnx")
        onnx.save(without_weights(graph), str(TARGET / f"{name}.training.onnx"))
        onnx.save(without_weights(onnx.load(f"{folder}/{name}.onnx")), str(TARGET / f"{name}.onnx"))


if __name__ == "__main__":
    main(*sys.argv[1:])
