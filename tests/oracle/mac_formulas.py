"""Multiply-accumulates of one node of a run, from its attributes and the shapes that it ran with.

Written from the ONNX operator specification and onnxruntime's contrib operator documentation; nothing here is
shared with the estimator. A formula takes the attributes, the input shapes by position (None where an optional
input is missing) and the output shapes.
"""

from math import prod


def _conv(attributes, x, w, out):
    """Every tap of every filter for every output: taps on padding count as well."""
    return prod(out) * prod(w[1:])


def _transposed(attributes, x, w):
    """Every input element goes through the filters of its group."""
    return prod(x) * prod(w[1:])


def _product(a, b):
    """numpy's matmul: vectors are padded, batch dimensions broadcast from the right."""
    a = [1, *a] if len(a) == 1 else list(a)
    b = [*b, 1] if len(b) == 1 else list(b)
    rank = max(len(a), len(b)) - 2
    left = [1] * (rank - len(a) + 2) + a[:-2]
    right = [1] * (rank - len(b) + 2) + b[:-2]
    batch = prod(r if l == 1 else l for l, r in zip(left, right))
    return batch * a[-2] * a[-1] * b[-1]


def _gemm(attributes, a, b):
    m, k = reversed(a) if attributes.get("transA", 0) else a
    n = b[0] if attributes.get("transB", 0) else b[1]
    return m * k * n


def _fused_matmul(attributes, a, b):
    """com.microsoft's product of operands that are turned on the way in."""
    def turned(shape, last, batch):
        shape = list(shape)
        if batch:  # the first of the batch dimensions stands before the rows
            shape = [*shape[1:-1], shape[0], shape[-1]]
        return [*shape[:-2], shape[-1], shape[-2]] if last and len(shape) > 1 else shape
    return _product(turned(a, attributes.get("transA", 0), attributes.get("transBatchA", 0)),
                    turned(b, attributes.get("transB", 0), attributes.get("transBatchB", 0)))


def _einsum(attributes, shapes):
    """Operands joined from left to right; each pair costs the extents of all labels that it has."""
    equation = attributes["equation"].replace(" ", "")
    terms = equation.split("->")[0].split(",")
    wanted = equation.split("->")[1] if "->" in equation else None
    extents, labelled = {}, []
    for term, shape in zip(terms, shapes):
        dots = len(shape) - len(term.replace("...", ""))
        if "..." in term:
            term = term.replace("...", "".join(chr(ord("0") + i) for i in range(dots)))
        for label, extent in zip(term, shape):
            extents[label] = max(extent, extents.get(label, 1))
        labelled.append(set(term))
    if wanted is None:
        wanted = equation
    total, joined = 0, labelled[0]
    for index, labels in enumerate(labelled[1:], 1):
        pair = joined | labels
        total += prod(extents[label] for label in pair)
        later = set().union(*labelled[index + 1:]) | set(wanted) | {c for c in pair if c.isdigit()}
        joined = pair & later
    return total


def _recurrent(gates):
    def formula(attributes, shapes, outputs):
        x, r = shapes[0], shapes[2]
        directions, _, hidden = r
        steps, batch = (x[1], x[0]) if attributes.get("layout", 0) else (x[0], x[1])
        return directions * steps * batch * gates * hidden * (x[2] + hidden)
    return formula


def _quantized_lstm(attributes, shapes, outputs):
    """W and R are stored turned: [directions, input, 4 hidden]."""
    (steps, batch, width), hidden = shapes[0], attributes["hidden_size"]
    return shapes[2][0] * steps * batch * 4 * hidden * (width + hidden)


def _scores(batch, heads, queries, keys, width, value_width):
    return batch * heads * queries * keys * (width + value_width)


