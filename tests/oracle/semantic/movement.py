"""Operators that select and rearrange."""

import numpy as np

from semantic.draft import FLOATS, INTS, LARGEST, SMALLEST
from semantic.shape_arithmetic import ANY, signed, some_axes

EDGES = (0, 1, -1, 2, -2, 3, 4, -5, 7, -9, LARGEST, SMALLEST, LARGEST - 1, SMALLEST + 1, 2**31 - 1, -(2**31))


def slice_(g):
    name = g.pick(ANY, least=1)
    axes = some_axes(g, g.of(name).ndim, 1)
    starts, ends = ([g.rng.choice(EDGES) for _ in axes] for _ in range(2))
    if g.opset < 10:
        omit = len(axes) == g.of(name).ndim and sorted(axes) == axes
        return g.add(
            "Slice", [name], starts=starts, ends=ends, axes=g.rng.choice((axes, None)) if omit else axes
        )
    steps = [g.rng.choice((1, 1, 2, 3, -1, -1, -2, LARGEST, SMALLEST, SMALLEST + 1, -LARGEST)) for _ in axes]
    if g.rng.random() < 0.5:
        steps = [1 if s > 0 else -1 for s in steps]
    kind = g.rng.choice((np.int64, np.int64, np.int32))
    if kind is np.int32:
        starts, ends, axes, steps = (
            np.clip(v, -(2**31), 2**31 - 1).tolist() for v in (starts, ends, axes, steps)
        )
    # Going backward the specification knows no INT_MAX; ONNX Runtime takes it for the beginning.
    ends = [e if s > 0 or e not in (LARGEST, 2**31 - 1) else 1 for e, s in zip(ends, steps)]
    extra = g.rng.choice((2, 1, 0))
    if extra == 0:
        starts, ends = starts[:1], ends[:1]
    if len(starts) != len(axes):
        extra = 0
    inputs = [name] + [g.ints(v, kind) for v in (starts, ends, axes, steps)[: 2 + extra]]
    if (
        extra == 2
        and g.rng.random() < 0.1
        and len(axes) == g.of(name).ndim
        and axes == list(range(len(axes)))
    ):
        inputs[3] = ""
    return g.add("Slice", inputs)


def concat(g):
    name = g.pick(ANY, least=1)
    value = g.of(name)
    axis = g.rng.randrange(value.ndim)

    def fits(v):
        return (
            v.dtype == value.dtype
            and v.ndim == value.ndim
            and all(a == b for i, (a, b) in enumerate(zip(v.shape, value.shape)) if i != axis)
        )

    names = [name] + [g.rng.choice(g.matching(fits)) for _ in range(g.rng.randint(0, 2))]
    if g.rng.random() < 0.5:
        other = list(value.shape)
        other[axis] = g.dim()
        names.append(g.fresh(other, value.dtype))
    return g.add("Concat", names, axis=signed(g, axis, value.ndim))


def split(g):
    name = g.pick(ANY, least=1)
    value = g.of(name)
    axis = g.rng.randrange(value.ndim)
    count, total = g.rng.randint(1, 4), value.shape[axis]
    cuts = sorted(g.rng.randint(0, total) for _ in range(count - 1))
    parts = [b - a for a, b in zip([0] + cuts, cuts + [total])]
    written = g.rng.choice((None, signed(g, axis, value.ndim))) if axis == 0 else signed(g, axis, value.ndim)
    if g.rng.random() < 0.4:
        if g.opset >= 18:
            return g.add("Split", [name], count, axis=written, num_outputs=count)
        return g.add("Split", [name], count, axis=written)
    if g.opset >= 13:
        return g.add("Split", [name, g.ints(parts)], count, axis=written)
    return g.add("Split", [name], count, axis=written, split=parts)


def indices(g, shape, extent, dtype=np.int64):
    low = -extent if g.opset >= 11 else 0
    return (
        g.array(shape, dtype, low, max(extent - 1, low))
        if extent
        else np.zeros([0, *shape[1:]] if shape else [0], dtype)
    )


def gather(g):
    name = g.pick(ANY, least=1)
    value = g.of(name)
    axis = g.rng.randrange(value.ndim)
    where = g.known_array(indices(g, g.shape(most=2), value.shape[axis], g.rng.choice((np.int64, np.int32))))
    return g.add("Gather", [name, where], axis=signed(g, axis, value.ndim))


def gather_elements(g):
    name = g.pick(ANY, least=1, accept=lambda v: v.size)
    value = g.of(name)
    axis = g.rng.randrange(value.ndim)
    shape = [g.rng.randint(0, d) if i != axis else g.dim() for i, d in enumerate(value.shape)]
    where = g.known_array(indices(g, shape, value.shape[axis]))
    if g.rng.random() < 0.5:
        return g.add("GatherElements", [name, where], axis=signed(g, axis, value.ndim))
    updates = g.fresh(g.of(where).shape, value.dtype)
    return g.add(
        "ScatterElements" if g.opset >= 11 else "Scatter",
        [name, where, updates],
        axis=signed(g, axis, value.ndim),
    )


def gather_nd(g):
    name = g.pick(ANY, least=1, accept=lambda v: v.size)
    value = g.of(name)
    batch = g.rng.choice((None, 0, 1)) if g.opset >= 12 else None
    first = batch or 0
    depth = g.rng.randint(1, max(1, value.ndim - first))
    lead = list(value.shape[:first]) + g.shape(g.rng.randint(0 if first else 0, 2))
    columns = [indices(g, lead, d) for d in value.shape[first : first + depth]]
    where = np.stack(columns, -1) if columns else np.zeros([*lead, 0], np.int64)
    if g.rng.random() < 0.5 or batch:
        return g.add("GatherND", [name, g.known_array(where)], batch_dims=batch)
    updates = g.fresh(list(where.shape[:-1]) + list(value.shape[depth:]), value.dtype)
    mode = g.rng.choice(("none", "add", "mul")) if g.opset >= 16 and value.dtype != np.bool_ else None
    return g.add("ScatterND", [name, g.known_array(where), updates], reduction=mode)


