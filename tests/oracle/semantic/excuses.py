"""Where the oracle is known to differ from the specification, or where nobody can be right. One reason each."""

import re

import numpy as np


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


def _empty(draft, node):
    return any(v.size == 0 for v in _values(draft, node))


def _policy(_, node):
    return _attribute(node, "keep_aspect_ratio_policy") is not None


# (operators, pattern of the finding, condition, reason)
EXCUSES = (
    (
        r"Min|Max|Sum|Mean",
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
    (r"ReduceSum|ReduceProd", r"value", _far, "ONNX Runtime reduces integers in floating point"),
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
