"""Operators whose derivative is that of the operators that they consist of, and others that exporters
seldom write: one each behind a product m = x w, [2, 5, 8], and the same as a function of m."""

import onnx
import torch
from onnx import helper
from torch import nn

import training_networks

functional = nn.functional
node = helper.make_node
ORT = {"domain": "com.microsoft"}


def _pointwise():
    yield "bias_add", [node("BiasAdd", ["m", "c8", "m"], ["s"], **ORT), node("Mul", ["s", "m"], ["y"])], (
        lambda m, c: (m + c["c8"] + m) * m)
    yield "split_gelu", [node("BiasSplitGelu", ["m", "c8"], ["y"], **ORT)], (
        lambda m, c: (m + c["c8"])[..., :4] * functional.gelu((m + c["c8"])[..., 4:]))
    yield "bias_softmax", [node("BiasSoftmax", ["m", "c8"], ["p"], axis=2, is_inner_broadcast=1, **ORT),
                           node("Mul", ["p", "m"], ["y"])], (
        lambda m, c: torch.softmax(m + c["c8"], -1) * m)
    pairs = [node("Reshape", ["m", "pairs"], ["p"])]
    for op, conjugate in (("ComplexMul", False), ("ComplexMulConj", True)):
        def multiply(m, c, conjugate=conjugate):
            a = torch.view_as_complex(m.reshape(2, 5, 4, 2))
            b = a * a
            return torch.view_as_real(a * (b.conj() if conjugate else b)).reshape(-1)

        yield op.lower(), [*pairs, node("ComplexMul", ["p", "p"], ["q"], **ORT),
                           node(op, ["p", "q"], ["y"], **ORT)], multiply


def _products():
    yield "fused_gemm", [node("Reshape", ["m", "rows"], ["r"]),
                         node("FusedGemm", ["r", "c48", "c4"], ["y"], transB=1, alpha=0.5,
                              activation="LeakyRelu", activation_alpha=0.1, **ORT)], (
        lambda m, c: functional.leaky_relu(0.5 * m.reshape(10, 8) @ c["c48"].T + c["c4"], 0.1))
    yield "fused_product", [node("FusedMatMulActivation", ["m", "m"], ["y"], transB=1, activation="Tanh",
                                 **ORT)], lambda m, c: torch.tanh(m @ m.transpose(1, 2))
    yield "transposed_product", [node("TransposeMatMul", ["m", "m"], ["y"], transA=1, **ORT)], (
        lambda m, c: m.transpose(1, 2) @ m)
    yield "product_fast_gelu", [node("GemmFastGelu", ["m", "c84", "c4"], ["y"], **ORT)], (
        lambda m, c: functional.gelu(m @ c["c84"] + c["c4"], approximate="tanh"))
    for metric in ("euclidean", "sqeuclidean"):
        yield metric, [node("Reshape", ["m", "rows"], ["r"]),
                       node("CDist", ["r", "c48"], ["y"], metric=metric, **ORT)], (
            lambda m, c, p=metric: torch.cdist(m.reshape(10, 8), c["c48"]) ** (
                1 if p == "euclidean" else 2))
    for name, equation, function in (
            ("implied", "bij,kj", lambda m, c: torch.einsum("bij,kj->bik", m, c["c48"])),
            ("dots", "...j,kj->k...", lambda m, c: torch.einsum("...j,kj->k...", m, c["c48"])),
            ("inner", "bij,bij", lambda m, c: (m * m).sum())):
        second = "m" if name == "inner" else "c48"
        yield f"einsum_{name}", [node("Einsum", ["m", second], ["y"], equation=equation)], function
    yield "einsum_three", [node("Einsum", ["m", "c48", "m"], ["y"], equation="bij,kj,blj->bikl")], (
        lambda m, c: torch.einsum("bij,kj,blj->bikl", m, c["c48"], m))
    yield "determinant", [node("Slice", ["m", "zero", "five", "two"], ["s"]),
                          node("Add", ["s", "five_eye"], ["e"]), node("Det", ["e"], ["y"])], (
        lambda m, c: torch.det(m[..., :5] + c["five_eye"]))
    yield "inverse", [node("Slice", ["m", "zero", "five", "two"], ["s"]),
                      node("Add", ["s", "five_eye"], ["e"]), node("Inverse", ["e"], ["i"], **ORT),
                      node("Mul", ["i", "e"], ["y"])], (
        lambda m, c: torch.inverse(m[..., :5] + c["five_eye"]) * (m[..., :5] + c["five_eye"]))


