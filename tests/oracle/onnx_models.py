"""ONNX models as the oracles handle them: types, symbols, bindings, random inputs."""

import numpy as np
import onnx
from onnx import TensorProto, helper

# The estimator's names of the ONNX element types.
DTYPES = {
    "FLOAT": "f32", "FLOAT16": "f16", "DOUBLE": "f64", "BFLOAT16": "bf16", "BOOL": "bool",
    "STRING": "string", "COMPLEX64": "c64", "COMPLEX128": "c128", "UNDEFINED": "undefined",
    "FLOAT8E4M3FN": "f8e4m3fn", "FLOAT8E4M3FNUZ": "f8e4m3fnuz", "FLOAT8E5M2": "f8e5m2",
    "FLOAT8E5M2FNUZ": "f8e5m2fnuz", "FLOAT4E2M1": "f4e2m1", "FLOAT8E8M0": "f8e8m0",
} | {f"{long}{bits}": f"{short}{bits}" for long, short in (("INT", "i"), ("UINT", "u"))
     for bits in (2, 4, 8, 16, 32, 64)}

# Sizes that fit each other, by the names that exporters give to dimensions.
SIZES = {"batch": 2, "sequence": 3, "past_sequence": 5, "total_sequence": 8, "enc": 4, "dec": 3,
         "samples": 4000}
DEFAULT_SIZE = 2


def dtype_name(elem_type):
    return DTYPES[TensorProto.DataType.Name(elem_type)]


def tensor_type(type_proto):
    """The tensor part of a type (sparse ones too), or None for sequences, maps and optionals."""
    kind = type_proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        return getattr(type_proto, kind)
    return None


def sizes(type_proto):
    """[int | str | None] of a tensor type, or None without a declared rank."""
    tensor = tensor_type(type_proto)
    if tensor is None or not tensor.HasField("shape"):
        return None
    return [d.dim_value if d.HasField("dim_value") else (d.dim_param or None)
            for d in tensor.shape.dim]


def runtime_inputs(graph):
    """Graph inputs without the initializers that old files list among them."""
    stored = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    return [v for v in graph.input if v.name not in stored]


def bound_shape(value):
    """The shape that the oracles give to an input."""
    return [d if isinstance(d, int) and d > 0 else SIZES.get(d, DEFAULT_SIZE)
            for d in sizes(value.type) or []]


def binding_options(model):
    """Command-line options that bind every symbolic dimension of a model's inputs."""
    dims, options = {}, []
    for value in runtime_inputs(model.graph):
        declared = sizes(value.type)
        if declared is None:
            continue
        if any(d is None or d == 0 for d in declared):
            options += ["--input", f"{value.name}:{'x'.join(map(str, bound_shape(value)))}"]
        else:
            dims.update({d: SIZES.get(d, DEFAULT_SIZE) for d in declared if isinstance(d, str)})
    for name, size in dims.items():
        options += ["--dim", f"{name}={size}"]
    return options


def bind(model):
    """Writes the bound sizes into the model's inputs and forgets all other declared shapes."""
    for value in runtime_inputs(model.graph):
        tensor = tensor_type(value.type)
        if tensor is not None and tensor.HasField("shape"):
            for dim, size in zip(tensor.shape.dim, bound_shape(value)):
                dim.dim_value = size
    for value in model.graph.output:
        tensor = tensor_type(value.type)
        if tensor is not None:
            tensor.ClearField("shape")
    del model.graph.value_info[:]
    return model


def random_inputs(model, seed=0):
    """A feed that any of the models runs with: ones for integers, so that ids and masks are valid."""
    rng = np.random.default_rng(seed)
    feed = {}
    for value in runtime_inputs(model.graph):
        shape, kind = bound_shape(value), value.type.tensor_type.elem_type
        if kind == TensorProto.STRING:
            feed[value.name] = np.full(shape, "a", dtype=object)
            continue
        dtype = helper.tensor_dtype_to_np_dtype(kind)
        if np.issubdtype(dtype, np.floating):
            feed[value.name] = rng.standard_normal(shape).astype(dtype)
        else:
            feed[value.name] = np.ones(shape, dtype)
    return feed


def save(model, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))
    return path
