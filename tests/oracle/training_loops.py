"""Models whose parameters are inside of Scan, Loop and If, with their weights and the same as a
function of x [2, 5, 8] and these: loops in Python, which autograd unrolls."""

import onnx
import torch
from onnx import TensorProto, helper

node, info = helper.make_node, helper.make_tensor_value_info
REAL, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def _stored(name, value):
    return onnx.numpy_helper.from_array(value.detach().numpy(), name)


def _model(nodes, weights, constants=()):
    stored = [_stored(name, value) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "loops", [info("x", REAL, [2, 5, 8])],
                              [info("y", REAL, None)],
                              stored + [_stored(*each) for each in constants])
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])


def _cell():
    """s' = tanh(x w + s r + b)"""
    return [node("MatMul", ["xt", "w"], ["xw"]), node("MatMul", ["s", "r"], ["sr"]),
            node("Add", ["xw", "sr"], ["a"]), node("Add", ["a", "b"], ["c"]),
            node("Tanh", ["c"], ["s2"])]


def _cell_weights():
    return {"w": torch.rand(8, 4) - 0.5, "r": torch.rand(4, 4) - 0.5, "b": torch.rand(4) - 0.5,
            "first": torch.rand(2, 4) - 0.5}


def _scans():
    body = helper.make_graph([*_cell(), node("Mul", ["s2", "s2"], ["q"])], "body",
                             [info("s", REAL, [2, 4]), info("xt", REAL, [2, 8])],
                             [info("s2", REAL, [2, 4]), info("q", REAL, [2, 4])])

    for backwards in (0, 1):
        def run(x, w, r, b, first, backwards=backwards):
            s, steps = first, []
            for t in reversed(range(5)) if backwards else range(5):
                s = torch.tanh(x[:, t] @ w + s @ r + b)
                steps.append(s * s)
            return torch.stack(steps, 1) * s[:, None]

        scan = node("Scan", ["first", "x"], ["last", "all"], body=body, num_scan_inputs=1,
                    scan_input_axes=[1], scan_input_directions=[backwards], scan_output_axes=[-2])
        nodes = [scan, node("Unsqueeze", ["last", "one"], ["u"]), node("Mul", ["all", "u"], ["y"])]
        weights = _cell_weights()
        yield ("scan_backwards" if backwards else "scan"), _model(
            nodes, weights, [("one", torch.tensor([1]))]), weights, run

    weights = _cell_weights()
    inside = helper.make_graph(
        [*_cell(), node("Identity", ["s2"], ["q"])], "body",
        [info("s", REAL, [2, 4]), info("xt", REAL, [2, 8])],
        [info("s2", REAL, [2, 4]), info("q", REAL, [2, 4])],
        [_stored(name, weights[name]) for name in ("w", "r", "b")])
    # What is scanned wants a gradient, too.
    weights["v"] = torch.rand(8, 8) - 0.5

    def projected(x, w, r, b, first, v):
        s, steps = first, []
        m = x @ v
        for t in range(5):
            s = torch.tanh(m[:, t] @ w + s @ r + b)
            steps.append(s)
        return torch.stack(steps)

    model = _model([node("MatMul", ["x", "v"], ["m"]),
                    node("Transpose", ["m"], ["t"], perm=[1, 0, 2]),
                    node("Scan", ["first", "t"], ["last", "y"], body=inside, num_scan_inputs=1)],
                   {name: weights[name] for name in ("first", "v")})
    yield "weights_inside", model, weights, projected


