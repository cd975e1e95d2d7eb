"""Operators whose integer inputs and attributes decide the shape of the result."""

import numpy as np
from onnx import helper, numpy_helper

from semantic.draft import FLOATS, INTS, LARGEST, SMALLEST

ANY = FLOATS + INTS + (np.bool_,)


def signed(g, axis, rank):
    """An axis as it may be written: from the front or from behind."""
    return axis - rank if g.rng.random() < 0.4 and g.opset >= 11 else axis


def some_axes(g, rank, least=0):
    axes = g.rng.sample(range(rank), g.rng.randint(min(least, rank), rank))
    return [signed(g, a, rank) for a in axes]


def shape(g):
    limits = {}
    if g.opset >= 15 and g.rng.random() < 0.5:
        for key in ("start", "end"):
            limits[key] = g.rng.choice((None, 0, 1, -1, -2, 3, LARGEST, SMALLEST, 5, -7))
    return g.add("Shape", [g.pick(ANY)], **limits)


def size(g):
    return g.add("Size", [g.pick(ANY)])


def factors(g, total):
    """Sizes whose product is `total`."""
    sizes = []
    for _ in range(g.rng.randint(0, 3)):
        options = [d for d in range(1, total + 1) if total % d == 0] if total else [0, 1, 2]
        sizes.append(g.rng.choice(options))
        total = total // sizes[-1] if sizes[-1] else 0
    sizes.append(total)
    g.rng.shuffle(sizes)
    return sizes


def reshape(g):
    name = g.pick(ANY)
    old = g.of(name).shape
    new = factors(g, int(np.prod(old)))
    allow_zero = g.rng.choice((None, 0, 1)) if g.opset >= 14 else None
    if g.rng.random() < 0.5 and new:
        new[g.rng.randrange(len(new))] = -1
    if g.rng.random() < 0.3:
        new = [0 if i < len(old) and d == old[i] else d for i, d in enumerate(new)]
    if g.rng.random() < 0.1:
        new = g.rng.choice(([-1], [], list(old), [0, -1], [0] * len(old), [1, -1]))
    return g.add("Reshape", [name, g.ints(new)], allowzero=allow_zero)


def reshape_like(g):
    """Shape(a)[:k] joined with -1 or numbers, as exporters flatten and split heads."""
    name = g.pick(ANY, least=1)
    dims = g.add("Shape", [name])
    head = g.add("Gather", [dims, g.weight(np.array(g.rng.randrange(g.of(name).ndim)))], axis=0)
    if g.opset >= 13:
        head = g.add("Unsqueeze", [head, g.ints([0])])
    else:
        head = g.add("Unsqueeze", [head], axes=[0])
    if g.rng.random() < 0.3:
        head = g.add(g.rng.choice(("Mul", "Add", "Div")), [head, g.ints([g.rng.randint(1, 2)])])
    target = g.add("Concat", [head, g.ints(g.rng.choice(([-1], [1, -1], [-1, 1], [2, -1])))], axis=0)
    return g.add("Reshape", [name, target])


def flatten(g):
    name = g.pick(ANY)
    rank = g.of(name).ndim
    return g.add("Flatten", [name], axis=g.rng.choice((None, signed(g, g.rng.randint(0, rank), rank or 1))))


def squeeze(g):
    name = g.pick(ANY)
    value = g.of(name)
    ones = [signed(g, i, value.ndim) for i, d in enumerate(value.shape) if d == 1]
    # An empty list drops no axis by the specification, and all by ONNX Runtime.
    axes = g.rng.choice((None, g.rng.sample(ones, g.rng.randint(1, len(ones))))) if ones else None
    if g.opset >= 13:
        return g.add("Squeeze", [name] + ([] if axes is None else [g.ints(axes)]))
    return g.add("Squeeze", [name], axes=axes)


