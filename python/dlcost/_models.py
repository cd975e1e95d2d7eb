"""What stands for a model: a path, bytes, or an object of a library that makes ONNX models."""

import contextlib
import json
import math
import os
import threading

from ._core import Error, Model

# Weights of that many elements are left out: a protobuf cannot be serialized beyond 2 GB, and a copy of the weights is for
# nothing, because they are never read.
_LARGE = 16 << 20


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
        if type(made).__module__.split(".")[0] == "onnx_ir" and hasattr(made, "graph") and hasattr(made, "ir_version"):
            return Model.from_bytes(serialize(made), made.graph.name or "model")
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        return _from_proto(model)
    if any(base.__module__.startswith("torch.nn.") for base in type(model).__mro__):
        raise Error(f"{type(model).__name__} is a module of PyTorch: dlcost.torch.report(module, example_inputs) counts one")
    raise Error(f"{type(model).__module__}.{type(model).__name__} is no model: give a path, bytes, an onnx.ModelProto, "
                "what onnx-ir, onnxscript or torch.onnx.export make, or a configuration of transformers")


def serialize(model):
    """The bytes of a model of onnx-ir. Its large weights, which may have no values at all, are said to be in a file."""
    from onnx_ir import serde
    with _borrowing:
        put_back = []
        try:
            for graph in _graphs(model):
                _lighten(graph, put_back)
            return _written(serde.serialize_model(model))
        finally:
            for restore, *arguments in put_back:
                restore(*arguments)


_borrowing = threading.Lock()  # the model is the caller's and may be counted by several threads


def _graphs(model):
    """Every graph and function of a model, those that attributes hold too."""
    from onnx_ir import AttributeType
    found = [model.graph, *model.functions.values()]
    for graph in found:
        for attribute in (attribute for node in graph for attribute in node.attributes.values()):
            if attribute.type is AttributeType.GRAPH:
                found.append(attribute.value)
            elif attribute.type is AttributeType.GRAPHS:
                found.extend(attribute.value)
    return found


def _lighten(graph, put_back):
    """Takes the large tensors out of a graph; `put_back` gets the calls that undo it."""
    from onnx_ir import AttributeType, AttrTensor
    for value in getattr(graph, "initializers", {}).values():
        stand_in = _stand_in(value.const_value, value)
        if stand_in is not None:
            put_back.append((setattr, value, "const_value", value.const_value))
            value.const_value = stand_in
    for node in graph:
        for name, attribute in list(node.attributes.items()):
            if attribute.type is AttributeType.TENSOR and attribute.value is not None:
                stand_in = _stand_in(attribute.value, None)
                if stand_in is not None:
                    put_back.append((node.attributes.__setitem__, name, attribute))
                    node.attributes[name] = AttrTensor(name, stand_in)


def _stand_in(tensor, value):
    """What says that a tensor is in a file; None where it can stay. One that is missing is as its value says."""
    import onnx_ir
    if tensor is None:
        if value.dtype is None or value.shape is None or not value.shape.is_static():
            return None
        tensor = value
    elif isinstance(tensor, onnx_ir.ExternalTensor) or _has_small_values(tensor):
        return None
    return onnx_ir.ExternalTensor("weights", None, None, tensor.dtype, shape=tensor.shape, name=tensor.name)


def _has_small_values(tensor):
    if tensor.nbytes > 4096:
        return False
    try:
        return len(tensor.tobytes()) == tensor.nbytes
    except Exception:  # PyTorch's on the meta device, and fake ones, each in its own way
        return False


def _from_proto(proto):
    name = proto.graph.name or "model"
    written = None
    if sum(_elements(tensor) for tensor in proto.graph.initializer) <= _LARGE:
        with contextlib.suppress(Exception):  # protobuf's EncodeError: beyond 2 GB, in constants or in branches
            written = proto.SerializeToString()
    if written is None:
        light = type(proto)()
        _copy_without_weights(proto, light)
        written = _written(light)
    return Model.from_bytes(written, name)


def _written(proto):
    try:
        return proto.SerializeToString()
    except Exception as error:  # protobuf's EncodeError, which has no reason in it
        raise Error(f"{proto.graph.name or 'model'}: protobuf cannot serialize it, as where more than 2 GB are left of it without "
                    f"its weights ({error})") from None


# The messages of onnx.proto that can hold a tensor, and their fields that lead to one (as in estimator/onnx/skeleton.cc).
_WITH_TENSORS = {
    "ModelProto": ("graph", "functions"),
    "FunctionProto": ("node", "attribute_proto"),
    "GraphProto": ("node", "initializer", "sparse_initializer"),
    "NodeProto": ("attribute",),
    "AttributeProto": ("t", "g", "tensors", "graphs", "sparse_tensor", "sparse_tensors"),
    "SparseTensorProto": ("values", "indices"),
}


def _elements(tensor):
    return math.prod(tensor.dims)  # its data is not asked for, because protobuf would copy it


def _copy_without_weights(message, light):
    """Copies a message, its large tensors as if they lay in a file. Nothing large is copied."""
    if message.DESCRIPTOR.name == "TensorProto":
        return _copy_tensor(message, light)
    inner = _WITH_TENSORS.get(message.DESCRIPTOR.name)
    if inner is None:
        return light.CopyFrom(message)
    for field, value in message.ListFields():
        if field.name == "training_info":  # never read
            continue
        held = getattr(light, field.name)
        if field.name in inner:
            for child in value if hasattr(value, "extend") else (value,):
                _copy_without_weights(child, held.add() if hasattr(held, "extend") else held)
        elif hasattr(value, "extend"):
            held.extend(value)
        elif field.message_type is not None:
            held.CopyFrom(value)
        else:
            setattr(light, field.name, value)


def _copy_tensor(tensor, light):
    if _elements(tensor) <= 4096:  # C++ leaves out what is large of these
        light.CopyFrom(tensor)
        return
    light.name, light.data_type = tensor.name, tensor.data_type
    light.dims.extend(tensor.dims)
    light.data_location = type(tensor).EXTERNAL
    entry = light.external_data.add()
    entry.key, entry.value = "location", "weights"
