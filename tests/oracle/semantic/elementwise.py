"""Pointwise operators: types, broadcasting, and the bounds of Clip."""

import numpy as np

from semantic.draft import FLOATS, INTS, LARGEST

UNARY_FLOAT = {
    "Abs": 6,
    "Neg": 6,
    "Relu": 6,
    "Sigmoid": 6,
    "Tanh": 6,
    "Exp": 6,
    "Log": 6,
    "Sqrt": 6,
    "Floor": 6,
    "Ceil": 6,
    "Reciprocal": 6,
    "Elu": 6,
    "Selu": 6,
    "LeakyRelu": 6,
    "HardSigmoid": 6,
    "Softplus": 1,
    "Softsign": 1,
    "ThresholdedRelu": 10,
    "Sign": 9,
    "Erf": 9,
    "Round": 11,
    "Celu": 12,
    "HardSwish": 14,
    "Mish": 18,
    "Gelu": 20,
    "Sin": 7,
    "Cos": 7,
    "Tan": 7,
    "Asin": 7,
    "Atan": 7,
    "Sinh": 9,
    "Acosh": 9,
    "Identity": 1,
    "Dropout": 7,
    "IsNaN": 9,
    "IsInf": 10,
}
UNARY_INT = {"Abs": 6, "Neg": 6, "Sign": 9, "Identity": 1, "Relu": 14}
BINARY = ("Add", "Sub", "Mul", "Div", "Min", "Max", "Sum", "Pow", "Mean")
BINARY_SINCE = {"Min": 12, "Max": 12, "Pow": 12}  # for integers
COMPARE = {"Greater": 9, "Less": 9, "Equal": 7, "GreaterOrEqual": 12, "LessOrEqual": 12}
CASTS = (np.float32, np.float64, np.float16, np.int64, np.int32, np.uint8, np.int8, np.bool_, np.uint32)


def unary(g):
    if g.rng.random() < 0.3:
        name = g.pick(INTS)
        ops = UNARY_INT
    else:
        name = g.pick(FLOATS)
        ops = UNARY_FLOAT
    op = g.rng.choice([o for o, since in ops.items() if since <= g.opset])
    return g.add(op, [name])


def broadcast_to(g, shape):
    """A shape that broadcasts with another."""
    other = [d if g.rng.random() < 0.6 else 1 for d in shape]
    other = [g.dim() if d == 1 and g.rng.random() < 0.3 else d for d in other]
    if other and g.rng.random() < 0.4:
        other = other[g.rng.randrange(len(other) + 1) :]
    return g.shape(g.rng.randint(1, 2)) + other if g.rng.random() < 0.15 else other


def partner(g, name):
    """A tensor that broadcasts with `name`, of its type."""
    value = g.of(name)

    def fits(v):
        try:
            return np.broadcast_shapes(v.shape, value.shape) is not None
        except ValueError:
            return False

    if g.rng.random() < 0.6:
        return (
            g.pick([value.dtype.type], accept=fits)
            if g.matching(lambda v: v.dtype == value.dtype and fits(v))
            else name
        )
    return g.fresh(broadcast_to(g, value.shape), value.dtype)


def binary(g):
    integer = g.rng.random() < 0.5
    op = g.rng.choice(BINARY)
    name = g.pick(INTS if integer and BINARY_SINCE.get(op, 7) <= g.opset else FLOATS)
    names = [name, partner(g, name)]
    if op in ("Sum", "Mean", "Min", "Max") and g.rng.random() < 0.3:
        names.append(partner(g, g.rng.choice(names)))
    g.rng.shuffle(names)
    if op in ("Div", "Pow") and integer:
        divisor = g.array(g.of(names[1]).shape, g.of(names[1]).dtype, 1, 3)
        names[1] = g.known_array(divisor)
    return g.add(op, names)


def modulo(g):
    name = g.pick(INTS)
    divisor = g.array(broadcast_to(g, g.of(name).shape), g.of(name).dtype, 1, 3) * g.rng.choice((1, -1))
    return g.add(
        "Mod", [name, g.known_array(np.asarray(divisor, g.of(name).dtype))], fmod=g.rng.choice((0, 1, None))
    )


def compare(g):
    op = g.rng.choice([o for o, since in COMPARE.items() if since <= g.opset])
    name = g.pick(INTS + FLOATS)
    return g.add(op, [name, partner(g, name)])


def logic(g):
    op = g.rng.choice(("And", "Or", "Xor", "Not"))
    name = g.pick((np.bool_,))
    return g.add(op, [name] if op == "Not" else [name, partner(g, name)])


def where(g):
    condition, name = g.pick((np.bool_,)), g.pick(INTS + FLOATS)
    other = partner(g, name)
    if g.rng.random() < 0.7:
        shape = broadcast_to(g, np.broadcast_shapes(g.of(name).shape, g.of(other).shape))
        condition = g.fresh(shape, np.bool_)
    return g.add("Where", [condition, name, other])


def cast(g):
    from onnx import helper  # pylint: disable=import-outside-toplevel

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(g.rng.choice(CASTS)))
    return g.add("Cast", [g.pick(INTS + FLOATS + (np.bool_,))], to=kind)


def clip(g):
    name = g.pick(FLOATS if g.opset < 12 else FLOATS + INTS)
    if g.opset < 11:
        return g.add("Clip", [name], min=-1.0, max=g.rng.choice((1.0, None)))
    dtype = g.of(name).dtype
    bounds = [g.weight(np.array(v, dtype)) for v in (-1, 2)]
    if dtype == np.int64 and g.rng.random() < 0.3:
        bounds[1] = g.weight(np.array(LARGEST, dtype))
    return g.add("Clip", [name, *g.rng.choice((bounds, ["", bounds[1]], bounds[:1], []))])


def prelu(g):
    name = g.pick(least=1)
    shape = [d if g.rng.random() < 0.6 else 1 for d in g.of(name).shape]
    return g.add("PRelu", [name, g.fresh(shape[g.rng.randrange(len(shape)) :], np.float32)])


def shift(g):
    name = g.fresh(dtype=np.uint32, low=0)
    return g.add("BitShift", [name, partner(g, name)], direction=g.rng.choice(("LEFT", "RIGHT")))


BUILDERS = {
    unary: 6,
    binary: 8,
    modulo: 1,
    compare: 2,
    logic: 2,
    where: 3,
    cast: 3,
    clip: 2,
    prelu: 1,
    shift: 1,
}