def _activations():
    def tanh(cube):
        return [*cube, node("Mul", ["share", "cube"], ["p"]), node("Add", ["m", "p"], ["s"]),
                node("Mul", ["root", "s"], ["r"]), node("Tanh", ["r"], ["t"]), node("Add", ["one_real", "t"], ["u"])]

    def gelu(m, c):
        return functional.gelu(m, approximate="tanh")

    yield "gelu_in_products", [
        *tanh([node("Mul", ["m", "m"], ["square"]), node("Mul", ["m", "square"], ["cube"])]),
        node("Mul", ["m", "u"], ["v"]), node("Mul", ["one_half", "v"], ["y"])], gelu
    yield "gelu_with_a_power", [*tanh([node("Pow", ["m", "three"], ["cube"])]),
                                node("Mul", ["one_half", "u"], ["v"]), node("Mul", ["m", "v"], ["y"])], gelu
    yield "mish_in_three", [node("Softplus", ["m"], ["p"]), node("Tanh", ["p"], ["t"]),
                            node("Mul", ["m", "t"], ["y"])], lambda m, c: functional.mish(m)


def _convolutions():
    yield "fused_conv", [node("FusedConv", ["m", "kernel", "c3", "z"], ["y"], pads=[1, 1],
                              activation="Tanh", **ORT)], (
        lambda m, c: torch.tanh(functional.conv1d(m, c["kernel"], c["c3"], padding=1) + c["z"]))
    yield "conv_last", [node("NhwcConv", ["m", "kernel8"], ["y"], **ORT)], (
        lambda m, c: functional.conv1d(m.transpose(1, 2), c["kernel8"]).transpose(1, 2) ** 1)
    yield "causal_conv", [node("CausalConvWithState", ["m", "each", "c5", "past"], ["y", "s"],
                               activation="silu")], (
        lambda m, c: functional.silu(functional.conv1d(torch.cat([c["past"], m], 2), c["each"], c["c5"],
                                                       groups=5)))


