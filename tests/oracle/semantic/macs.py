"""Multiply-accumulates from true shapes, counted without dlcost. Graphs inside nodes are run node by node, each trip
with the shapes of that trip."""

import numpy as np
from onnx import numpy_helper

from semantic.oracle import DOMAIN, SHAPE_ONLY, Sequence, reads


def _matmul(a, b):
    if a.ndim == 1 and b.ndim == 1:
        return a.size
    if a.ndim == 1:
        return b.size
    if b.ndim == 1:
        return a.size
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return int(np.prod(batch, dtype=np.int64)) * a.shape[-2] * a.shape[-1] * b.shape[-1]


def _conv(x, w, y):
    del x
    return y.size * int(np.prod(w.shape[1:], dtype=np.int64))


def _recurrent(x, w, r, layout):
    steps, batch = (x.shape[1], x.shape[0]) if layout else x.shape[:2]
    return steps * batch * (w.size + r.size)


def _einsum(equation, operands):
    """Loop over every index for two operands; one operand multiplies nothing."""
    if len(operands) != 2:
        return None if len(operands) > 2 else 0
    left, arrow, out = equation.replace(" ", "").partition("->")
    letters = left.replace(".", "").replace(",", "")
    kept = out if arrow else [c for c in letters if letters.count(c) == 1]
    if all(c in kept for c in letters):
        return 0  # multiplies and sums nothing
    left = left.split(",")
    sizes, broadcast = {}, [()]
    for term, value in zip(left, operands):
        if "..." in term:
            before, after = term.split("...")
            extra = value.ndim - len(before) - len(after)
            broadcast.append(value.shape[len(before) : len(before) + extra])
            letters = list(zip(before, value.shape)) + list(zip(after, value.shape[len(before) + extra :]))
        else:
            letters = list(zip(term, value.shape))
        sizes.update((c, max(s, sizes.get(c, s))) for c, s in letters)  # an extent of 1 is broadcast
    return int(np.prod(list(sizes.values()), dtype=np.int64)) * int(
        np.prod(np.broadcast_shapes(*broadcast), dtype=np.int64)
    )


def _attributes(node):
    from onnx import helper  # pylint: disable=import-outside-toplevel

    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def _attention(node, ins, outs):
    """Scores and their product with the values, masked positions included. Heads lie side by side in rank 3."""
    q, k, v = ins[:3]
    past = ins[4].shape[2] if len(ins) > 4 and ins[4] is not None else 0
    if q.ndim == 4:
        batch, heads, queries, width = q.shape
        keys, value_width = k.shape[2], v.shape[3]
    else:
        attributes = _attributes(node)
        heads = attributes["q_num_heads"]
        batch, queries = q.shape[:2]
        width, keys, value_width = q.shape[2] // heads, k.shape[1], v.shape[2] // attributes["kv_num_heads"]
    del outs
    return batch * heads * queries * (keys + past) * (width + value_width)


# Arithmetic of other kinds, in part counted as multiply-accumulates: not checked here.
OTHERS = {
    "Det",
    "DeformConv",
    "STFT",
    "DFT",
    "MelWeightMatrix",
    "LinearRegressor",
    "LinearClassifier",
    "SVMRegressor",
    "SVMClassifier",
    "Resize",
    "GridSample",
    "RoiAlign",
    "AffineGrid",
    "LinearAttention",
    "CausalConvWithState",
    "LpNormalization",
    "Momentum",
}


