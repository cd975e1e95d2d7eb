"""What stands for a model: a path, bytes, or an object of a library that makes ONNX models."""

import json
import os

from ._core import Error, Model

# A protobuf cannot be serialized beyond 2 GB, and a copy of the weights is for nothing: they are never read.
_LARGE = 64 << 20


def load(model):
    """The structure of a model, to be counted any number of times, by any number of threads.

    `model`: a path; bytes; an onnx.ModelProto, with weights of any size; a model of onnx-ir, an onnxscript function, or
    what torch.onnx.export returns; a configuration of transformers, or the dictionary of its config.json. Raises dlcost.Error for what is none of these or no ONNX model.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, (str, os.PathLike)):
        return Model.read(os.fspath(model))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Model.from_bytes(bytes(model), "bytes")
    if isinstance(model, dict):  # what config.json holds
        return Model.from_bytes(json.dumps(model).encode(), str(model.get("model_type", "configuration")))
    if hasattr(model, "to_json_string") and hasattr(model, "model_type"):  # transformers.PretrainedConfig
        return Model.from_bytes(model.to_json_string(use_diff=False).encode(), model.model_type)
    if hasattr(model, "to_model_proto"):  # an onnxscript function
        return _from_proto(model.to_model_proto())
    program = getattr(model, "model", None)  # torch.onnx.ONNXProgram has one of onnx-ir
    for made in (program, model):
        if type(made).__module__.split(".")[0] == "onnx_ir":
            return Model.from_bytes(serialize(made), made.graph.name or "model")
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        return _from_proto(model)
    if any(base.__module__.startswith("torch.nn.") for base in type(model).__mro__):
        raise Error(f"{type(model).__name__} is a module of PyTorch: dlcost.torch.report(module, example_inputs) counts one")
    raise Error(f"{type(model).__module__}.{type(model).__name__} is no model: give a path, bytes, an onnx.ModelProto, "
                "what onnx-ir, onnxscript or torch.onnx.export make, or a configuration of transformers")


def serialize(model):
    """The bytes of a model of onnx-ir. Its large weights, which may have no values at all, are said to be in a file."""
    import onnx_ir
    held = {}
    try:
        for value in model.graph.initializers.values():
            tensor = value.const_value
            if tensor is None or isinstance(tensor, onnx_ir.ExternalTensor) or _has_small_values(tensor):
                continue
            held[value] = tensor
            value.const_value = onnx_ir.ExternalTensor("weights", None, None, tensor.dtype, shape=tensor.shape,
                                                       name=value.name)
        return onnx_ir.serde.serialize_model(model).SerializeToString()
    finally:
        for value, tensor in held.items():
            value.const_value = tensor


def _has_small_values(tensor):
    if tensor.nbytes > 4096:
        return False
    try:
        return len(tensor.tobytes()) == tensor.nbytes
    except Exception:  # PyTorch's on the meta device, and fake ones, each in its own way
        return False


def _from_proto(proto):
    name = proto.graph.name or "model"
    weights = sum(len(tensor.raw_data) for tensor in proto.graph.initializer)
    if weights > _LARGE:
        proto = _without_weights(proto)
    return Model.from_bytes(proto.SerializeToString(), name)


def _without_weights(proto):
    """The same model, with its large weights said to be in a file beside it. Nothing large is copied."""
    light = type(proto)()
    for field, value in proto.ListFields():
        if field.name != "graph":
            _take(light, field, value)
    for field, value in proto.graph.ListFields():
        if field.name != "initializer":
            _take(light.graph, field, value)
    for tensor in proto.graph.initializer:
        added = light.graph.initializer.add()
        if len(tensor.raw_data) <= 4096:
            added.CopyFrom(tensor)
            continue
        added.name, added.data_type = tensor.name, tensor.data_type
        added.dims.extend(tensor.dims)
        added.data_location = type(tensor).EXTERNAL
        entry = added.external_data.add()
        entry.key, entry.value = "location", "weights"
    return light


def _take(message, field, value):
    if field.message_type is not None and not hasattr(value, "extend"):
        getattr(message, field.name).CopyFrom(value)
    elif hasattr(value, "extend") and not isinstance(value, (str, bytes)):
        getattr(message, field.name).extend(value)
    else:
        setattr(message, field.name, value)
