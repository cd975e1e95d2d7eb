"""Small networks, each of which trains by way of some derivatives."""

import numpy as np
import onnx
import torch
import torchvision
from onnx import TensorProto, helper
from torch import nn

import training_operators


class Function(nn.Module):
    """A linear layer, then a function of what it gives."""

    def __init__(self, function, features=6):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.function = function

    def forward(self, x):
        return self.function(self.linear(x))


class Twice(nn.Module):
    """A value that is used three times, and a weight that is used twice."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 5)

    def forward(self, x):
        y = torch.tanh(self.linear(x))
        return self.linear(y) * y + y


class Broadcasting(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.rand(4, 1))
        self.b = nn.Parameter(torch.rand(3, 1, 5))
        self.c = nn.Parameter(torch.rand(5))

    def forward(self, x):
        return (x * self.a - self.b) / (2 + self.c * self.c) + self.a


class Attention(nn.Module):
    """Two heads, written out."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-1, -2) * 0.5, -1)
        y = (weights @ v).transpose(1, 2).reshape(2, 5, 8)
        return x + nn.functional.gelu(self.out(y))


class Causal(nn.Module):
    """Two heads of a decoder, with a triangle and padding hidden."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)

    def forward(self, x, padding):
        q, k, v = (y.view(2, 5, 2, 4).transpose(1, 2) for y in self.qkv(x).split(8, 2))
        scores = q @ k.transpose(-1, -2) / 2.0
        keep = torch.ones(5, 5, dtype=torch.bool).tril()
        scores = torch.where(keep, scores, torch.tensor(-1e30))
        weights = torch.softmax(scores + padding[:, None, None], -1)
        return self.out((weights @ v).transpose(1, 2).reshape(2, 5, 8))


class Grouped(nn.Module):
    """Four heads of queries that share two of keys and values, repeated."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 16), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        q = self.q(x).view(2, 5, 4, 4).transpose(1, 2)
        k, v = (layer(x).view(2, 5, 2, 4).transpose(1, 2)[:, :, None].expand(2, 2, 2, 5, 4)
                .reshape(2, 4, 5, 4) for layer in (self.k, self.v))
        return (torch.softmax(q * 0.5 @ k.transpose(-1, -2), -1) @ v).transpose(1, 2) ** 2


class Batched(nn.Module):
    """Samples and heads in one axis."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        q, k, v = (layer(x).view(2, 5, 2, 4).transpose(1, 2).reshape(4, 5, 4)
                   for layer in (self.q, self.k, self.v))
        return torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)), -1), v) ** 2


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.linear = nn.Linear(4, 7)

    def forward(self, ids):
        return torch.log_softmax(self.linear(self.table(ids)), -1)[:, 1:, :3]


class Recurrent(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.layer = layer

    def forward(self, x):
        y, _ = self.layer(self.linear(x))
        return y * y


class Mixed(nn.Module):
    """Convolutions with stride, groups, dilation and padding, transposed, and pools."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.MaxPool2d(3, 2, 1), nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=4),
            nn.LeakyReLU(0.1), nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, groups=2,
                                                  output_padding=1), nn.Sigmoid(),
            nn.AvgPool2d(2), nn.Conv2d(6, 4, (1, 3), bias=False), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(4, 3))

    def forward(self, x):
        return self.layers(x)


