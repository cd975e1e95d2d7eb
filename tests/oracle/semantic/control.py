"""Sequences, and operators around graphs: branches, loops, scans, functions. A body is a draft of its own; what it
reads besides its inputs it captures."""

import numpy as np
from onnx import helper, numpy_helper

from semantic import elementwise, movement, neural, shape_arithmetic
from semantic.draft import LARGEST, Draft
from semantic.oracle import DOMAIN, Rejected, elem_type

SIMPLE = {
    elementwise.unary: 3,
    elementwise.binary: 3,
    neural.matmul: 4,
    neural.gemm: 2,
    neural.conv: 2,
    movement.concat: 2,
    movement.slice_: 2,
    shape_arithmetic.reshape: 2,
    shape_arithmetic.shape: 2,
    shape_arithmetic.transpose: 1,
    neural.reduction: 1,
    shape_arithmetic.reshape_like: 2,
}


def body_of(g, given, nodes):
    """A draft inside `g` with inputs `given` {name: value}; sees everything of `g`."""
    g.count += 1
    inner = Draft(g.rng, g.opset, g.oracle, f"{g.prefix}b{g.count}_")
    inner.values.update(g.values)
    inner.known |= g.known
    inner.values.update(given)
    inner.functions = g.functions
    builders = dict(SIMPLE)
    if len(g.prefix) < 6:
        builders.update({branch: 1, loop: 1})
    for _ in range(nodes):
        try:
            g.rng.choices(list(builders), builders.values())[0](inner)
        except (Rejected, ValueError, IndexError, TypeError):
            pass
    return inner


def finished(g, inner, inputs, outputs):
    """The body as a graph. What it made up as inputs becomes the outer graph's."""
    for name in inner.inputs:
        g.values[name] = inner.values[name]
        g.inputs.append(name)
    weights = [numpy_helper.from_array(inner.values[n], n) for n in inner.weights]
    return helper.make_graph(
        inner.nodes,
        f"{inner.prefix}graph",
        inputs,
        [
            helper.make_value_info(n, helper.make_tensor_type_proto(elem_type(inner.values[n].dtype), None))
            for n in outputs
        ],
        weights,
    )


def typed(name, value):
    return helper.make_value_info(name, helper.make_tensor_type_proto(elem_type(value.dtype), None))


def results(inner):
    return [
        o
        for node in inner.nodes
        for o in node.output
        if o and isinstance(inner.values[o], np.ndarray) and inner.values[o].dtype != np.object_
    ]


def branch(g):
    condition = np.array(g.rng.random() < 0.5) if g.rng.random() < 0.8 else np.array([g.rng.random() < 0.5])
    first = body_of(g, {}, g.rng.randint(1, 4))
    made = results(first)
    if not made:
        raise Rejected("an empty branch")
    out = g.rng.choice(made)
    second = body_of(g, {}, g.rng.randint(0, 2))
    alike = [n for n in results(second) if second.values[n].dtype == first.values[out].dtype]
    other = (
        g.rng.choice(alike)
        if alike
        else second.add("Identity", [second.weight(second.array(second.shape(), first.values[out].dtype))])
    )
    graphs = [finished(g, first, [], [out]), finished(g, second, [], [other])]
    g.rng.shuffle(graphs)
    return g.add("If", [g.known_array(condition)], then_branch=graphs[0], else_branch=graphs[1])


def loop(g):
    trips = g.rng.choice((0, 1, 2, 3))
    name = g.pick((np.float32, np.int64))
    value = g.of(name)
    i, go, state = (g.name() for _ in range(3))
    given = {i: np.array(0, np.int64), go: np.array(True), state: value}
    inner = body_of(g, given, g.rng.randint(1, 3))
    made = results(inner)
    same = [n for n in made if inner.values[n].dtype == value.dtype]
    carried = g.rng.choice(same) if same else inner.add("Identity", [state])
    scans = g.rng.sample(made, min(len(made), g.rng.randint(0, 1)))
    limit = None
    if g.rng.random() < 0.3:  # ends by its condition
        stop = inner.add("Less", [i, inner.weight(np.array(trips - 1, np.int64))]) if g.opset >= 9 else go
        limit = LARGEST if g.opset >= 9 and trips else None
    else:
        stop = inner.add("Identity", [go])
    if limit is None:
        limit = trips
    body = finished(g, inner, [typed(n, v) for n, v in given.items()], [stop, carried, *scans])
    return g.add("Loop", [g.known_array(np.array(limit, np.int64)), "", name], 1 + len(scans), body=body)