def _loops():
    weights = {"w": torch.rand(8, 8) - 0.5, "p": torch.rand(8, 8) - 0.5, "g": torch.rand(8)}
    body = helper.make_graph(
        [node("Identity", ["go"], ["on"]), node("Gather", ["m", "i"], ["row"], axis=1),
         node("MatMul", ["s", "w"], ["sw"]), node("Add", ["sw", "row"], ["a"]),
         node("Sigmoid", ["a"], ["e"]), node("Mul", ["e", "same"], ["s2"]),
         node("Identity", ["same"], ["same2"])], "body",
        [info("i", INT, []), info("go", BOOL, []), info("s", REAL, [2, 8]),
         info("same", REAL, [8])],
        [info("on", BOOL, []), info("s2", REAL, [2, 8]), info("same2", REAL, [8]),
         info("e", REAL, [2, 8])])

    def loop(x, w, p, g):
        m = x @ p
        s, steps = m[:, 4], []
        for i in range(4):
            e = torch.sigmoid(s @ w + m[:, i])
            s = e * g
            steps.append(e)
        return torch.stack(steps) * s

    yield "loop", _model([node("MatMul", ["x", "p"], ["m"]),
                          node("Gather", ["m", "last"], ["s0"], axis=1),
                          node("Loop", ["trips", "", "s0", "g"], ["sT", "gT", "all"], body=body),
                          node("Mul", ["all", "sT"], ["y"])], weights,
                         [("trips", torch.tensor(4)), ("last", torch.tensor(4))]), weights, loop

    weights = {"w": torch.rand(8, 8) - 0.5, "p": torch.rand(8, 8) - 0.5}
    inner = helper.make_graph(
        [node("Identity", ["go2"], ["on2"]), node("MatMul", ["s", "w"], ["sw"]),
         node("Tanh", ["sw"], ["s2"])], "inner",
        [info("j", INT, []), info("go2", BOOL, []), info("s", REAL, [2, 5, 8])],
        [info("on2", BOOL, []), info("s2", REAL, [2, 5, 8])])
    outer = helper.make_graph(
        [node("Identity", ["go"], ["on"]), node("Mul", ["z", "z"], ["zz"]),
         node("Loop", ["two", "", "zz"], ["o"], body=inner), node("Add", ["o", "x"], ["z2"])],
        "outer", [info("i", INT, []), info("go", BOOL, []), info("z", REAL, [2, 5, 8])],
        [info("on", BOOL, []), info("z2", REAL, [2, 5, 8])])

    def nested(x, w, p):
        z = x @ p
        for _ in range(3):
            z = z * z
            for _ in range(2):
                z = torch.tanh(z @ w)
            z = z + x
        return z

    yield "loop_in_loop", _model([node("MatMul", ["x", "p"], ["m"]),
                                  node("Loop", ["three", "", "m"], ["y"], body=outer)], weights,
                                 [("two", torch.tensor(2)), ("three", torch.tensor(3))]), weights, nested


def _branches():
    weights = {"w": torch.rand(8, 8) - 0.5, "v": torch.rand(8, 8) - 0.5, "g": torch.rand(8)}
    positive = helper.make_graph([node("MatMul", ["m", "w"], ["n"]), node("Tanh", ["n"], ["t"])],
                                 "positive", [], [info("t", REAL, [2, 5, 8])])
    negative = helper.make_graph([node("Mul", ["m", "g"], ["n"]), node("Sigmoid", ["n"], ["t"])],
                                 "negative", [], [info("t", REAL, [2, 5, 8])])
    for bound, name in ((-1e9, "then"), (1e9, "else")):
        def branch(x, w, v, g, bound=bound):
            m = x @ v
            return torch.tanh(m @ w) if m.sum() > bound else torch.sigmoid(m * g)

        yield name, _model([node("MatMul", ["x", "v"], ["m"]),
                            node("ReduceSum", ["m"], ["sum"], keepdims=0),
                            node("Greater", ["sum", "bound"], ["c"]),
                            node("If", ["c"], ["y"], then_branch=positive, else_branch=negative)],
                           weights, [("bound", torch.tensor(bound))]), weights, branch
    known = _model([node("MatMul", ["x", "v"], ["m"]),
                    node("If", ["c"], ["y"], then_branch=positive, else_branch=negative)], weights,
                   [("c", torch.tensor(True))])
    yield "known_branch", known, weights, lambda x, w, v, g: torch.tanh(x @ v @ w)

    weights = {"w": torch.rand(8, 8) - 0.5, "first": torch.rand(2, 8) - 0.5}
    positive = helper.make_graph([node("MatMul", ["s", "w"], ["n"]), node("Tanh", ["n"], ["t"])],
                                 "positive", [], [info("t", REAL, [2, 8])])
    negative = helper.make_graph([node("Mul", ["s", "xt"], ["t"])], "negative", [],
                                 [info("t", REAL, [2, 8])])
    body = helper.make_graph(
        [node("ReduceSum", ["xt"], ["sum"], keepdims=0), node("Greater", ["sum", "half"], ["c"]),
         node("If", ["c"], ["s2"], then_branch=positive, else_branch=negative)], "body",
        [info("s", REAL, [2, 8]), info("xt", REAL, [2, 8])], [info("s2", REAL, [2, 8])])

    def each(x, w, first):
        s = first
        for t in range(5):
            s = torch.tanh(s @ w) if x[:, t].sum() > 8 else s * x[:, t]
        return s

    yield "if_in_scan", _model([node("Scan", ["first", "x"], ["y"], body=body, num_scan_inputs=1,
                                     scan_input_axes=[1])], weights,
                               [("half", torch.tensor(8.0))]), weights, each


# Where a branch is counted, it need not be the one that runs.
AT_MOST = ("else", "if_in_scan")


def loops():
    torch.manual_seed(6)
    yield from _scans()
    yield from _loops()
    yield from _branches()