def unsqueeze(g):
    name = g.pick(ANY, accept=lambda v: v.ndim < 5)
    count = g.rng.randint(1, 2)
    axes = some_axes(g, g.of(name).ndim + count, count)[:count]
    if g.opset >= 13:
        return g.add("Unsqueeze", [name, g.ints(axes)])
    return g.add("Unsqueeze", [name], axes=axes)


def transpose(g):
    name = g.pick(ANY)
    perm = list(range(g.of(name).ndim))
    g.rng.shuffle(perm)
    return g.add("Transpose", [name], perm=g.rng.choice((None, perm)))


def expand(g):
    name = g.pick(ANY)
    shape_ = list(g.of(name).shape)
    new = [g.dim() if d == 1 and g.rng.random() < 0.5 else g.rng.choice((d, 1)) for d in shape_]
    new = g.shape(1) + new if g.rng.random() < 0.3 else new[g.rng.randint(0, len(new)) :]
    return g.add("Expand", [name, g.ints(new)])


def constant_of_shape(g):
    value = g.rng.choice((None, np.array([2], np.int64), np.array([1.5], np.float32), np.array([True])))
    sizes = g.rng.choice((g.shape(), [], [0], [1]))
    return g.add(
        "ConstantOfShape", [g.ints(sizes)], value=None if value is None else numpy_helper.from_array(value)
    )


def arange(g):
    kind = g.rng.choice((np.int64, np.int64, np.int32, np.float32))
    start, limit = g.rng.randint(-3, 6), g.rng.randint(-3, 9)
    delta = g.rng.choice((1, 1, 2, 3, -1, -2, 0.3 if kind is np.float32 else 1))
    if kind is np.int64 and g.rng.random() < 0.1:
        start, limit, delta = g.rng.choice(
            (
                (0, SMALLEST, SMALLEST),
                (0, 5, LARGEST),
                (5, 5, LARGEST),
                (LARGEST, SMALLEST, 1),
                (3, LARGEST, 2**62),
            )
        )
    return g.add("Range", [g.known_array(np.array(v, kind)) for v in (start, limit, delta)])


def eye_like(g):
    kind = g.rng.choice((None, helper.np_dtype_to_tensor_dtype(np.dtype(np.int64))))
    return g.add(
        "EyeLike", [g.pick(INTS + FLOATS, rank=2)], k=g.rng.choice((None, 0, 1, -1, 7, -7)), dtype=kind
    )


def one_hot(g):
    depth = g.rng.choice((0, 1, 2, 3))
    rank = (indices := g.of(name := g.pick(INTS))).ndim + 1
    del indices
    depth_array = g.rng.choice((np.array(depth), np.array([depth])))
    values = g.weight(np.array([0, 1], g.rng.choice((np.float32, np.int64))))
    return g.add(
        "OneHot",
        [name, g.known_array(depth_array), values],
        axis=g.rng.choice((None, -1, 0, g.rng.randrange(rank))),
    )


def tile(g):
    name = g.pick(ANY)
    repeats = [g.rng.choice((0, 1, 1, 2, 3)) for _ in g.of(name).shape]
    return g.add("Tile", [name, g.ints(repeats)])


def constant(g):
    way = g.rng.randrange(4) if g.opset >= 12 else 0
    if way == 0:
        return g.add("Constant", [], value=numpy_helper.from_array(g.array(g.shape(), g.rng.choice(ANY))))
    return g.add(
        "Constant", [], **({"value_int": g.dim()}, {"value_ints": g.shape(2)}, {"value_float": 0.5})[way - 1]
    )


BUILDERS = {
    shape: 5,
    size: 2,
    reshape: 6,
    reshape_like: 5,
    flatten: 2,
    squeeze: 3,
    unsqueeze: 3,
    transpose: 3,
    expand: 4,
    constant_of_shape: 3,
    arange: 4,
    eye_like: 1,
    one_hot: 2,
    tile: 3,
    constant: 1,
}