def scan(g):
    if g.opset < 9:
        raise Rejected("an older Scan")
    name = g.pick(least=1, accept=lambda v: v.size)
    value = g.of(name)
    axis = g.rng.randrange(value.ndim)
    row, state = g.name(), g.name()
    start = g.fresh([2], stored=0)
    given = {state: g.of(start), row: np.take(value, 0, axis)}
    inner = body_of(g, given, g.rng.randint(1, 3))
    # Empty rows divide by zero in ONNX Runtime.
    made = [n for n in results(inner) if inner.values[n].size] or [inner.add("Identity", [row])]
    out = g.rng.choice(made)
    kept = inner.add("Identity", [state])
    body = finished(g, inner, [typed(n, v) for n, v in given.items()], [kept, out])
    rank = inner.values[out].ndim + 1
    return g.add(
        "Scan",
        [start, name],
        2,
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_input_directions=g.rng.choice((None, [1])),
        scan_output_axes=g.rng.choice((None, [g.rng.randint(0, rank - 1)], [-1])),
    )


def function(g):
    """Nodes of the graph so far, written as a function that is called."""
    name = g.pick()
    inner = body_of(g, {"x": g.of(name)}, g.rng.randint(1, 3))
    made = results(inner)
    from semantic.oracle import reads  # pylint: disable=import-outside-toplevel

    if not made:
        raise Rejected("an empty function")
    outer = [
        n
        for n in dict.fromkeys(n for node in inner.nodes for n in reads(node))
        if n not in {o for node in inner.nodes for o in node.output} and n != "x"
    ]
    for n in inner.inputs:
        g.values[n] = inner.values[n]
        g.inputs.append(n)
    for n in inner.weights:
        g.values[n] = inner.values[n]
        g.weights.append(n)
        g.known.add(n)
    out = g.rng.choice(made)
    title = f"F{len(g.functions)}"
    g.functions = g.functions + [
        helper.make_function(
            DOMAIN,
            title,
            ["x", *outer],
            [out],
            inner.nodes,
            [helper.make_opsetid("", g.opset), helper.make_opsetid(DOMAIN, 1)],
        )
    ]
    return g.add(title, [name, *outer], domain=DOMAIN)


def sequence(g):
    way = g.rng.randrange(3)
    if way == 0:
        name = g.pick(least=1)
        value = g.of(name)
        axis = g.rng.randrange(value.ndim)
        extra = []
        if g.rng.random() < 0.6:
            extra = [g.known_array(np.array(g.rng.randint(1, 3)))]
        made = g.add(
            "SplitToSequence",
            [name, *extra],
            axis=axis,
            # Ignored by the specification where a split is given, obeyed by ONNX Runtime.
            keepdims=None if extra else g.rng.choice((None, 0)),
        )
    else:
        first = g.pick()
        names = [first] + [g.fresh(g.of(first).shape) for _ in range(g.rng.randint(0, 2))]
        made = g.add("SequenceConstruct", names)
        if way == 2:
            made = g.add(
                "SequenceInsert", [made, g.fresh(g.of(first).shape)] + g.rng.choice(([], [g.ints([0])][:0]))
            )
    count = len(g.of(made))
    after = g.rng.randrange(4)
    if after == 0 and count:
        return g.add("SequenceAt", [made, g.known_array(np.array(g.rng.randint(-count, count - 1)))])
    if after == 1:
        return g.add("SequenceLength", [made])
    if after == 2:
        rank = g.of(made)[0].ndim if count else 1
        stack = g.rng.choice((None, 0, 1))
        return g.add("ConcatFromSequence", [made], axis=g.rng.randrange(max(rank, 1)), new_axis=stack)
    return g.add("SequenceErase", [made])


BUILDERS = {branch: 3, loop: 4, scan: 2, function: 3, sequence: 3}