FUNCTIONS = {
    "exp": torch.exp,
    "sqrt": lambda x: torch.sqrt(x * x + 1),
    "log": lambda x: torch.log(x * x + 1),
    "erf": torch.erf,
    "power": lambda x: (x * x + 1) ** 1.5,
    "softplus": nn.functional.softplus,
    "hardswish": nn.functional.hardswish,
    "hardsigmoid": nn.functional.hardsigmoid,
    "elu": nn.functional.elu,
    "selu": nn.functional.selu,
    "mish": nn.functional.mish,
    "silu": nn.functional.silu,
    "clamp": lambda x: torch.clamp(x, -0.4, 0.3),
    "abs": torch.abs,
    "reciprocal": lambda x: 1 / (x * x + 0.5),
    "tangent": lambda x: torch.tan(x) + torch.atan(x),
    "arcs": lambda x: torch.asin(x / 4) * torch.acos(x / 4),
    "celu": lambda x: nn.functional.celu(x, 0.7),
    "sine": lambda x: torch.sin(x) * torch.cos(x),
    "mean": lambda x: x.mean(-1) * x.sum(0, keepdim=True)[:, :4],
    "extremes": lambda x: x.amax(-1, keepdim=True) - x.amin(0),
    "norm": lambda x: x.norm(dim=-1) + torch.logsumexp(x, 0).sum(),
    "where": lambda x: torch.where(x > 0.1, x * x, -x),
    "maximum": lambda x: torch.maximum(x, x * x - 0.2),
    "concat": lambda x: torch.cat([x, x * x, x[:, 1:3]], 1) ** 2,
    "split": lambda x: (lambda a, b: a * b)(*torch.split(x, [3, 3], 1)),
    "pad": lambda x: nn.functional.pad(x, (1, 2, 0, 1)) ** 2,
    "repeat": lambda x: x.repeat(2, 3) ** 2,
    "expand": lambda x: x[:, None].expand(-1, 3, -1) ** 2,
    "cumsum": lambda x: torch.cumsum(x, 1) ** 2,
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x * x),
    "steps": lambda x: x[:, ::2] ** 2,
    "gather": lambda x: torch.gather(x, 1, torch.tensor([[0, 2], [1, 1], [5, 0], [3, 3]])) ** 2,
    "triangle": lambda x: torch.tril(x @ x.t()) ** 2,
    "group_norm": lambda x: nn.functional.group_norm(x.view(2, 4, 3), 2) ** 3,
    "instance_norm": lambda x: nn.functional.instance_norm(x.view(2, 2, 6)) ** 3,
    "nearest": lambda x: nn.functional.interpolate(x.view(1, 2, 3, 4), scale_factor=2) ** 2,
    "bilinear": lambda x: nn.functional.interpolate(x.view(1, 2, 3, 4), (5, 7),
                                                    mode="bilinear") ** 2,
    "pixel_shuffle": lambda x: nn.functional.pixel_shuffle(x.view(1, 4, 2, 3), 2) ** 2,
}


def attention():
    """Attention in several nodes, which may run as one kernel."""
    yield "attention", Attention(), (torch.rand(2, 5, 8),)
    padding = torch.zeros(2, 5)
    padding[1, 3:] = -1e30
    yield "causal", Causal(), (torch.rand(2, 5, 8), padding)
    yield "grouped", Grouped(), (torch.rand(2, 5, 8),)
    yield "batched", Batched(), (torch.rand(2, 5, 8),)


def small():
    """Names, modules and inputs; never the same twice."""
    torch.manual_seed(0)
    data = torch.rand(4, 6) - 0.3
    for name, function in FUNCTIONS.items():
        yield name, Function(function), (data,)
    yield "twice", Twice(), (torch.rand(3, 5),)
    yield "broadcasting", Broadcasting(), (torch.rand(3, 4, 5),)
    yield from attention()
    yield "embedded", Embedded(), (torch.tensor([[1, 2, 2], [0, 6, 1]]),)
    yield "prelu", nn.Sequential(nn.Linear(6, 6), nn.PReLU()), (data,)
    yield "convolutions", Mixed(), (torch.rand(2, 3, 17, 18),)
    yield "volume", nn.Sequential(nn.Conv3d(2, 3, 2), nn.Tanh(), nn.MaxPool3d(2)), (
        torch.rand(1, 2, 5, 5, 5),)
    yield "signal", nn.Sequential(nn.Conv1d(2, 4, 3, stride=2), nn.GELU(), nn.AvgPool1d(2)), (
        torch.rand(2, 2, 12),)
    sequence = torch.rand(6, 2, 4)
    yield "lstm", Recurrent(nn.LSTM(3, 5)), (sequence,)
    yield "lstm_both_ways", Recurrent(nn.LSTM(3, 5, 2, bidirectional=True)), (sequence,)
    yield "gru", Recurrent(nn.GRU(3, 5, bidirectional=True)), (sequence,)
    yield "rnn", Recurrent(nn.RNN(3, 5, bidirectional=True)), (sequence,)


def _heads(x):
    return x.view(2, 5, 2, 4).transpose(1, 2)


def _attend(q, k, v, causal):
    scores = _heads(q) @ _heads(k).transpose(-1, -2) * 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), float("-inf"))
    return (torch.softmax(scores, -1) @ _heads(v)).transpose(1, 2).reshape(2, 5, 8)


def _model(nodes, weights, opset=23):
    graph = helper.make_graph(
        nodes, "fused", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 5, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(value.numpy(), name) for name, value in weights.items()])
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)])


