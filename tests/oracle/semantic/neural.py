"""Products, windows, reductions, normalizations and resizing."""

import numpy as np

from semantic.draft import FLOATS, INTS
from semantic.elementwise import broadcast_to
from semantic.shape_arithmetic import signed, some_axes

REDUCE = (
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSum",
    "ReduceLogSumExp",
)


def matmul(g):
    dtype = g.rng.choice(FLOATS[:4] + (np.int32,)) if g.opset >= 9 else np.float32
    name = g.pick((dtype,), least=1)
    shape = list(g.of(name).shape)
    k = shape[-1]
    other = g.rng.choice(([k], [k, g.dim()], broadcast_to(g, shape[:-2]) + [k, g.dim()]))
    names = [name, g.fresh(other, dtype)]
    if g.rng.random() < 0.2:
        names = [
            g.fresh([*broadcast_to(g, shape[:-2]), g.dim(), shape[-2]] if len(shape) > 1 else [k], dtype),
            name,
        ]
    return g.add("MatMul", names)


def gemm(g):
    name = g.pick(FLOATS[:4], rank=2)
    dtype = g.of(name).dtype
    flip_a, flip_b = g.rng.choice((None, 0, 1)), g.rng.choice((None, 0, 1, -1))
    m, k = g.of(name).shape[::-1] if flip_a else g.of(name).shape
    n = g.dim()
    names = [name, g.fresh([n, k] if flip_b else [k, n], dtype)]
    if g.opset < 11 or g.rng.random() < 0.7:
        names.append(g.fresh(g.rng.choice(([m, n], [n], [1, n], [m, 1], [], [1])), dtype))
    return g.add(
        "Gemm",
        names,
        transA=flip_a,
        transB=flip_b,
        alpha=g.rng.choice((None, 0.5)),
        beta=g.rng.choice((None, 0.0)),
    )


def window(g, spatial, kernel, ceil=False):
    """Attributes of a sliding window."""
    rank = len(spatial)
    attributes = {"strides": g.rng.choice((None, [g.rng.randint(1, 3) for _ in range(rank)]))}
    way = g.rng.choice(("pads", "pads", "auto", None))
    if way == "auto":
        attributes["auto_pad"] = g.rng.choice(("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"))
    elif way == "pads":
        attributes["pads"] = [g.rng.randint(0, max(k - 1, 0)) for k in kernel * 2]
    if g.rng.random() < 0.3 and attributes.get("auto_pad") in (None, "NOTSET", "VALID"):
        attributes["dilations"] = [g.rng.randint(1, 2) for _ in range(rank)]
    if ceil:
        attributes["ceil_mode"] = g.rng.choice((None, 0, 1, 1))
    return attributes


def image(g, rank=None, accept=lambda v: True):
    """A batch of images, often one that the graph has."""
    return g.pick(rank=2 + (rank or g.rng.choice((1, 2, 2, 3))), accept=accept)