def _normalizations():
    def rms(x, scale, epsilon):
        return x * torch.rsqrt((x * x).mean(-1, True) + epsilon) * scale

    for name, domain in (("skip_rms", ORT), ("skip_rms_onnx", {})):
        yield name, [node("SkipSimplifiedLayerNormalization", ["m", "m", "c8", "d8"],
                          ["n", "", "", "s"], epsilon=1e-3, **domain), node("Mul", ["n", "s"], ["y"])], (
            lambda m, c: rms(2 * m + c["d8"], c["c8"], 1e-3) * (2 * m + c["d8"]))
    yield "gated_rms", [node("GatedRMSNorm", ["m", "c4", "m"], ["y"], epsilon=1e-3, **ORT)], (
        lambda m, c: rms(m.view(2, 5, 2, 4), c["c4"], 1e-3).view(2, 5, 8) * functional.silu(m))

    def groups(m, c, added=0.0):
        x = (m.reshape(2, 5, 2, 4) + added).permute(0, 3, 1, 2)
        y = functional.silu(functional.group_norm(x, 2, c["c4"], c["d4"], 1e-3)).permute(0, 2, 3, 1)
        return y, x.permute(0, 2, 3, 1)

    image = [node("Reshape", ["m", "image"], ["r"])]
    yield "group_norm", [*image, node("GroupNorm", ["r", "c4", "d4"], ["n"], groups=2, activation=1,
                                      epsilon=1e-3, **ORT), node("Mul", ["n", "r"], ["y"])], (
        lambda m, c: (lambda y, x: y * x)(*groups(m, c)))
    yield "skip_group_norm", [
        *image, node("SkipGroupNorm", ["r", "c4", "d4", "r", "e4"], ["n", "s"], groups=2, activation=1,
                     epsilon=1e-3, **ORT), node("Mul", ["n", "s"], ["y"])], (
        lambda m, c: (lambda y, x: y * x)(*groups(m, c, m.reshape(2, 5, 2, 4) + c["e4"])))
    yield "instance_norm_scaled", [
        node("InstanceNormalization", ["m", "c5", "shift5"], ["n"], epsilon=1e-3),
        node("Mul", ["n", "m"], ["y"])], (
        lambda m, c: functional.instance_norm(m, None, None, c["c5"], c["shift5"], True, 0.1, 1e-3) * m), [
        "c5", "shift5"]
    blocks = [node("Reshape", ["m", "blocks"], ["r"])]
    for name, scale, shift, inside in (("group_norm_channels", "c4", "d4", 1), ("group_norm_18", "scale2", "shift2", 2)):
        def grouped(m, c, scale=scale, shift=shift, inside=inside):
            r = m.reshape(2, 4, 10)
            return functional.group_norm(r, 2, c[scale].repeat_interleave(inside),
                                         c[shift].repeat_interleave(inside), 1e-3) * r

        yield name, [*blocks, node("GroupNormalization", ["r", scale, shift], ["n"], num_groups=2,
                                   epsilon=1e-3), node("Mul", ["n", "r"], ["y"])], grouped, [scale, shift]
    # As exporters write it before opset 21.
    yield "group_norm_exported", [
        *blocks, node("Reshape", ["r", "two_groups"], ["g"]),
        node("InstanceNormalization", ["g", "ones2", "zeros2"], ["n"], epsilon=1e-3),
        node("Reshape", ["n", "blocks"], ["i"]), node("Mul", ["i", "scale41"], ["s"]),
        node("Add", ["s", "shift41"], ["a"]), node("Mul", ["a", "r"], ["y"])], (
        lambda m, c: functional.group_norm(m.reshape(2, 4, 10), 2, c["scale41"].reshape(-1),
                                           c["shift41"].reshape(-1), 1e-3) * m.reshape(2, 4, 10)), [
        "scale41", "shift41"]
    statistics = ["n", "mean", "inverse"]
    yield "layer_norm_statistics", [
        node("LayerNormalization", ["m", "c8", "d8"], statistics, epsilon=1e-3),
        node("Mul", ["n", "mean"], ["a"]), node("Mul", ["a", "inverse"], ["y"])], (
        lambda m, c: functional.layer_norm(m, (8,), c["c8"], c["d8"], 1e-3) * m.mean(-1, True)
        * torch.rsqrt(m.var(-1, False, True) + 1e-3))


def _signals():
    def real(z):
        return torch.view_as_real(z)

    signal = [node("Reshape", ["m", "signal"], ["r"])]
    yield "transform", [*signal, node("DFT", ["r", "", "one"], ["f"]), node("Mul", ["f", "f"], ["y"])], (
        lambda m, c: real(torch.fft.fft(m.reshape(2, 40))) ** 2)
    yield "half_transform", [*signal, node("DFT", ["r", "", "one"], ["f"], onesided=1),
                             node("Mul", ["f", "f"], ["y"])], (
        lambda m, c: real(torch.fft.rfft(m.reshape(2, 40))) ** 2)
    yield "cut_transform", [*signal, node("DFT", ["r", "points", "one"], ["f"], onesided=1),
                            node("Mul", ["f", "f"], ["y"])], (
        lambda m, c: real(torch.fft.rfft(m.reshape(2, 40), 33)) ** 2)
    yield "inverse_transform", [node("Reshape", ["m", "complex"], ["r"]),
                                node("DFT", ["r", "", "one"], ["f"], inverse=1),
                                node("Mul", ["f", "f"], ["y"])], (
        lambda m, c: real(torch.fft.ifft(torch.view_as_complex(m.reshape(2, 20, 2)))) ** 2)
    yield "short_time", [*signal, node("STFT", ["r", "step", "window"], ["f"]),
                         node("Mul", ["f", "f"], ["y"])], (
        lambda m, c: real(torch.fft.rfft(m.reshape(2, 40).unfold(1, 16, 5) * c["window"])) ** 2)
    yield "real_transform", [node("Rfft", ["m"], ["f"], normalized=0, onesided=1, signal_ndim=1, **ORT),
                             node("Mul", ["f", "f"], ["y"])], (
        lambda m, c: real(torch.fft.rfft(m)) ** 2)