def fused():
    """Models that no exporter here writes, with their weights and the same as a function of x and
    these: attention in one node."""
    torch.manual_seed(3)
    weights = {"w": torch.rand(8, 24) - 0.5, "b": torch.rand(24) - 0.5}
    project = [helper.make_node("MatMul", ["x", "w"], ["m"]),
               helper.make_node("Add", ["m", "b"], ["a"]),
               helper.make_node("Split", ["a"], ["q", "k", "v"], axis=2, num_outputs=3)]
    for causal in (0, 1):
        def attend(x, w, b, causal=causal):
            return _attend(*torch.split(x @ w + b, 8, -1), causal)

        name = "causal" if causal else "all"
        yield f"attention_{name}", _model(project + [helper.make_node(
            "Attention", ["q", "k", "v"], ["y"], q_num_heads=2, kv_num_heads=2,
            is_causal=causal)], weights), weights, attend
        yield f"multi_head_{name}", _model(project + [helper.make_node(
            "MultiHeadAttention", ["q", "k", "v"], ["y"], domain="com.microsoft", num_heads=2,
            unidirectional=causal)], weights), weights, attend
        yield f"self_attention_{name}", _model([helper.make_node(
            "Attention", ["x", "w", "b"], ["y"], domain="com.microsoft", num_heads=2,
            unidirectional=causal)], weights), weights, attend
    past = [torch.rand(2, 2, 3, 4) - 0.5 for _ in range(2)]
    stored = [onnx.numpy_helper.from_array(value.numpy(), name)
              for name, value in zip(("past_k", "past_v"), past)]

    def cached(x, w, b, cap=0.0):
        q, k, v = torch.split(x @ w + b, 8, -1)
        k, v = torch.cat([past[0], _heads(k)], 2), torch.cat([past[1], _heads(v)], 2)
        scores = _heads(q) @ k.transpose(-1, -2) * 0.5
        scores = torch.tanh(scores / cap) * cap if cap else scores
        scores = scores.masked_fill(torch.ones(5, 8).triu(4).bool(), float("-inf"))
        y = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(2, 5, 8)
        return torch.cat([y.flatten(), (k * v).flatten()])

    behind = [helper.make_node("Mul", ["key", "value"], ["kv"]),
              helper.make_node("Reshape", ["o", "flat"], ["o1"]),
              helper.make_node("Reshape", ["kv", "flat"], ["kv1"]),
              helper.make_node("Concat", ["o1", "kv1"], ["y"], axis=0)]
    flat = onnx.numpy_helper.from_array(np.array([-1]), "flat")
    for name, cap in (("cached", 0.0), ("capped", 0.3)):
        model = _model(project + [helper.make_node(
            "Attention", ["q", "k", "v", "", "pk", "pv"], ["o", "key", "value"], q_num_heads=2,
            kv_num_heads=2, is_causal=1, softcap=cap)] + behind, weights)
        for value, of in zip(stored, ("pk", "pv")):
            model.graph.node.insert(0, helper.make_node("Constant", [], [of], value=value))
        model.graph.initializer.append(flat)
        yield name, model, weights, lambda x, w, b, cap=cap: cached(x, w, b, cap)
    turns = torch.rand(8, 2)
    turns = {"cosine": torch.cos(turns), "sine": torch.sin(turns)}

    def rotated(x):
        a, b = _heads(x)[..., :2], _heads(x)[..., 2:]
        cosine, sine = (turns[n][:5] for n in ("cosine", "sine"))
        return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)

    def grouped(x, w, b):
        q, k, v = torch.split(x @ w + b, 8, -1)
        scores = rotated(q) @ rotated(k).transpose(-1, -2) * 0.5
        scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), float("-inf"))
        return (torch.softmax(scores, -1) @ _heads(v)).transpose(1, 2).reshape(2, 5, 8)

    # Queries, keys and values in one; what it hands on for the next token leaves the step.
    model = _model([*project[:2], helper.make_node(
        "GroupQueryAttention", ["a", "", "", "", "", "lengths", "total", "c", "s"],
        ["y", "present_k", "present_v"], domain="com.microsoft", num_heads=2, kv_num_heads=2,
        do_rotary=1)], weights)
    for name, table in (("c", "cosine"), ("s", "sine")):
        value = onnx.numpy_helper.from_array(turns[table].numpy())
        model.graph.node.insert(0, helper.make_node("Constant", [], [name], value=value))
    model.graph.initializer.extend([
        onnx.numpy_helper.from_array(np.array([4, 4], np.int32), "lengths"),
        onnx.numpy_helper.from_array(np.array(5, np.int32), "total")])
    model.graph.output.extend([helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 2, 5, 4])
                               for n in ("present_k", "present_v")])
    yield "attention_of_groups", model, weights, grouped
    weights = {"w": torch.rand(8, 16) - 0.5, "mask": torch.rand(5, 5) - 0.5}
    sizes = onnx.numpy_helper.from_array(torch.tensor([8, 4, 4]).numpy(), "sizes")

    def shared(x, w, mask):
        q, k, v = torch.split(x @ w, [8, 4, 4], -1)
        scores = _heads(q) @ k[:, None].transpose(-1, -2) * 0.5 + mask
        return (torch.softmax(scores, -1) @ v[:, None]).transpose(1, 2).reshape(2, 5, 8)

    model = _model([helper.make_node("MatMul", ["x", "w"], ["m"]),
                    helper.make_node("Split", ["m", "sizes"], ["q", "k", "v"], axis=2),
                    helper.make_node("Attention", ["q", "k", "v", "mask"], ["y"], q_num_heads=2,
                                     kv_num_heads=1)], weights)
    model.graph.initializer.append(sizes)
    yield "shared_keys", model, weights, shared
    weights = {"w": torch.rand(8, 8) - 0.5}
    response = _model([helper.make_node("MatMul", ["x", "w"], ["m"]),
                       helper.make_node("Unsqueeze", ["m", "axis"], ["u"]),
                       helper.make_node("LRN", ["u"], ["y"], size=3, alpha=0.4, beta=0.7,
                                        bias=0.9)], weights)
    response.graph.initializer.append(onnx.numpy_helper.from_array(np.array([3]), "axis"))
    yield "local_response", response, weights, (
        lambda x, w: nn.functional.local_response_norm(x @ w, 3, 0.4, 0.7, 0.9))
    quantized = _model([helper.make_node("MatMul", ["x", "w"], ["m"]),
                        helper.make_node("QuantizeLinear", ["m", "scale", "zero"], ["q"]),
                        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
                        helper.make_node("Mul", ["d", "m"], ["y"])], weights)
    quantized.graph.initializer.extend([
        onnx.numpy_helper.from_array(np.array(0.05, np.float32), "scale"),
        onnx.numpy_helper.from_array(np.array(3, np.int8), "zero")])
    yield "quantized", quantized, weights, (
        lambda x, w: torch.fake_quantize_per_tensor_affine(x @ w, 0.05, 3, -128, 127) * (x @ w))
    angles = torch.rand(5, 2)
    tables = {"cosine": torch.cos(angles), "sine": torch.sin(angles)}

    def rotary(x, w):
        y = (x @ w).view(2, 5, 2, 4)
        a, b = y[..., :2], y[..., 2:]
        cosine, sine = (tables[n][:, None] for n in ("cosine", "sine"))
        return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1).reshape(2, 5, 8) ** 2

    model = _model([helper.make_node("MatMul", ["x", "w"], ["m"]),
                    helper.make_node("RotaryEmbedding", ["m", "c", "s", "at"], ["r"], num_heads=2),
                    helper.make_node("Mul", ["r", "r"], ["y"])], weights)
    for name, table in (("c", "cosine"), ("s", "sine")):
        value = onnx.numpy_helper.from_array(tables[table].numpy())
        model.graph.node.insert(0, helper.make_node("Constant", [], [name], value=value))
    positions = onnx.numpy_helper.from_array(torch.arange(5).repeat(2, 1).numpy(), "at")
    model.graph.initializer.append(positions)
    yield "rotary", model, weights, rotary
    weights = {"w": torch.rand(8, 8) - 0.5, "filter": torch.rand(3, 1, 2, 2) - 0.5,
               "bias": torch.rand(3), "offset": torch.rand(2, 8, 4, 7) - 0.5,
               "mask": torch.rand(2, 4, 4, 7)}
    image = onnx.numpy_helper.from_array(np.array([2, 1, 5, 8]), "image")
    model = _model([helper.make_node("MatMul", ["x", "w"], ["m"]),
                    helper.make_node("Reshape", ["m", "image"], ["r"]),
                    helper.make_node("DeformConv", ["r", "filter", "offset", "bias", "mask"], ["d"],
                                     kernel_shape=[2, 2]),
                    helper.make_node("Mul", ["d", "d"], ["y"])], weights, 22)
    model.graph.initializer.append(image)
    yield "deformable", model, weights, (
        lambda x, w, filter, bias, offset, mask: torchvision.ops.deform_conv2d(
            (x @ w).view(2, 1, 5, 8), offset, filter, bias, mask=mask) ** 2)
    # In the square of a projection, and one and a half: where every function is smooth.
    weights = {"w": torch.rand(8, 8) - 0.5, "offset": torch.full((8,), 1.5)}
    for name in ("Sinh", "Cosh", "Asinh", "Acosh", "Atanh"):
        def function(x, w, offset, name=name):
            y = (x @ w) ** 2 + offset
            return getattr(torch, name.lower())(1 / y if name == "Atanh" else y)

        inner = ["Reciprocal"] if name == "Atanh" else []
        chain = [helper.make_node("MatMul", ["x", "w"], ["m"]),
                 helper.make_node("Mul", ["m", "m"], ["p"]),
                 helper.make_node("Add", ["p", "offset"], ["v0"])]
        for i, op in enumerate([*inner, name]):
            chain.append(helper.make_node(op, [f"v{i}"], [f"v{i + 1}"]))
        chain[-1].output[0] = "y"
        yield name.lower(), _model(chain, weights), weights, function


