#!/usr/bin/env python3
"""Expected times of Transformer-XL against those that NVIDIA published, in Python and under TorchScript.

Each row of the table of its DeepLearningExamples (base and large, A100, V100 and T4) becomes the command line that a
user of its run would write. The network is written here with the calls of the source (mem_transformer.py), but with
products of lists of matrices where that calls einsum, and with as many rows of text in each part of the adaptive
softmax as its share of a text has. kViewCall and kModelCall (estimator/roofline/part.h) were set with the difference
between Python and TorchScript, nothing with the times themselves.

usage: transformer_xl.py DLCOST serving.csv FOLDER [--rows]
       transformer_xl.py --export FOLDER    write base.onnx and large.onnx, of weights their shapes alone (PyTorch 1.13)
"""

import collections
import re
import sys

import published_runs

# layers, heads, width, width of a head, inner width, positions, positions of the memory
SIZES = {"base": (16, 8, 512, 64, 2048, 64, 640), "large": (18, 16, 1024, 64, 4096, 128, 1600)}
VOCABULARY, CUTOFFS = 267735, (19997, 39997, 199997)
DEVICES = {"A100-SXM4-40GB": "a100-sxm4-40gb", "V100-SXM2-16GB": "v100-sxm2-16gb", "T4": "t4"}
TYPES = {"fp16": ("--dtype", "f16"), "tf32": ("--math", "tf32"), "fp32": ("--math", "default")}
RUNTIMES = {"pure Python": "pytorch-eager", "TorchScript": "torchscript"}