def _places():
    for mode, name in (("reflect", "reflect"), ("edge", "replicate"), ("wrap", "circular")):
        yield f"padded_{mode}", [node("Pad", ["m", "around"], ["p"], mode=mode),
                                 node("Mul", ["p", "p"], ["y"])], (
            lambda m, c, name=name: functional.pad(m, (2, 1), name) ** 2)
    yield "columns", [node("Reshape", ["m", "blocks"], ["r"]),
                      node("Slice", ["r", "zero", "six", "two"], ["s"]),
                      node("Col2Im", ["s", "extent", "block"], ["i"], pads=[1, 0, 1, 0], strides=[2, 1],
                           dilations=[1, 2]), node("Mul", ["i", "i"], ["y"])], (
        lambda m, c: _folded(m) ** 2)
    for corners in (0, 1):
        yield f"affine_grid_{corners}", [
            node("Reshape", ["m", "flat"], ["f"]), node("Slice", ["f", "zero", "twelve", "zero"], ["s"]),
            node("Reshape", ["s", "theta"], ["t"]),
            node("AffineGrid", ["t", "size"], ["g"], align_corners=corners),
            node("Mul", ["g", "g"], ["y"])], (
            lambda m, c, a=bool(corners): functional.affine_grid(
                m.reshape(-1)[:12].view(2, 2, 3), (2, 1, 3, 4), a) ** 2)
    for name, axis in (("rows_taken", {"axis": 1}), ("elements_taken", {})):
        def taken(m, c, axis=axis):
            return (m[:, [1, 3]] if axis else m.reshape(-1)[[1, 3]]) ** 2

        yield name, [node("Compress", ["m", "taken"], ["t"], **axis), node("Mul", ["t", "t"], ["y"])], taken
    yield "embedding_alias", [node("TorchEmbedding", ["m", "pick"], ["s"], **ORT),
                              node("Mul", ["s", "s"], ["y"])], lambda m, c: m[c["pick"]] ** 2
    yield "divisor", [node("Abs", ["m"], ["a"]), node("Add", ["a", "half"], ["d"]),
                      node("Mul", ["m", "many"], ["n"]), node("Mod", ["n", "d"], ["y"], fmod=1)], (
        lambda m, c: torch.fmod(m * 7, m.abs() + 0.5))
    yield "products_before", [node("CumProd", ["m", "axis_one"], ["y"], exclusive=1)], (
        lambda m, c: torch.cat([torch.ones(2, 1, 8), torch.cumprod(m, 1)[:, :-1]], 1))
    yield "logarithms", [node("Transpose", ["m"], ["t"], perm=[0, 2, 1]),
                         node("SoftmaxCrossEntropyLoss", ["t", "labels"], ["l", "logs"]),
                         node("Mul", ["logs", "l"], ["y"])], (
        lambda m, c: functional.cross_entropy(m.transpose(1, 2), c["labels"])
        * torch.log_softmax(m.transpose(1, 2), 1))
    yield "lengths_of_keys", [
        node("Attention", ["m", "m", "m", "", "", "", "lengths"], ["y"], q_num_heads=2, kv_num_heads=2)], (
        lambda m, c: _attend(m, c["lengths"]))