def pad(g):
    name = g.pick(FLOATS if g.opset < 11 else FLOATS + INTS)
    rank = g.of(name).ndim
    mode = g.rng.choice((None, "constant", "edge", "reflect") + (("wrap",) if g.opset >= 19 else ()))
    axes = some_axes(g, rank) if g.opset >= 18 and g.rng.random() < 0.5 else None
    count = rank if axes is None else len(axes)
    pads = [g.rng.choice((0, 0, 1, 2, -1, 3)) for _ in range(2 * count)]
    if g.opset < 11:
        return g.add("Pad", [name], pads=pads, mode=mode, value=g.rng.choice((None, 1.0)))
    inputs = [name, g.ints(pads)]
    if axes is not None:
        inputs += ["", g.ints(axes, g.rng.choice((np.int64, np.int32)))]
    elif g.rng.random() < 0.4:
        inputs.append(g.weight(np.array(1, g.of(name).dtype)))
    return g.add("Pad", inputs, mode=mode)


def blocks(g):
    name = g.pick(rank=4)
    size = g.rng.choice((1, 2))
    if g.rng.random() < 0.5:
        name = g.fresh([g.dim(), g.dim(), g.dim() * size, g.dim() * size])
        return g.add("SpaceToDepth", [name], blocksize=size)
    name = g.fresh([g.dim(), g.dim() * size * size, g.dim(), g.dim()])
    return g.add(
        "DepthToSpace",
        [name],
        blocksize=size,
        mode=g.rng.choice((None, "DCR", "CRD")) if g.opset >= 11 else None,
    )


def compress(g):
    name = g.pick(ANY, least=1)
    value = g.of(name)
    axis = g.rng.choice((None, g.rng.randrange(value.ndim)))
    extent = value.size if axis is None else value.shape[axis]
    condition = g.array([g.rng.randint(0, extent)], np.bool_)
    condition = g.known_array(condition) if g.rng.random() < 0.7 else g.input(condition)
    return g.add("Compress", [name, condition], axis=None if axis is None else signed(g, axis, value.ndim))


def non_zero(g):
    # Of a scalar it is [0, N] by the specification, [1, N] by ONNX Runtime.
    return g.add("NonZero", [g.pick(INTS + (np.float32, np.bool_), least=1)])


def unique(g):
    # Unique rows of nothing end ONNX Runtime.
    name = g.pick((np.float32, np.int64), least=1, accept=lambda v: v.size)
    axis = g.rng.choice((None, g.rng.randrange(g.of(name).ndim)))
    keep = [True] + [g.rng.random() < 0.7 for _ in range(3)]
    return g.add("Unique", [name], 4, keep=keep, axis=axis, sorted=g.rng.choice((None, 0, 1)))


def top_k(g):
    name = g.pick(FLOATS[:2] + INTS if g.opset >= 11 else FLOATS[:2], least=1)
    value = g.of(name)
    axis = g.rng.randrange(value.ndim)
    k = g.rng.choice((0, 1, value.shape[axis], max(value.shape[axis] - 1, 0)))
    written = g.rng.choice((None, -1)) if axis == value.ndim - 1 else signed(g, axis, value.ndim)
    if g.opset < 10:
        return g.add("TopK", [name], 2, k=k, axis=written)
    return g.add(
        "TopK",
        [name, g.ints([k])],
        2,
        axis=written,
        largest=g.rng.choice((None, 0)) if g.opset >= 11 else None,
    )


def arg(g):
    # An extreme of nothing has no position.
    name = g.pick(
        (np.float32, np.int32) if g.opset < 13 else (np.float32, np.int64), least=1, accept=lambda v: v.size
    )
    rank = g.of(name).ndim
    return g.add(
        g.rng.choice(("ArgMax", "ArgMin")),
        [name],
        axis=g.rng.choice((None, signed(g, g.rng.randrange(rank), rank))),
        keepdims=g.rng.choice((None, 0, 1)),
        select_last_index=g.rng.choice((None, 0, 1)) if g.opset >= 12 else None,
    )


def triangle(g):
    name = g.pick((np.float32, np.int64), least=2)
    k = (
        [g.weight(np.array(g.rng.choice((0, 1, -1, 9, -9, LARGEST, SMALLEST))))]
        if g.rng.random() < 0.6
        else []
    )
    return g.add("Trilu", [name, *k], upper=g.rng.choice((None, 0, 1)))


def cumulative(g):
    name = g.pick((np.float32, np.int64, np.int32), least=1)
    rank = g.of(name).ndim
    axis = np.array(signed(g, g.rng.randrange(rank), rank), g.rng.choice((np.int64, np.int32)))
    return g.add(
        "CumSum",
        [name, g.weight(axis)],
        exclusive=g.rng.choice((None, 0, 1)),
        reverse=g.rng.choice((None, 0, 1)),
    )


BUILDERS = {
    slice_: 8,
    concat: 5,
    split: 4,
    gather: 5,
    gather_elements: 3,
    gather_nd: 3,
    pad: 5,
    blocks: 1,
    compress: 2,
    non_zero: 2,
    unique: 2,
    top_k: 3,
    arg: 3,
    triangle: 2,
    cumulative: 2,
}