def experts():
    """Mixtures of experts, and the same as a function: ten tokens, each for two of five experts, which the offsets of
    the router choose so that every expert gets four."""
    torch.manual_seed(4)
    offset = torch.zeros(10, 5)
    for token in range(10):
        offset[token, token % 5], offset[token, (token + 1) % 5] = 6, 5
    # As OpenAI's gpt-oss has them: bounded, scaled in the sigmoid, one added to the value.
    bounded = {"activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 0.25}
    for form in ("pairs", "bounded", "halves", "apart", "relu"):
        gated = form in ("pairs", "bounded", "halves")
        weights = {"w": torch.rand(8, 8) - 0.5, "gate": torch.rand(8, 5) - 0.5, "offset": offset,
                   "one": torch.rand(5, 12 if gated else 6, 8) - 0.5, "bias": torch.rand(5, 12 if gated else 6) - 0.5,
                   "two": torch.rand(5, 8, 6) - 0.5}
        if form == "apart":
            weights["three"] = torch.rand(5, 6, 8) - 0.5
        normalized = form != "halves"

        def function(x, w, gate, offset, one, bias, two, three=None, form=form, normalized=normalized):
            tokens = (x @ w).reshape(10, 8)
            share, chosen = torch.softmax(tokens @ gate + offset, -1).topk(2)
            if normalized:
                share = share / share.sum(-1, keepdim=True)
            rows = []
            for token in range(10):
                row = 0
                for weight, expert in zip(share[token], chosen[token]):
                    inner = one[expert] @ tokens[token] + bias[expert]
                    if form == "relu":
                        inner = torch.relu(inner)
                    elif form == "apart":
                        inner = nn.functional.silu(inner) * (three[expert] @ tokens[token])
                    elif form == "bounded":
                        a, b = inner[0::2].clamp(max=0.25), inner[1::2].clamp(-0.25, 0.25)
                        inner = a * torch.sigmoid(1.702 * a) * (b + 1)
                    else:
                        a, b = (inner[0::2], inner[1::2]) if form == "pairs" else inner.chunk(2)
                        inner = nn.functional.silu(a) * b
                    row = row + weight * (two[expert] @ inner)
                rows.append(row)
            return torch.stack(rows).reshape(2, 5, 8)

        inputs = ["m", "routes", "one", "bias", "two"] + (["", "three"] if form == "apart" else [])
        model = _model([helper.make_node("MatMul", ["x", "w"], ["m"]),
                        helper.make_node("MatMul", ["m", "gate"], ["r"]),
                        helper.make_node("Reshape", ["r", "flat"], ["f"]),
                        helper.make_node("Add", ["f", "offset"], ["routes"]),
                        helper.make_node("MoE", inputs, ["y"], domain="com.microsoft", k=2,
                                         activation_type="relu" if form == "relu" else "swiglu",
                                         normalize_routing_weights=int(normalized),
                                         swiglu_fusion={"pairs": 1, "bounded": 1, "halves": 2}.get(form, 0),
                                         **(bounded if form == "bounded" else {}))], weights)
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([10, 5]), "flat"))
        yield f"experts_{form}", model, weights, function


