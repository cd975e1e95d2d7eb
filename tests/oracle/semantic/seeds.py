"""The node tests of the onnx package as building blocks: a real node of every operator, with its attributes and inputs
moved to their edges. The oracle says which of these are still valid."""

import functools

import numpy as np
from onnx import AttributeProto, NodeProto

from semantic.draft import LARGEST, SMALLEST

EDGES = (0, 1, -1, 2, -2, 3, 5, LARGEST, SMALLEST, 2**31)
# Switches: the specification says what 0 and 1 mean, and nothing of other numbers.
SWITCHES = {
    "keepdims",
    "exclusive",
    "reverse",
    "upper",
    "allowzero",
    "noop_with_empty_axes",
    "transA",
    "transB",
    "sorted",
    "largest",
    "select_last_index",
    "fmod",
    "ceil_mode",
    "count_include_pad",
    "storage_order",
    "is_causal",
    "align_corners",
    "antialias",
    "linear_before_reset",
    "layout",
    "onesided",
    "inverse",
    "interleaved",
    "training_mode",
    "detect_positive",
    "detect_negative",
    "exclude_outside",
    "unidirectional",
    "is_case_sensitive",
    "saturate",
    "periodic",
    "new_axis",
}
MOST = 2000  # elements of an input
# Operators that differ from run to run, that have graphs, or whose outputs are no tensors.
SKIPPED = {
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Bernoulli",
    "Multinomial",
    "If",
    "Loop",
    "Scan",
    "SequenceMap",
    "Optional",
    "OptionalHasElement",
    "OptionalGetElement",
    "ImageDecoder",
}


@functools.cache
def seeds():
    """[(node, opset, [array or None per input])], one per operator and set of attributes."""
    import node_cases  # pylint: disable=import-outside-toplevel

    found, seen = [], set()
    for case in node_cases.generated():
        graph = case.model.graph
        if len(graph.node) != 1 or case.model.functions or graph.initializer:
            continue
        node = graph.node[0]
        if node.op_type in SKIPPED or node.domain not in ("", "ai.onnx.ml"):
            continue
        values = [case.inputs.get(n) if n else None for n in node.input]
        if any(n and v is None for n, v in zip(node.input, values)) or any(
            v is not None and np.asarray(v).size > MOST for v in values
        ):
            continue
        opset = next(i.version for i in case.model.opset_import if i.domain in ("", "ai.onnx", "ai.onnx.ml"))
        key = (node.op_type, tuple(sorted(a.SerializeToString() for a in node.attribute)), len(node.input))
        if key not in seen:
            seen.add(key)
            found.append((node, opset, [None if v is None else np.asarray(v) for v in values]))
    return sorted(found, key=lambda seed: seed[0].op_type)


@functools.cache
def by_operator():
    groups = {}
    for seed in seeds():
        groups.setdefault(seed[0].op_type, []).append(seed)
    return list(groups.values())


def moved(g, number):
    way = g.rng.random()
    return g.rng.choice(EDGES) if way < 0.4 else number + g.rng.choice((-1, 1)) if way < 0.8 else -number


def mutate_attribute(g, node):
    """Moves one integer of an attribute, or drops an attribute."""
    attribute = g.rng.choice(node.attribute)
    if attribute.name in SWITCHES:
        attribute.i = 1 - min(1, max(0, attribute.i))
    elif attribute.type == AttributeProto.INT:
        attribute.i = max(SMALLEST, min(LARGEST, moved(g, attribute.i)))
    elif attribute.type == AttributeProto.INTS and attribute.ints:
        at = g.rng.randrange(len(attribute.ints))
        attribute.ints[at] = max(SMALLEST, min(LARGEST, moved(g, attribute.ints[at])))
    else:
        del node.attribute[list(node.attribute).index(attribute)]


def mutate_input(g, values):
    """Another extent along one axis, or another number among few."""
    at = g.rng.choice([i for i, v in enumerate(values) if v is not None])
    value = values[at]
    if value.dtype.kind == "i" and value.ndim <= 1 and value.size and g.rng.random() < 0.7:
        value = value.copy().reshape(-1)
        info = np.iinfo(value.dtype)
        i = g.rng.randrange(value.size)
        value[i] = max(info.min, min(info.max, moved(g, int(value[i]))))
        values[at] = value.reshape(values[at].shape)
    elif value.ndim:
        axis = g.rng.randrange(value.ndim)
        extent = g.rng.choice((0, 1, 1, 2, 3, value.shape[axis] + 1))
        shape = value.shape
        # The same change wherever the same extent stands, so that operands keep fitting.
        for i, other in enumerate(values):
            if other is not None and other.ndim:
                for a, d in enumerate(other.shape):
                    if d == shape[axis] and (i == at or g.rng.random() < 0.7) and d:
                        values[i] = other = np.take(other, np.arange(extent) % d, a)


def seeded(g):
    original, opset, values = g.rng.choice(g.rng.choice(by_operator()))
    if not g.nodes and g.rng.random() < 0.7:
        g.opset = max(g.opset, opset)
    node = NodeProto()
    node.CopyFrom(original)
    values = list(values)
    for _ in range(g.rng.randint(0, 2)):
        if node.attribute and g.rng.random() < 0.5:
            mutate_attribute(g, node)
        elif any(v is not None for v in values):
            mutate_input(g, values)
    names = []
    for value in values:
        if value is None:
            names.append("")
            continue
        small = value.ndim <= 1 and value.size <= 64 or g.rng.random() < 0.2
        found = g.matching(lambda v, like=value: v.dtype == like.dtype and v.shape == like.shape)
        if found and not small and value.dtype.kind == "f" and g.rng.random() < 0.5:
            names.append(g.rng.choice(found))
        else:
            names.append(g.weight(value) if small else g.input(value))
    del node.input[:]
    node.input.extend(names)
    outputs = [g.name() if o else "" for o in node.output]
    del node.output[:]
    node.output.extend(outputs)
    node.name = f"{g.prefix}n{g.count}"
    return g.place(node)


BUILDERS = {seeded: 30}
