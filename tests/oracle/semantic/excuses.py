"""Where the oracle is known to differ from the specification, or where nobody can be right. One reason each."""

import math
import re

import numpy as np
import onnx
from onnx import numpy_helper


def _values(draft, node):
    return [draft.values[n] for n in node.input if n and hasattr(draft.values.get(n), "dtype")]


def _attribute(node, name):
    return next((a for a in node.attribute if a.name == name), None)


def _far(draft, node):
    """Integers that a double does not hold."""
    return any(
        abs(int(v)) > 2**53
        for array in _values(draft, node)
        if array.dtype.kind == "i"
        for v in array.reshape(-1)[:64]
    )


def _overflows(draft, node):
    """32-bit integers whose sum has no room in 32 bits: it wraps."""
    return any(v.dtype == np.int32 and np.abs(v.astype(np.int64)).sum() >= 2**31 for v in _values(draft, node))


def _product_overflows(draft, node):
    """Integers whose product has no room in their type."""
    return any(
        v.dtype.kind == "i"
        and math.prod(abs(int(x)) for x in v.reshape(-1)) >= 2 ** (8 * v.dtype.itemsize - 1)
        for v in _values(draft, node)
    )


def _power_overflows(draft, node):
    base, exponent = _values(draft, node)
    return base.dtype.kind == "i" and np.any(
        np.abs(base.astype(float)) ** exponent.astype(float) >= 2.0 ** (8 * base.dtype.itemsize - 1)
    )


def _graphs(node):
    return [a.g for a in node.attribute if a.HasField("g")]


def _reduces_far(_, node):
    """Graphs inside that reduce integers, and hold some that a double does not."""
    return any(
        any(n.op_type.startswith("Reduce") for n in graph.node)
        and any(
            abs(int(v)) > 2**53
            for tensor in graph.initializer
            if tensor.data_type == onnx.TensorProto.INT64
            for v in numpy_helper.to_array(tensor).reshape(-1)[:64]
        )
        for graph in _graphs(node)
    )


def _slices(_, node):
    return any(n.op_type == "Slice" for graph in _graphs(node) for n in graph.node)


def _widens(_, node):
    """A kernel that is smaller than its stride: same padding would have to be negative."""
    return (a := _attribute(node, "auto_pad")) is not None and a.s.startswith(b"SAME")


def _no_axes(draft, node):
    return len(node.input) > 1 and node.input[1] != "" and draft.values[node.input[1]].size == 0


def _empty(draft, node):
    return any(v.size == 0 for v in _values(draft, node))


def _policy(_, node):
    return _attribute(node, "keep_aspect_ratio_policy") is not None


# (operators, pattern of the finding, condition, reason)
EXCUSES = (
    (
        r"Min|Max|Sum|Mean|F[0-9]+",
        r"is the first to allow",
        None,
        "operands that differ in shape before opset 8: ONNX Runtime broadcasts them all the same",
    ),
    (
        r"Range|Mod",
        r"shape|value",
        _far,
        "ONNX Runtime computes lengths of ranges, and fmod of integers, in double",
    ),
    (
        r"ReduceSum|ReduceProd|ReduceMean",
        r"value",
        _far,
        "ONNX Runtime reduces integers in floating point",
    ),
    (r"If|Loop|Scan", r"value", _reduces_far, "ONNX Runtime reduces integers in floating point"),
    (
        r"If|Loop|Scan",
        r"shape",
        _slices,
        "a slice backwards from before the first element: the reference evaluator has nothing there",
    ),
    (r"ReduceProd", r"value", _product_overflows, "integers that overflow: ONNX Runtime clamps"),
    (r"Pow", r"value", _power_overflows, "integers that overflow: ONNX Runtime goes through double"),
    (
        r"ConvTranspose",
        r"shape",
        _widens,
        "a kernel smaller than its stride: same padding is negative, which ONNX Runtime takes for none",
    ),
    (
        r"Squeeze",
        r"shape",
        _no_axes,
        "an empty list of axes names none: ONNX Runtime takes it for no list",
    ),
    (
        r"NonMaxSuppression",
        r"has \d+ elements where 1 is required",
        None,
        "more than one limit: ONNX Runtime reads the first",
    ),
    (
        r"CenterCropPad",
        r"would have the negative dimension",
        None,
        "a negative size: ONNX Runtime crops to nothing",
    ),
    (
        r"ConcatFromSequence",
        r"\[(\d+,)*0(,\d+)*\] and .* do not join",
        None,
        "tensors of nothing: ONNX Runtime does not look at their shapes",
    ),
    (
        r"Split",
        r"num_outputs is \d+, but there are",
        None,
        "num_outputs that contradicts the outputs: ONNX Runtime leaves out what has no name",
    ),
    (r"ReduceSum", r"value", _overflows, "ONNX Runtime sums 32-bit integers in floating point, and clamps"),
    (r"Reduce.*", r"shape", _empty, "ONNX Runtime takes an axis from the end of nothing for all axes"),
    (r"PRelu", r"slope .* does not broadcast", None, "ONNX Runtime broadcasts both ways, not the slope alone"),
    (r"RotaryEmbedding", r"cannot be rotated in pairs", None, "ONNX Runtime drops the odd number"),
    (r"GatherND", r"do not address", _empty, "nothing to gather: ONNX Runtime does not look at the indices"),
    (r"DFT", r"a transform of 0 points", None, "of nothing: ONNX Runtime makes nothing"),
    (r"ArgM..", r"no extreme of an empty axis", None, "the position of an extreme of nothing"),
    (
        r".*Pool",
        r"does not fit in the padded extent",
        None,
        "a window larger than the padded axis: ONNX Runtime pools garbage",
    ),
    (r"MatMul", r"shape", _empty, "a sum of nothing: ONNX Runtime forgets to broadcast the batch"),
    (
        r"GroupNormalization",
        r"input \d has the shape",
        None,
        "a scale for no channel: ONNX Runtime broadcasts it",
    ),
    (
        r"StringSplit|StringConcat|RegexFullMatch|TfIdfVectorizer",
        r"no shape",
        None,
        "what strings hold is not read",
    ),
    (r"Squeeze", r"at most", None, "whether a size that depends on data is 1"),
    (
        r".*",
        r"error: .*axis -?[0-9]+ is outside a tensor",
        None,
        "ONNX Runtime runs some operators on an axis that does not exist",
    ),
    (
        r"Resize",
        r"shape",
        _policy,
        "ONNX Runtime keeps the aspect ratio over all axes, not over the given ones",
    ),
)


def excuse(draft, node, text):
    """The reason why a finding is none, or None."""
    for operators, pattern, condition, reason in EXCUSES:
        if (
            node is not None
            and re.fullmatch(operators, node.op_type)
            and re.search(pattern, text)
            and (condition is None or condition(draft, node))
        ):
            return reason
    return None