def _folded(m):
    """Of blocks of 2 x 2, dilated by 1 and 2, every 2 and 1, of an image of 5 x 4 padded in height."""
    return functional.fold(m.reshape(2, 4, 10)[:, :, :6], (5, 4), (2, 2), (1, 2), (1, 0), (2, 1))


def _attend(m, lengths):
    heads = m.view(2, 5, 2, 4).transpose(1, 2)
    scores = heads @ heads.transpose(-1, -2) / 2
    hidden = torch.arange(5) >= lengths.view(2, 1, 1, 1)
    weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1)
    return (weights @ heads).transpose(1, 2).reshape(2, 5, 8)


def _linear_attention():
    """The recurrence, token by token: S = exp(decay) S + k (beta (v - S'k))', y = s S'q."""
    def recur(m, c, rule, groups):
        q = m.reshape(2, 5, 2, 4)
        k = (m * 0.5 + 0.1).reshape(2, 5, 2, 4)[:, :, :2 // groups]
        v = torch.tanh(m).reshape(2, 5, 2, 4)[:, :, :2 // groups]
        decay = -torch.sigmoid(m[..., :2 // groups])
        beta = torch.sigmoid(m[..., 2:2 + 2 // groups])
        state, outputs = c["state"][:, :2 // groups], []
        for t in range(5):
            if "gated" in rule:
                state = state * torch.exp(decay[:, t])[..., None, None]
            update = v[:, t]
            if "delta" in rule:
                update = beta[:, t][..., None] * (update - torch.einsum("bhij,bhi->bhj", state, k[:, t]))
            state = state + k[:, t][..., None] * update[..., None, :]
            wide = state.repeat_interleave(groups, 1)
            outputs.append(torch.einsum("bhij,bhi->bhj", wide, q[:, t]) * 0.5)
        return torch.stack(outputs, 1).reshape(2, 5, 8)

    for rule in ("linear", "gated", "delta", "gated_delta"):
        for groups in (1, 2):
            own = [node("Mul", ["m", "half"], ["h"]), node("Add", ["h", "tenth"], ["k"]),
                   node("Tanh", ["m"], ["v"]), node("Sigmoid", ["m"], ["s"]),
                   node("Neg", ["s"], ["n"])]
            width = 8 // groups
            own += [node("Slice", [name, "zero", f"to{width}", "two"], [f"{name}w"]) for name in "kv"]
            own += [node("Slice", ["n", "zero", f"heads{groups}", "two"], ["decay"]),
                    node("Slice", ["s", "two", f"ends{groups}", "two"], ["beta"]),
                    node("Slice", ["state", "zero", f"heads{groups}", "axis_one_list"], ["before"]),
                    node("LinearAttention",
                         ["m", "kw", "vw", "before", "decay" if "gated" in rule else "",
                          "beta" if "delta" in rule else ""], ["y", "present"], q_num_heads=2,
                         kv_num_heads=2 // groups, update_rule=rule)]
            yield f"linear_attention_{rule}_{groups}", own, (
                lambda m, c, rule=rule, groups=groups: recur(m, c, rule, groups))


def _text():
    """Embeddings and attention as ONNX Runtime fuses them in BERT, with as many keys as a sample has tokens."""
    def function(m, c):
        rows = c["words"][c["ids"].long()] + c["positions"] + c["segments"][c["kinds"].long()]
        n = functional.layer_norm(rows, (8,), c["c8"], c["d8"], 1e-3)
        q, k, v = (training_networks._heads(t) for t in (n @ c["c8_24"] + c["c24"]).split(8, -1))
        beyond = torch.arange(5) >= c["present"].sum(1).view(2, 1, 1, 1)
        scores = (q @ k.transpose(-1, -2) / 2).masked_fill(beyond, float("-inf"))
        return (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(2, 5, 8) * m

    yield "embedded_text", [
        node("EmbedLayerNormalization", ["ids", "kinds", "words", "positions", "segments", "c8", "d8",
                                         "present"], ["n", "index"], epsilon=1e-3, **ORT),
        node("Attention", ["n", "c8_24", "c24", "index"], ["a"], num_heads=2, **ORT),
        node("Mul", ["a", "m"], ["y"])], function, ["words", "positions", "segments", "c8", "d8", "c8_24",
                                                    "c24"]


def _lists():
    thirds = [node("SplitToSequence", ["m"], ["s"], axis=2, keepdims=0)]
    yield "split_list", [node("SplitToSequence", ["m", "three_five"], ["s"], axis=2),
                         node("SequenceAt", ["s", "minus_one"], ["a"]),
                         node("SequenceErase", ["s"], ["t"]), node("SequenceInsert", ["t", "a", "axis_zero"],
                                                                   ["u"]),
                         node("ConcatFromSequence", ["u"], ["j"], axis=-1), node("Mul", ["j", "m"], ["y"])], (
        lambda m, c: torch.cat([m[..., 3:], m[..., :3]], -1) * m)
    yield "stacked_list", [*thirds, node("SequenceAt", ["s", "axis_one"], ["a"]),
                           node("SequenceEmpty", [], ["e"]), node("SequenceInsert", ["e", "a"], ["f"]),
                           node("SequenceConstruct", ["a", "a"], ["g"]),
                           node("ConcatFromSequence", ["g"], ["j"], axis=0, new_axis=1),
                           node("ConcatFromSequence", ["s"], ["k"], axis=2, new_axis=1),
                           node("ConcatFromSequence", ["f"], ["l"], axis=0),
                           node("Mul", ["j", "l"], ["n"]), node("Reshape", ["n", "flat"], ["n1"]),
                           node("Mul", ["k", "k"], ["k2"]), node("Reshape", ["k2", "flat"], ["k1"]),
                           node("Concat", ["n1", "k1"], ["y"], axis=0)], (
        lambda m, c: torch.cat([(torch.stack([m[..., 1]] * 2) * m[..., 1]).reshape(-1), (m * m).reshape(-1)]))
    yield "optional", [node("Optional", ["m"], ["o"]), node("OptionalGetElement", ["o"], ["p"]),
                       node("Mul", ["p", "m"], ["y"])], lambda m, c: m * m


def _cell(kind, form, gates, h, c, p):
    """State behind one step of a cell, from the gates of the input and `behind(state, first, count)`."""
    x, behind = gates
    sigmoid = torch.sigmoid

    def clipped(v):
        return v.clamp(-form["clip"], form["clip"]) if "clip" in form else v

    if kind == "RNN":
        return torch.relu(clipped(x + behind(h, 0, 1))), None
    if kind == "GRU":
        z, r = (sigmoid(clipped(v)) for v in (x[:, :6] + behind(h, 0, 2)).split(3, 1))
        n = torch.tanh(clipped(x[:, 6:] + (r * behind(h, 2, 1) if form.get("linear_before_reset")
                                           else behind(r * h, 2, 1))))
        return (1 - z) * n + z * h, None
    i, o, f, g = (x + behind(h, 0, 4)).split(3, 1)
    pi, po, pf = (0, 0, 0) if p is None else p.split(3)
    i = sigmoid(clipped(i + pi * c))
    f = 1 - i if form.get("input_forget") else sigmoid(clipped(f + pf * c))
    c = f * c + i * torch.tanh(clipped(g))
    return sigmoid(clipped(o + po * c)) * torch.tanh(c), c


def _layer(kind, form, x, c, directions):
    """Y [steps, D, batch, 3] and last states of a layer over x [steps, batch, 8], from the definition."""
    count = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    lengths = c["lengths"] if form.get("lengths") else torch.tensor([5, 5])
    ys, hs, cs = [], [], []
    for d in range(directions):
        w, r, b = (c[f"{kind}_{n}{directions}"][d] for n in "WRB")
        p = c[f"LSTM_P{directions}"][d] if form.get("peepholes") else None
        h = c["h0"][d] if form.get("initial") else torch.zeros(2, 3)
        cell = torch.zeros(2, 3)
        y = [None] * 5
        for t in range(4, -1, -1) if d or form.get("reverse") else range(5):
            def behind(state, first, number):
                rows = slice(3 * first, 3 * (first + number))
                return state @ r[rows].T + b[3 * count:][rows]

            new, new_cell = _cell(kind, form, (x[t] @ w.T + b[:3 * count], behind), h, cell, p)
            has = (t < lengths)[:, None]
            y[t] = torch.where(has, new, torch.zeros(()))
            h = torch.where(has, new, h)
            cell = cell if new_cell is None else torch.where(has, new_cell, cell)
        ys.append(torch.stack(y))
        hs.append(h)
        cs.append(cell)
    return torch.stack(ys, 1), torch.stack(hs), torch.stack(cs)


def _recurrent():
    """Forms that no kernel trains. What y is: Y times itself, and the last states."""
    forms = (("lengths", "LSTM", 2, {"lengths": 1, "initial": 1}), ("peepholes", "LSTM", 1, {"peepholes": 1}),
             ("batch_first", "LSTM", 2, {"layout": 1, "initial": 1}),
             ("coupled", "LSTM", 1, {"input_forget": 1, "clip": 0.4}),
             ("resets_first", "GRU", 2, {"initial": 1}),
             ("lengths", "GRU", 1, {"lengths": 1, "linear_before_reset": 1, "reverse": 1, "initial": 1}),
             ("relu", "RNN", 2, {"lengths": 1}))
    for name, kind, directions, form in forms:
        attributes = {n: form[n] for n in ("layout", "input_forget", "linear_before_reset") if n in form}
        if "clip" in form:
            attributes["clip"] = form["clip"]
        if kind == "RNN":
            attributes["activations"] = ["Relu"] * directions
        if directions == 2:
            attributes["direction"] = "bidirectional"
        elif form.get("reverse"):
            attributes["direction"] = "reverse"
        weights = [f"{kind}_{n}{directions}" for n in "WRB"]
        initial = f"initial{directions}{'b' if form.get('layout') else ''}" if form.get("initial") else ""
        inputs = ["m" if form.get("layout") else "t", *weights, "short_lengths" if form.get("lengths") else "",
                  initial]
        if form.get("peepholes"):
            inputs += ["", f"LSTM_P{directions}"]
            weights.append(f"LSTM_P{directions}")
        outputs = ["Y", "h", "c"] if kind == "LSTM" else ["Y", "h"]
        nodes = [node("Transpose", ["m"], ["t"], perm=[1, 0, 2])] if not form.get("layout") else []
        nodes.append(node(kind, inputs, outputs, hidden_size=3, **attributes))
        pieces = []
        for output in outputs:
            nodes += [node("Mul", [output, output], [f"{output}2"]),
                      node("Reshape", [f"{output}2", "flat"], [f"{output}1"])]
            pieces.append(f"{output}1")
        nodes.append(node("Concat", pieces, ["y"], axis=0))

        def function(m, c, kind=kind, form=form, directions=directions):
            y, h, cell = _layer(kind, form, m.transpose(0, 1), c, directions)
            parts = [y, h, cell] if kind == "LSTM" else [y, h]
            return torch.cat([(v * v).reshape(-1) for v in parts])

        yield f"{kind.lower()}_{name}", nodes, function, weights


def _constants():
    torch.manual_seed(11)
    c = {name: torch.rand(*shape) for name, shape in (
        ("c8", (8,)), ("d8", (8,)), ("c4", (4,)), ("d4", (4,)), ("e4", (4,)), ("c3", (3,)), ("c5", (5,)),
        ("c48", (4, 8)), ("c84", (8, 4)), ("kernel", (3, 5, 3)), ("z", (2, 3, 8)), ("kernel8", (3, 8, 2)),
        ("words", (7, 8)), ("positions", (5, 8)), ("segments", (2, 8)), ("c8_24", (8, 24)), ("c24", (24,)),
        ("each", (5, 1, 3)), ("past", (2, 5, 2)), ("window", (16,)), ("state", (2, 2, 4, 4)),
        ("shift5", (5,)), ("scale2", (2,)), ("shift2", (2,)), ("scale41", (4, 1)), ("shift41", (4, 1)))}
    c["past"] = c["past"] - 0.5
    c.update(ids=torch.tensor([[1, 0, 6, 1, 2], [3, 3, 5, 4, 0]], dtype=torch.int32),
             kinds=torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]], dtype=torch.int32),
             present=torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], dtype=torch.int32))
    for kind, count in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for d in (1, 2):
            for n, size in (("W", (3 * count, 8)), ("R", (3 * count, 3)), ("B", (6 * count,)), ("P", (9,))):
                c[f"{kind}_{n}{d}"] = torch.rand(d, *size) - 0.5
    c["h0"] = torch.rand(2, 2, 3) - 0.5
    c.update(initial1=c["h0"][:1].clone(), initial2=c["h0"].clone(),
             initial2b=c["h0"].transpose(0, 1).contiguous(),
             short_lengths=torch.tensor([3, 5], dtype=torch.int32))
    lists = {"pairs": [2, 5, 4, 2], "rows": [10, 8], "zero": [0], "five": [5], "two": [2], "twelve": [12],
             "two_groups": [2, 2, 20], "around": [0, 0, 2, 0, 0, 1], "image": [2, 5, 2, 4], "signal": [2, 40, 1], "complex": [2, 20, 2], "flat": [-1],
             "theta": [2, 2, 3], "size": [2, 1, 3, 4], "blocks": [2, 4, 10], "extent": [5, 4],
             "block": [2, 2], "lengths": [3, 5], "pick": [1, 0, 1], "to8": [8], "to4": [4],
             "heads1": [2], "heads2": [1], "ends1": [4], "ends2": [3], "axis_one_list": [1],
             "six": [6], "three_five": [3, 5]}
    c.update({name: torch.tensor(value) for name, value in lists.items()})
    c.update(five_eye=torch.eye(5) * 3, one=torch.tensor(1), points=torch.tensor(33),
             step=torch.tensor(5), half=torch.tensor(0.5), many=torch.tensor(7.0),
             axis_one=torch.tensor(1), minus_one=torch.tensor(-1), axis_zero=torch.tensor(0),
             tenth=torch.tensor(0.1), ones2=torch.ones(2), zeros2=torch.zeros(2),
             three=torch.tensor(3.0), share=torch.tensor(0.044715), one_half=torch.tensor(0.5),
             one_real=torch.tensor(1.0), root=torch.tensor((2 / torch.pi) ** 0.5),
             taken=torch.tensor([False, True, False, True, False]),
             labels=torch.randint(0, 8, (2, 5)),
             targets=torch.tensor([4, 2, 0, 3, 1]).view(1, 5, 1).expand(2, 5, 8).clone())
    return c


OPSETS = {"mish_in_three": 17, "causal_conv": 27, "products_before": 26, "lengths_of_keys": 24, "group_norm_18": 18}


def parts():
    """(name, model, weights, function of x and these)."""
    constants = _constants()
    torch.manual_seed(6)
    cases = [case for family in (_pointwise, _activations, _products, _convolutions, _normalizations, _signals, _places,
                                 _linear_attention, _recurrent, _lists, _text) for case in family()]
    for name, nodes, function, *trained in cases:
        own = {"w": torch.rand(8, 8) - 0.5, **{n: constants[n] for n in sum(trained, [])}}
        opset = 27 if name.startswith("linear_attention") else OPSETS.get(name, 22)
        model = training_networks._model([node("MatMul", ["x", "w"], ["m"]), *nodes], own, opset)
        read = {i for n in nodes for i in n.input}
        for constant, value in constants.items():
            if constant in read and constant not in own:
                model.graph.node.insert(0, node("Constant", [], [constant], value=(
                    onnx.numpy_helper.from_array(value.numpy()))))
        yield name, model, own, lambda x, w, f=function, **weights: f(x @ w, {**constants, **weights})