def _attention(attributes, shapes, outputs):
    """The standard operator (opset 23): 4-D operands, or 3-D ones with the number of heads."""
    q, k, v = shapes[:3]
    if len(q) == 3:
        heads, kv_heads = attributes["q_num_heads"], attributes["kv_num_heads"]
        q = [q[0], heads, q[1], q[2] // heads]
        k, v = ([s[0], kv_heads, s[1], s[2] // kv_heads] for s in (k, v))
    past = shapes[4][2] if len(shapes) > 4 and shapes[4] else 0
    return _scores(q[0], q[1], q[2], k[2] + past, q[3], v[3])


def _projected_attention(attributes, shapes, past):
    """com.microsoft: [batch, tokens, input] times [input, q + k + v], and the products of attention."""
    (batch, tokens, width), out = shapes[0], shapes[1][1]
    q, _, v = attributes.get("qkv_hidden_sizes") or [out // 3] * 3
    return batch * tokens * width * out + batch * tokens * (tokens + past) * (q + v)


def _ms_attention(attributes, shapes, outputs):
    past = shapes[4][3] if len(shapes) > 4 and shapes[4] else 0
    return _projected_attention(attributes, shapes, past)


def _q_attention(attributes, shapes, outputs):
    past = shapes[8][3] if len(shapes) > 8 and shapes[8] else 0
    return _projected_attention(attributes, shapes, past)


def _multi_head(attributes, shapes, outputs):
    """com.microsoft: packed operands are [batch, keys, heads, 2 or 3, size]."""
    heads = attributes["num_heads"]
    q, k, v = (shapes + [None] * 3)[:3]
    batch, queries = q[0], q[1]
    if k is None:  # q, k and v in one
        keys, width, value_width = q[1], q[4], q[4]
    elif v is None:  # k and v in one
        keys, width, value_width = k[1], k[4], k[4]
    else:
        width = q[2] // heads
        keys = k[1] if len(k) == 3 else k[2]
        value_width = v[2] // heads if len(v) == 3 else v[3]
    past = shapes[6][2] if len(shapes) > 6 and shapes[6] else 0
    return _scores(batch, heads, queries, keys + past, width, value_width)


def _grouped_query(attributes, shapes, outputs):
    """All keys that the present holds are looked at."""
    heads, kv_heads = attributes["num_heads"], attributes["kv_num_heads"]
    batch, queries, width = shapes[0]
    size = width // heads if len(shapes) > 1 and shapes[1] else width // (heads + 2 * kv_heads)
    return _scores(batch, heads, queries, outputs[1][2], size, size)


def _packed_weights(attributes, shapes, outputs):
    return prod(shapes[0][:-1]) * attributes["K"] * attributes["N"]


def _rows(shape):
    return shape if len(shape) > 1 else [1, *shape]


def _linear_regressor(attributes, shapes, outputs):
    rows, features = _rows(shapes[0])
    return rows * features * attributes.get("targets", 1)


def _linear_classifier(attributes, shapes, outputs):
    """As many rows of coefficients as there are intercepts; one row tells two classes apart."""
    rows, features = _rows(shapes[0])
    return rows * features * len(attributes["intercepts"])


def _svm(attributes, shapes, outputs):
    """A kernel for each support vector, then the coefficients of all pairs of classes."""
    rows, features = _rows(shapes[0])
    coefficients = len(attributes["coefficients"])
    vectors = attributes.get("n_supports") or sum(attributes.get("vectors_per_class", []))
    if not vectors:  # linear: the coefficients are the weights
        return rows * coefficients
    return rows * (vectors * features + coefficients)


FORMULAS = {
    "Conv": lambda a, s, o: _conv(a, s[0], s[1], o[0]),
    "FusedConv": lambda a, s, o: _conv(a, s[0], s[1], o[0]),
    "ConvInteger": lambda a, s, o: _conv(a, s[0], s[1], o[0]),
    "QLinearConv": lambda a, s, o: _conv(a, s[0], s[3], o[0]),
    "ConvTranspose": lambda a, s, o: _transposed(a, s[0], s[1]),
    "MatMul": lambda a, s, o: _product(s[0], s[1]),
    "MatMulInteger": lambda a, s, o: _product(s[0], s[1]),
    "MatMulIntegerToFloat": lambda a, s, o: _product(s[0], s[1]),
    "DynamicQuantizeMatMul": lambda a, s, o: _product(s[0], s[1]),
    "QLinearMatMul": lambda a, s, o: _product(s[0], s[3]),
    "FusedMatMul": lambda a, s, o: _fused_matmul(a, s[0], s[1]),
    "Gemm": lambda a, s, o: _gemm(a, s[0], s[1]),
    "FusedGemm": lambda a, s, o: _gemm(a, s[0], s[1]),
    "QGemm": lambda a, s, o: _gemm(a, s[0], s[3]),
    "Einsum": lambda a, s, o: _einsum(a, s),
    "LSTM": _recurrent(4),
    "GRU": _recurrent(3),
    "RNN": _recurrent(1),
    "DynamicQuantizeLSTM": _quantized_lstm,
    "MatMulNBits": _packed_weights,
    "MultiHeadAttention": _multi_head,
    "GroupQueryAttention": _grouped_query,
    "QAttention": _q_attention,
    "LinearRegressor": _linear_regressor,
    "LinearClassifier": _linear_classifier,
    "SVMClassifier": _svm,
    "SVMRegressor": _svm,
}


def macs(op, domain, attributes, shapes, outputs):
    """The count, or None for an operator that multiplies nothing by anything and adds."""
    if op == "Attention":
        return (_ms_attention if domain == "com.microsoft" else _attention)(attributes, shapes, outputs)
    formula = FORMULAS.get(op)
    return formula(attributes, shapes, outputs) if formula else None


def macs_possible(op):
    return op == "Attention" or op in FORMULAS