def product(node, ins, outs):
    """MACs of a node without graphs; 0 for what is no product, None where the count is open to taste."""
    op = node.op_type
    if op in ("MatMul", "MatMulInteger"):
        return _matmul(ins[0], ins[1])
    if op == "QLinearMatMul":
        return _matmul(ins[0], ins[3])
    if op == "Gemm":
        return outs[0].size * (ins[0].shape[0 if _attributes(node).get("transA") else 1])
    if op in ("Conv", "ConvInteger"):
        return _conv(ins[0], ins[1], outs[0])
    if op == "QLinearConv":
        return _conv(ins[0], ins[3], outs[0])
    if op == "ConvTranspose":
        return ins[0].size * int(np.prod(ins[1].shape[1:], dtype=np.int64))
    if op in ("RNN", "GRU", "LSTM"):
        return _recurrent(ins[0], ins[1], ins[2], _attributes(node).get("layout"))
    if op == "Einsum":
        return _einsum(_attributes(node)["equation"].decode(), ins)
    if op == "Attention":
        return _attention(node, ins, outs)
    return None if op in OTHERS else 0


class Counter:
    """Walks nodes with their values. `known` are names that inference folds, whose producers cost nothing."""

    def __init__(self, oracle, opset, functions):
        self.oracle, self.opset = oracle, opset
        self.functions = functions
        self.by_name = {f.name: f for f in functions}

    def node(self, node, values, known):
        """(MACs or None, ...) of a node whose outputs are in `values`."""
        names = reads(node)
        if all(n in known for n in names) or node.op_type in SHAPE_ONLY:
            return 0
        attributes = _attributes(node)
        if node.op_type == "If":
            taken = attributes["then_branch" if np.all(values[node.input[0]]) else "else_branch"]
            return self.graph(taken, values, known)[0]
        if node.op_type == "Loop":
            return self.loop(node, attributes["body"], values, known)
        if node.op_type == "Scan":
            return self.scan(node, attributes, values, known)
        if node.domain == DOMAIN:
            return self.function(node, values, known)
        return product(node, [values.get(n) for n in node.input], [values.get(n) for n in node.output])

    def nodes(self, nodes, values, known):
        total = 0
        for node in nodes:
            names = reads(node)
            given = {n: values[n] for n in names}
            fixed = {n: v for n, v in given.items() if n in known and not isinstance(v, Sequence)}
            free = {n: v for n, v in given.items() if n not in fixed}
            values.update(self.oracle.run(node, free, fixed, self.opset, self.functions))
            macs = self.node(node, values, known)
            total = None if macs is None or total is None else total + macs
            if all(n in known for n in names) or node.op_type in SHAPE_ONLY:
                known |= set(node.output)
        return total

    def graph(self, graph, values, known):
        values, known = dict(values), set(known)
        for tensor in graph.initializer:
            values[tensor.name] = numpy_helper.to_array(tensor)
            known.add(tensor.name)
        return self.nodes(graph.node, values, known), values

    def function(self, node, values, known):
        body = self.by_name[node.op_type]
        inner = {formal: values[actual] for formal, actual in zip(body.input, node.input)}
        return self.nodes(body.node, inner, {f for f, a in zip(body.input, node.input) if a in known})

    def loop(self, node, body, values, known):
        limit = int(values[node.input[0]]) if node.input[0] else None
        states = [values[n] for n in node.input[2:]]
        total, trip, go = 0, 0, True
        while go and (limit is None or trip < limit):
            inner = dict(values)
            names = [i.name for i in body.input]
            inner.update(zip(names, [np.array(trip, np.int64), np.array(go), *states]))
            macs, inner = self.graph(body, inner, known - set(names))
            total = None if macs is None or total is None else total + macs
            results = [inner[o.name] for o in body.output]
            go, states = bool(results[0]), results[1 : 1 + len(states)]
            trip += 1
        return total

    def scan(self, node, attributes, values, known):
        body, axis = attributes["body"], attributes["scan_input_axes"][0]
        names = [i.name for i in body.input]
        state, rows = values[node.input[0]], values[node.input[1]]
        total = 0
        for i in range(rows.shape[axis]):
            inner = dict(values)
            inner.update(zip(names, [state, np.take(rows, i, axis)]))
            macs, inner = self.graph(body, inner, known - set(names))
            total = None if macs is None or total is None else total + macs
        return total