def network(layers, heads, width, head, inner):
    import torch  # pylint: disable=import-outside-toplevel
    from torch import nn  # pylint: disable=import-outside-toplevel

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(width, 3 * heads * head, bias=False)
            self.positions = nn.Linear(width, heads * head, bias=False)
            self.out = nn.Linear(heads * head, width, bias=False)
            self.norm = nn.LayerNorm(width)

        @staticmethod
        def shift(x):
            zeros = torch.zeros((x.size(0), x.size(1), x.size(2), 1), dtype=x.dtype)
            padded = torch.cat([zeros, x], dim=3).view(x.size(0), x.size(1), x.size(3) + 1, x.size(2))
            return padded[:, :, 1:].view(x.size(0), x.size(1), x.size(2), x.size(3))

        def forward(self, x, positions, content_bias, position_bias, mask, memory):
            queries, batch = x.size(0), x.size(1)
            everything = self.qkv(torch.cat([memory, x], 0))
            keys = everything.size(0)
            at = self.positions(positions).view(keys, heads, head).permute(1, 2, 0)
            q, k, v = torch.chunk(everything, 3, dim=-1)
            q = q[-queries:].view(queries, batch, heads, head)
            k = k.view(keys, batch, heads, head).reshape(keys, batch * heads, head)
            v = v.view(keys, batch, heads, head).reshape(keys, batch * heads, head)
            content = (q + content_bias).view(queries, batch * heads, head).transpose(0, 1)
            content = torch.bmm(content, k.permute(1, 2, 0)).view(batch, heads, queries, keys)
            position = self.shift(torch.matmul((q + position_bias).permute(1, 2, 0, 3), at))
            scores = ((content + position) * head**-0.5).masked_fill(mask[None, None], -65504.0)
            p = nn.functional.softmax(scores, dim=3).view(batch * heads, queries, keys)
            mixed = torch.bmm(p, v.permute(1, 0, 2)).view(batch, heads, queries, head)
            mixed = mixed.permute(2, 0, 1, 3).contiguous().view(queries, batch, heads * head)
            return self.norm(x + self.out(mixed))

    class Feed(nn.Module):
        def __init__(self):
            super().__init__()
            self.wide, self.narrow = nn.Linear(width, inner), nn.Linear(inner, width)
            self.norm = nn.LayerNorm(width)

        def forward(self, x):
            return self.norm(x + self.narrow(nn.functional.relu(self.wide(x))))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(VOCABULARY, width)
            self.attention = nn.ModuleList([Attention() for _ in range(layers)])
            self.feed = nn.ModuleList([Feed() for _ in range(layers)])
            shapes = ((heads, head), (heads, head), (width // 2,), (VOCABULARY,), (3, width), (3,))
            self.biases = nn.ParameterList([nn.Parameter(torch.empty(s)) for s in shapes])

        def forward(self, text, memory, target):
            content, position, frequencies, bias, clusters, cluster_bias = self.biases
            past, keys = memory.size(1), memory.size(1) + text.size(0)
            x = self.words(text) * width**0.5
            mask = torch.triu(torch.ones((text.size(0), keys)), 1 + past).bool()
            angles = torch.outer(torch.arange(keys - 1, -1, -1.0).clamp(max=400.0), frequencies)
            positions = torch.cat([angles.sin(), angles.cos()], -1)
            hidden = [x]
            for i in range(layers):
                x = self.attention[i](x, positions, content, position, mask, memory[i])
                x = self.feed[i](x)
                hidden.append(x)
            kept = torch.stack([torch.cat([memory[i], hidden[i]], 0)[text.size(0) :] for i in range(layers)])
            return self.loss(x.view(-1, width), target.view(-1), bias, clusters, cluster_bias), kept

        def loss(self, x, target, bias, clusters, cluster_bias):
            first = CUTOFFS[0]
            head_weight = torch.cat([self.words.weight[:first], clusters], 0)
            head_bias = torch.cat([bias[:first], cluster_bias], 0)
            frequent = nn.functional.log_softmax(nn.functional.linear(x, head_weight, head_bias), dim=1)
            losses = -frequent.gather(1, target.clamp(max=first - 1)[:, None]).squeeze(1)
            for i, (begin, end) in enumerate(zip(CUTOFFS, (*CUTOFFS[1:], VOCABULARY))):
                rows = max(1, x.size(0) // (8 << i))
                weight, shift = self.words.weight[begin:end], bias[begin:end]
                rare = nn.functional.log_softmax(nn.functional.linear(x[:rows], weight, shift), dim=1)
                word = rare.gather(1, target[:rows].clamp(max=0)[:, None]).squeeze(1)
                losses = torch.cat([-(frequent[:rows, -i - 1] + word), losses[rows:]], 0)
            return losses.mean()

    for fill in ("normal_", "uniform_"):  # what the weights are does not matter
        setattr(torch.Tensor, fill, lambda tensor, *_, **__: tensor)
    return Network().eval()


def export(folder):
    """The networks without their weights."""
    import onnx  # pylint: disable=import-outside-toplevel
    import torch  # pylint: disable=import-outside-toplevel

    names = ["text", "memory", "target"]
    for name, (*sizes, positions, memory) in SIZES.items():
        path = f"{folder}/{name}.onnx"
        text = torch.zeros(positions, 2, dtype=torch.long)
        example = (text, torch.zeros(sizes[0], memory, 2, sizes[2]), text)
        axes = {"text": {1: "batch"}, "memory": {2: "batch"}, "target": {1: "batch"}}
        torch.onnx.export(network(*sizes), example, path, opset_version=14, input_names=names,
                          output_names=["loss", "kept"], export_params=False, dynamic_axes=axes)  # fmt: skip
        model = onnx.load(path, load_external_data=False)
        published_runs.weights_of_shapes(model, names)
        onnx.save(model, path)


def main():
    if sys.argv[1:2] == ["--export"]:
        export(sys.argv[2])
        return
    arguments = published_runs.folder_arguments().parse_args()
    rows = []
    for row in published_runs.read(arguments.table):
        how = re.search("|".join(RUNTIMES), row["note"])
        if row["model"] == "LanguageModeling/Transformer-XL" and row["metric"] == "latency" and how:
            size = "base" if row["note"].startswith("Base") else "large"
            rows.append((size, DEVICES[row["device"]], RUNTIMES[how.group()], row))
    questions = [(f"{arguments.folder}/{size}.onnx", ("--gpu", device, "--runtime", runtime, *TYPES[row["precision"]],
                  "--dim", f"batch={row['batch']}")) for size, device, runtime, row in rows]  # fmt: skip
    groups = collections.defaultdict(list)
    for (size, device, runtime, row), totals in zip(rows, published_runs.totals_all(arguments.dlcost, questions)):
        measured, time = float(row["value"]), totals["expected_s"] * 1e3
        if arguments.rows:
            print(f"{size} {device} {runtime} {row['precision']} {row['batch']}: {measured:.2f} ms, expected {time:.2f} ms"
                  f" ({100 * (time / measured - 1):+.0f}%)")  # fmt: skip
        for part in ((0, f"{device} {runtime}"), (1, f"all {runtime}"), (2, "all")):
            groups[part].append(time / measured - 1)
    print(published_runs.head("device, runtime"))
    for (_, name), errors in sorted(groups.items()):
        print(published_runs.line(name, errors))


if __name__ == "__main__":
    main()