def conv(g):
    # ONNX Runtime does not come back from a convolution over no channels.
    name = image(g, accept=lambda v: v.shape[1])
    n, channels, *spatial = g.of(name).shape
    del n
    groups = g.rng.choice([d for d in range(1, channels + 1) if channels % d == 0] or [1])
    kernel = [g.rng.randint(1, 3) for _ in spatial]
    out = groups * g.rng.randint(1, 3)
    attributes = window(g, spatial, kernel)
    written = {
        "group": g.rng.choice((None, 1)) if groups == 1 else groups,
        "kernel_shape": g.rng.choice((None, kernel)),
    }
    bias = [g.fresh([out])] if g.rng.random() < 0.4 else []
    if g.rng.random() < 0.35:
        per = out // groups
        if "SAME" in attributes.get("auto_pad", ""):
            attributes["strides"] = [1] * len(
                spatial
            )  # filters shorter than strides: ONNX Runtime pads nothing
        if g.rng.random() < 0.3:
            attributes["output_padding"] = [g.rng.randint(0, 1) for _ in spatial]
        if g.rng.random() < 0.2:
            attributes.pop("pads", None)
            # Never more than there is to crop: ONNX Runtime does not come back from a negative total padding.
            steps, holes = (attributes.get(a) or [1] * len(spatial) for a in ("strides", "dilations"))
            attributes["output_shape"] = [
                (d - 1) * s + (k - 1) * h + 1 - g.rng.randint(0, k - 1)
                for d, k, s, h in zip(spatial, kernel, steps, holes)
            ]
        return g.add(
            "ConvTranspose", [name, g.fresh([channels, per, *kernel]), *bias], **attributes, **written
        )
    return g.add("Conv", [name, g.fresh([out, channels // groups, *kernel]), *bias], **attributes, **written)


def integer_product(g):
    kind_a, kind_b = g.rng.choice((np.uint8, np.int8)), g.rng.choice((np.uint8, np.int8))
    m, k, n = g.dim(), g.dim(), g.dim()
    way = g.rng.randrange(4)
    if way == 0:
        return g.add("MatMulInteger", [g.fresh(g.shape(most=2) + [m, k], kind_a), g.fresh([k, n], kind_b)])
    scale = g.weight(np.array(0.5, np.float32))
    zeros = [g.weight(np.array(0, kind)) for kind in (kind_a, kind_b)]
    if way == 1:
        return g.add(
            "QLinearMatMul",
            [
                g.fresh([m, k], kind_a),
                scale,
                zeros[0],
                g.fresh([k, n], kind_b),
                scale,
                zeros[1],
                scale,
                zeros[0],
            ],
        )
    x, w = g.fresh([m, k, 5, 4], np.uint8), g.fresh([n, k, 3, 2], kind_b)
    attributes = window(g, [5, 4], [3, 2])
    if way == 2:
        return g.add(
            "ConvInteger", [g.fresh([m, k, 5, 4], np.uint8), g.fresh([n, k, 3, 2], np.uint8)], **attributes
        )
    zero = g.weight(np.array(0, np.uint8))
    return g.add("QLinearConv", [x, scale, zero, w, scale, zeros[1], scale, zero], **attributes)


def einsum(g):
    equation, *shapes = g.rng.choice(
        (
            ("ij,jk->ik", "ij", "jk"),
            ("ij,jk", "ij", "jk"),
            ("bij,bjk->bik", "bij", "bjk"),
            ("...ij,...jk->...ik", "aij", "ajk"),
            ("ii->i", "ii"),
            ("ij->ji", "ij"),
            ("ij->", "ij"),
            ("...i->...", "abi"),
            ("bhqd,bhkd->bhqk", "bhqd", "bhkd"),
            ("i,j->ij", "i", "j"),
            ("ij,ij->", "ij", "ij"),
            (" i j , j k -> k i", "ij", "jk"),
            ("ij,kj->ik", "ij", "kj"),
            ("ba", "ba"),
            ("...->...", "ab"),
            ("a...,...b->ab...", "ac", "cb"),
            ("ijk,il,jm->klm", "ijk", "il", "jm"),
        )
    )
    sizes = {letter: g.rng.randint(1, 4) for letter in "abcdefhijklmqd"}
    return g.add("Einsum", [g.fresh([sizes[c] for c in s]) for s in shapes], equation=equation)


def recurrent(g):
    op, gates = g.rng.choice((("RNN", 1), ("GRU", 3), ("LSTM", 4)))
    steps, batch, inputs, hidden = (g.rng.randint(1, 3) for _ in range(4))
    direction = g.rng.choice(("forward", "reverse", "bidirectional"))
    directions = 2 if direction == "bidirectional" else 1
    layout = g.rng.choice((None, 0)) if g.opset >= 14 else None
    x = g.fresh([batch, steps, inputs] if layout else [steps, batch, inputs], stored=0)
    names = [x, g.fresh([directions, gates * hidden, inputs]), g.fresh([directions, gates * hidden, hidden])]
    if g.rng.random() < 0.5:
        names.append(g.fresh([directions, 2 * gates * hidden]))
    count = 3 if op == "LSTM" else 2
    keep = [g.rng.random() < 0.7 for _ in range(count)]
    keep[0] |= not any(keep)
    return g.add(
        op,
        names,
        count,
        keep=keep,
        hidden_size=hidden,
        direction=(
            g.rng.choice((None, direction)) if directions == 1 and direction == "forward" else direction
        ),
        layout=layout,
        linear_before_reset=g.rng.choice((None, 1)) if op == "GRU" else None,
    )


def pool(g):
    name = image(g)
    spatial = g.of(name).shape[2:]
    kernel = [g.rng.randint(1, 3) for _ in spatial]
    op = g.rng.choice(("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"))
    ceil = op == "MaxPool" and g.opset >= 10 or op == "AveragePool" and g.opset >= 10 or g.opset >= 18
    attributes = window(g, spatial, kernel, ceil)
    if attributes.get("auto_pad") in (None, "NOTSET", "VALID"):
        # Where a window is larger than the padded axis, ONNX Runtime divides towards zero and pools garbage.
        pads = (
            attributes.get("pads", [0] * 2 * len(spatial))
            if "auto_pad" not in attributes
            else [0] * 2 * len(spatial)
        )
        holes = attributes.get("dilations") or [1] * len(spatial)
        if any(
            (k - 1) * h + 1 > d + pads[i] + pads[i + len(spatial)]
            for i, (k, h, d) in enumerate(zip(kernel, holes, spatial))
        ):
            raise ValueError("the window does not fit")
    if (
        op == "MaxPool"
        and g.opset < 10
        or op == "AveragePool"
        and g.opset < 19
        or op == "LpPool"
        and g.opset < 18
    ):
        attributes.pop("dilations", None)
    if op == "AveragePool":
        attributes["count_include_pad"] = g.rng.choice((None, 0, 1))
    outputs = 2 if op == "MaxPool" and g.opset >= 8 and g.rng.random() < 0.4 else 1
    return g.add(op, [name], outputs, kernel_shape=kernel, **attributes)


def global_pool(g):
    return g.add(g.rng.choice(("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")), [image(g)])


def reduction(g):
    op = g.rng.choice(REDUCE)
    # Reducing nothing, ONNX Runtime keeps an empty axis that keepdims makes 1.
    name = g.pick((np.float32, np.float32, np.float64, np.int32, np.int64), accept=lambda v: v.size)
    rank = g.of(name).ndim
    axes = g.rng.choice((None, some_axes(g, rank), some_axes(g, rank, 1), []))
    keep = g.rng.choice((None, 0, 1))
    if g.opset >= (13 if op == "ReduceSum" else 18):
        extra = [] if axes is None else [g.ints(axes)]
        return g.add(op, [name, *extra], keepdims=keep, noop_with_empty_axes=g.rng.choice((None, 0, 1)))
    return g.add(op, [name], axes=axes or None, keepdims=keep)


def softmax(g):
    name = g.pick(FLOATS, least=1)
    rank = g.of(name).ndim
    return g.add(
        g.rng.choice(("Softmax", "LogSoftmax", "Hardmax")),
        [name],
        axis=g.rng.choice((None, signed(g, g.rng.randrange(rank), rank))),
    )


def normalization(g):
    name = g.pick(least=2)
    value = g.of(name)
    channels = value.shape[1]
    vector = [g.fresh([channels], low=1) for _ in range(4)]
    way = g.rng.randrange(5)
    if way == 0:
        return g.add("BatchNormalization", [name, *vector])
    if way == 1:
        return g.add("InstanceNormalization", [name, *vector[:2]])
    if way == 2:
        axis = g.rng.randrange(value.ndim)
        shape = list(value.shape[axis:])
        keep = [True, g.rng.random() < 0.5, g.rng.random() < 0.5]
        return g.add(
            "LayerNormalization",
            [name, g.fresh(shape), g.fresh(shape)],
            3,
            keep=keep,
            axis=signed(g, axis, value.ndim),
        )
    if way == 3:
        return g.add("LRN", [name], size=g.rng.choice((1, 3, 5)))
    if value.ndim == 4 and g.opset >= 9:  # the axes that it takes by default are those of images
        return g.add("MeanVarianceNormalization", [name])
    return g.add("LpNormalization", [name])


def resize(g):
    name = g.pick((np.float32,), least=1, accept=lambda v: v.ndim < 5)
    value = g.of(name)
    mode = g.rng.choice((None, "nearest", "linear", "cubic"))
    if g.opset < 11:
        scales = g.weight(np.array([g.rng.choice((1, 1.5, 2, 2.7)) for _ in value.shape], np.float32))
        return g.add(
            "Resize" if g.opset == 10 else "Upsample", [name, scales], mode=None if mode == "cubic" else mode
        )
    coordinate = g.rng.choice(
        (None, "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_crop_and_resize")
    )
    axes = some_axes(g, value.ndim, 1) if g.opset >= 18 and g.rng.random() < 0.4 else None
    dims = value.shape if axes is None else [value.shape[a] for a in axes]
    roi = (
        [g.weight(np.array([0.2] * len(dims) + [0.7] * len(dims), np.float32))]
        if coordinate == "tf_crop_and_resize"
        else [""]
    )
    attributes = {
        "mode": mode,
        "coordinate_transformation_mode": coordinate,
        "axes": axes,
        "nearest_mode": g.rng.choice((None, "floor", "ceil", "round_prefer_ceil")),
    }
    if g.opset >= 18:
        attributes["antialias"] = g.rng.choice((None, 0, 1))
    if g.opset < 13 and not roi[0]:
        roi = [g.weight(np.zeros(0, np.float32))]
    # With a region, scales are those of the region; ONNX Runtime scales the whole axis.
    if g.rng.random() < 0.5 and coordinate != "tf_crop_and_resize":
        scales = [g.rng.choice((1, 1, 0.5, 0.6, 1.5, 2, 2.7, 1 / 3, 0.1)) for _ in dims]
        return g.add("Resize", [name, *roi, g.weight(np.array(scales, np.float32))], **attributes)
    sizes = g.ints([g.rng.randint(1, 5) for _ in dims])
    if g.opset >= 18 and axes is None:  # ONNX Runtime keeps the ratio over all axes, not over the given ones
        attributes["keep_aspect_ratio_policy"] = g.rng.choice((None, "stretch", "not_larger", "not_smaller"))
    empty = g.weight(np.zeros(0, np.float32)) if g.opset < 13 else ""
    return g.add("Resize", [name, *roi, empty, sizes], **attributes)


def quantize(g):
    name = g.pick()
    scale, zero = g.weight(np.array(0.5, np.float32)), g.weight(np.array(3, np.uint8))
    if g.rng.random() < 0.3:
        return g.add("DynamicQuantizeLinear", [name], 3)
    quantized = g.add("QuantizeLinear", [name, scale, *g.rng.choice(([], [zero]))])
    return g.add("DequantizeLinear", [quantized, scale, *([zero] if g.rng.random() < 0.5 and True else [])])


def crop_or_pad(g):
    name = g.pick(FLOATS[:2] + INTS[:1])
    rank = g.of(name).ndim
    axes = g.rng.choice((None, some_axes(g, rank)))
    return g.add(
        "CenterCropPad", [name, g.ints([g.dim() for _ in (range(rank) if axes is None else axes)])], axes=axes
    )


def grid_sample(g):
    name = image(g, 2)
    n = g.of(name).shape[0]
    return g.add(
        "GridSample", [name, g.fresh([n, g.dim(), g.dim(), 2])], align_corners=g.rng.choice((None, 1))
    )


BUILDERS = {
    matmul: 5,
    gemm: 4,
    conv: 7,
    integer_product: 3,
    einsum: 3,
    recurrent: 2,
    pool: 6,
    global_pool: 1,
    reduction: 6,
    softmax: 2,
    normalization: 3,
    resize: 4,
    quantize: 2,
    crop_or_pad: 1,
    grid_sample: 1,
}