def single():
    """One operator each behind a product m = x w, [2, 5, 8], and the same as a function of m: what
    exporters seldom write."""
    torch.manual_seed(5)
    functional = nn.functional
    labels = torch.randint(0, 5, (2, 8))
    weights = torch.rand(5)
    rois = torch.tensor([[0.0, 0.0, 4.0, 3.0], [1.0, 1.0, 6.5, 4.0]])
    image = torch.tensor([2, 1, 5, 8])
    cut = torch.tensor([3, 11])
    node = helper.make_node

    def likelihood(m, reduction, **options):
        return functional.nll_loss(torch.log_softmax(m, 1), labels, reduction=reduction, **options)

    def loss(reduction, inputs, **options):
        return [node("LogSoftmax", ["m"], ["l"], axis=1),
                node("NegativeLogLikelihoodLoss", ["l", *inputs], ["y"], reduction=reduction,
                     **options)]

    constants = {"labels": labels, "weights": weights, "rois": rois, "image": image, "cut": cut,
                 "last": torch.tensor([2]), "one": torch.tensor(1), "lengths": torch.tensor([3, 5]),
                 "divisor": torch.tensor(0.07), "samples": torch.tensor([1, 0])}
    square = [node("Mul", ["m", "m"], ["s"])]
    cases = (
        ("log_sum", [*square, node("ReduceLogSum", ["s", "last"], ["y"])],
         lambda m: (m * m).sum(2, True).log()),
        ("cumulated_product", [node("CumProd", ["m", "one"], ["y"])],
         lambda m: torch.cumprod(m, 1)),
        ("l1_normal", [node("LpNormalization", ["m"], ["n"], p=1), node("Mul", ["n", "n"], ["y"])],
         lambda m: functional.normalize(m, 1, -1) ** 2),
        ("l2_normal", [node("LpNormalization", ["m"], ["n"], p=2, axis=1),
                       node("Mul", ["n", "m"], ["y"])], lambda m: functional.normalize(m, 2, 1) * m),
        ("mean_variance", [node("MeanVarianceNormalization", ["m"], ["n"], axes=[0, 2]),
                           node("Mul", ["n", "m"], ["y"])],
         lambda m: (m - m.mean((0, 2), True)) / m.std((0, 2), False, True) * m),
        ("remainder", [node("Mod", ["m", "divisor"], ["r"], fmod=1), node("Mul", ["r", "m"], ["y"])],
         lambda m: torch.fmod(m, 0.07) * m),
        ("shrink", [node("Shrink", ["m"], ["r"], lambd=0.2, bias=0.1), node("Mul", ["r", "m"], ["y"])],
         lambda m: torch.where(m > 0.2, m - 0.1, torch.where(m < -0.2, m + 0.1, 0 * m)) * m),
        ("reversed", [node("ReverseSequence", ["m", "lengths"], ["r"], batch_axis=0, time_axis=1),
                      node("Mul", ["r", "m"], ["y"])],
         lambda m: torch.stack([torch.cat([s[:n].flip(0), s[n:]]) for s, n in zip(m, (3, 5))]) * m),
        ("cropped", [node("CenterCropPad", ["m", "cut"], ["r"], axes=[1, 2]),
                     node("Mul", ["r", "r"], ["y"])],
         lambda m: functional.pad(m[:, 1:4], (1, 2)) ** 2),
        ("unpooled", [node("MaxPool", ["m"], ["p", "i"], kernel_shape=[2], strides=[2]),
                      node("Mul", ["p", "p"], ["q"]),
                      node("MaxUnpool", ["q", "i"], ["u"], kernel_shape=[2], strides=[2]),
                      node("Mul", ["u", "m"], ["y"])],
         lambda m: functional.max_unpool1d(*(lambda p, i: (p * p, i))(
             *functional.max_pool1d(m, 2, return_indices=True)), 2) * m),
        ("lp_pool", [node("LpPool", ["m"], ["y"], kernel_shape=[3], strides=[2], p=2)],
         lambda m: functional.lp_pool1d(m, 2, 3, 2)),
        ("global_lp_pool", [node("GlobalLpPool", ["m"], ["y"], p=3)],
         lambda m: (m.abs() ** 3).sum(2, True) ** (1 / 3)),
        ("likelihood", loss("mean", ["labels"]), lambda m: likelihood(m, "mean")),
        ("weighted", loss("mean", ["labels", "weights"], ignore_index=2),
         lambda m: likelihood(m, "mean", weight=weights, ignore_index=2)),
        ("each", loss("none", ["labels", "weights"]),
         lambda m: likelihood(m, "none", weight=weights)),
        ("grid", [node("Reshape", ["m", "image"], ["r"]), node("Tanh", ["m"], ["t"]),
                  node("Reshape", ["t", "places"], ["g"]),
                  node("GridSample", ["r", "g"], ["y"], mode="linear")],
         lambda m: functional.grid_sample(m.view(2, 1, 5, 8), torch.tanh(m).view(2, 5, 4, 2),
                                          align_corners=False)),
        ("regions", [node("Reshape", ["m", "image"], ["r"]),
                     node("RoiAlign", ["r", "rois", "samples"], ["a"], output_height=2,
                          output_width=3, sampling_ratio=2), node("Mul", ["a", "a"], ["y"])],
         lambda m: torchvision.ops.roi_align(
             m.view(2, 1, 5, 8), torch.cat([torch.tensor([[1.0], [0.0]]), rois], 1), (2, 3), 1.0, 2,
             True) ** 2),
    )
    constants["places"] = torch.tensor([2, 5, 4, 2])
    targets = torch.tensor([0, 2, 0, 1, 2]).view(1, 5, 1).expand(2, 5, 8)
    constants.update(targets=targets.clone(), half=torch.tensor(0.5), zero=torch.tensor([0]),
                     three=torch.tensor([3]), one_axis=torch.tensor([1]))

    def scattered(m, how):
        base = m[:, :3] * 0.5
        return base.scatter_reduce(1, targets, m, {"add": "sum"}.get(how, "a" + how)) ** 2

    for how in ("add", "max", "min"):
        cases += ((f"scattered_{how}", [
            node("Slice", ["m", "zero", "three", "one_axis"], ["f"]),
            node("Mul", ["f", "half"], ["base"]),
            node("ScatterElements", ["base", "targets", "m"], ["s"], axis=1, reduction=how),
            node("Mul", ["s", "s"], ["y"])], lambda m, how=how: scattered(m, how)),)
    constants.update(rows=torch.tensor([[1], [0], [1]]), pick=torch.tensor([0, 1, 1]))
    cases += (("scattered_rows", [
        node("Gather", ["m", "pick"], ["u"], axis=0),
        node("ScatterND", ["m", "rows", "u"], ["s"], reduction="add"),
        node("Mul", ["s", "s"], ["y"])],
        lambda m: m.index_add(0, torch.tensor([1, 0, 1]), m[[0, 1, 1]]) ** 2),)
    constants.update(wider=torch.tensor([1, 2, 0, 1]), cutting=torch.tensor([0, 1, -3, 0, -2, 1]),
                     behind=torch.tensor([2, -2]))
    cases += (("padded_axes", [node("Pad", ["m", "wider", "", "behind"], ["p"]),
                               node("Mul", ["p", "p"], ["y"])],
               lambda m: functional.pad(m, (1, 0, 2, 1)) ** 2),
              ("padded_and_cut", [node("Pad", ["m", "cutting"], ["p"]), node("Mul", ["p", "p"], ["y"])],
               lambda m: functional.pad(m, (-3, 1, 1, -2)) ** 2))
    stored = torch.randint(0, 256, (4, 1, 8)).to(torch.uint8)
    scales = torch.rand(4, 1)
    constants.update(stored=stored, scales=scales)
    few_bits = torch.tensor(training_operators.dequantized(stored.numpy(), scales.numpy(), 8, 16))
    cases += (("few_bits", [node("MatMulNBits", ["m", "stored", "scales"], ["y"], K=8, N=4, bits=4,
                                 block_size=16, domain="com.microsoft")], lambda m: m @ few_bits.T),)
    for name, nodes, function in cases:
        own = {"w": torch.rand(8, 8) - 0.5}
        opset = 26 if name == "cumulated_product" else 22
        model = _model([node("MatMul", ["x", "w"], ["m"]), *nodes], own, opset)
        read = {i for n in nodes for i in n.input}
        for constant, value in constants.items():
            if constant in read:
                model.graph.node.insert(0, node("Constant", [], [constant], value=(
                    onnx.numpy_helper.from_array(value.numpy()))))
        yield name, model, own, lambda x, w, f=function: f(x @ w)
