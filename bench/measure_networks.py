#!/usr/bin/env python3
"""Times networks of timm and Hugging Face under PyTorch on the GPU of this machine, and writes what dlcost reads of them.

FOLDER gets runs.csv (a line per network, way of running, type and batch: the time of a step, the time that its kernels
took), kernels.csv (what calls launched, a line per operator, sizes, kernel and grid: how often, the middle of its times)
and the traces of two networks; with --export the networks as ONNX files of weights their shapes alone. A way is `eager`, `graph` (eager, replayed as a CUDA graph), `compile`
(torch.compile) or `train` (eager, SGD with momentum).

usage: measure_networks.py DEVICE FOLDER [--seconds S] [--only NETWORK,...] [--batches B,...] [--export]
"""

import argparse
import collections
import csv
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time

import published_runs
import torch

# This folder has a timm.py of its own.
sys.path = [path for path in sys.path if os.path.abspath(path) != os.path.dirname(os.path.abspath(__file__))]

TIMM = {  # name: side of its images
    "resnet50": 224, "vgg16": 224, "mobilenetv3_large_100": 224, "efficientnet_b0": 224, "densenet121": 224,
    "convnext_tiny": 224, "vit_base_patch16_224": 224, "swin_tiny_patch4_window7_224": 224, "regnety_032": 224,
    "resnext50_32x4d": 224, "resnet18": 224, "inception_v3": 299, "mobilenetv2_100": 224, "seresnet50": 224,
    "mixer_b16_224": 224, "darknet53": 256, "hrnet_w18": 224, "efficientnetv2_rw_s": 288, "mobilevit_s": 256,
    "beit_base_patch16_224": 224, "levit_256": 224,
}  # fmt: skip
TEXT = {"bert-base": 128, "gpt2": 512, "llama-1b": 512, "t5-encoder": 256, "distilbert": 384, "bart-base": 256, "opt-125m": 1024,
        "pythia-410m": 256, "qwen2-0.5b": 1024}  # name: tokens; fmt: skip
AUDIO = {"wav2vec2-base": 80000}  # name: samples
TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
BATCHES = {"fp16": (1, 8, 64), "fp32": (1, 8, 32)}
TRAINED = {"resnet50": 64, "mobilenetv3_large_100": 64, "bert-base": 16, "convnext_tiny": 32, "vit_base_patch16_224": 32,
           "gpt2": 4, "resnet18": 128, "mobilenetv2_100": 64, "seresnet50": 32, "mixer_b16_224": 32, "darknet53": 32,
           "distilbert": 16, "opt-125m": 4, "pythia-410m": 8}  # fmt: skip
TRACED = ("resnet50", "bert-base")  # whose traces are kept, of eight at a time
COMPILED = ("resnet50", "bert-base", "vit_base_patch16_224", "llama-1b", "mobilenetv3_large_100")


class First(torch.nn.Module):
    """A Hugging Face model as a function of token numbers to one tensor."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(tokens, return_dict=False)[0]


def configured(hf, name):
    """Of Hugging Face's with few lines of configuration."""
    short = {"vocab_size": 50272, "use_cache": False}
    return {
        "distilbert": lambda: hf.DistilBertModel(hf.DistilBertConfig()),
        "bart-base": lambda: hf.BartModel(hf.BartConfig(d_model=768, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=3072,
                                                        encoder_attention_heads=12, decoder_attention_heads=12,
                                                        decoder_ffn_dim=3072, use_cache=False)),
        "opt-125m": lambda: hf.OPTForCausalLM(hf.OPTConfig(**short)),
        "pythia-410m": lambda: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(
            vocab_size=50304, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096,
            use_cache=False)),
        "qwen2-0.5b": lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(
            vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
            num_key_value_heads=2, tie_word_embeddings=True, use_cache=False)),
        "wav2vec2-base": lambda: hf.Wav2Vec2Model(hf.Wav2Vec2Config()),
    }[name]()  # fmt: skip


def network(name):
    if name in TIMM:
        import timm  # pylint: disable=import-outside-toplevel

        return timm.create_model(name)
    import transformers as hf  # pylint: disable=import-outside-toplevel

    if name == "bert-base":
        return First(hf.BertModel(hf.BertConfig()))
    if name == "gpt2":
        return First(hf.GPT2LMHeadModel(hf.GPT2Config(use_cache=False)))
    if name == "t5-encoder":
        config = hf.T5Config(d_model=768, d_ff=3072, num_layers=12, num_heads=12, use_cache=False)
        return First(hf.T5EncoderModel(config))
    if name != "llama-1b":
        return First(configured(hf, name))
    config = hf.LlamaConfig(vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                            num_attention_heads=32, num_key_value_heads=8, head_dim=64, tie_word_embeddings=True,
                            use_cache=False)  # fmt: skip
    return First(hf.LlamaForCausalLM(config))


def inputs(name, batch, dtype, device):
    if name in TIMM:
        return torch.randn(batch, 3, TIMM[name], TIMM[name], device=device, dtype=dtype)
    if name in AUDIO:
        return torch.randn(batch, AUDIO[name], device=device, dtype=dtype)
    return torch.randint(0, 1000, (batch, TEXT[name]), device=device)


def export(name, path):
    import onnx  # pylint: disable=import-outside-toplevel

    model = network(name).eval()
    x = inputs(name, 2, torch.float32, "cpu")
    with tempfile.TemporaryDirectory() as folder, torch.enable_grad():
        whole = f"{folder}/model.onnx"
        told = dict(opset_version=17, input_names=["input"], output_names=["output"], export_params=False,
                    dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}}, do_constant_folding=False,
                    training=torch.onnx.TrainingMode.PRESERVE)  # fmt: skip
        new = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 5)
        try:
            torch.onnx.export(model, x, whole, **told, **({"dynamo": False} if new else {}))
        except Exception:  # pylint: disable=broad-except
            if not new:
                raise
            made = torch.onnx.export(model, (x,), dynamo=True, opset_version=18, input_names=["input"], optimize=False,
                                     dynamic_shapes=({0: torch.export.Dim("batch")},))  # fmt: skip
            made.save(whole, external_data=True)
        file = onnx.load(whole, load_external_data=False)
    stored = {tensor.name: tensor for tensor in file.graph.initializer}
    for tensor in stored.values():
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            del tensor.external_data[:]
            tensor.external_data.add(key="location", value="weights.bin")
    if not any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in stored.values()):
        published_runs.weights_of_shapes(file, {"input"})
    onnx.save(file, path)


def steps(call, least=0.25):
    """Middle of the times of a step, in s, of groups that follow each other without waiting."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    began = time.perf_counter()
    call()
    torch.cuda.synchronize()
    one = time.perf_counter() - began
    group = max(3, min(100, int(least / 3 / max(one, 1e-5))))
    times = []
    for _ in range(3):
        began = time.perf_counter()
        for _ in range(group):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) / group)
    return statistics.median(times)


def profile(call, keep=None):
    """The kernels of one step: (start in us, time in us, name, grid, operator)."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, record_shapes=True) as trace:
        call()
        torch.cuda.synchronize()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        trace.export_chrome_trace(file.name)
        if keep:
            shutil.copy(file.name, keep)
        with open(file.name, encoding="utf-8") as told:
            events = json.load(told)["traceEvents"]
    names = {e["args"]["External id"]: (e["name"], e["args"].get("Input Dims", "")) for e in events
             if e.get("cat") == "cpu_op" and "External id" in e.get("args", {})}  # fmt: skip
    ran = sorted((e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")), key=lambda e: e["ts"])
    first = ran[0]["ts"] if ran else 0
    for event in ran:
        about = event["args"]
        op, dims = names.get(about.get("External id"), ("", ""))
        yield (round(event["ts"] - first, 3), event["dur"], event["name"],
               "x".join(str(part) for part in about.get("grid", [])), op, json.dumps(dims, separators=(",", ":")))  # fmt: skip


class Calls:
    """What calls launched, from all steps but those that a graph replays, which tell no operators."""

    def __init__(self):
        self.times = collections.OrderedDict()

    def add(self, way, dtype, kernels):
        for _, took, name, grid, op, dims in kernels:
            dims = re.sub(r"(,\[\])+\]$", "]", dims)  # operands that are no tensors
            key = (way, dtype, op, dims, published_runs.short_kernel(name), grid)
            self.times.setdefault(key, []).append(took)

    def write(self, path):
        with open(path, "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow("way dtype op dims kernel grid calls us".split())
            for key, times in self.times.items():
                took = round(statistics.median(times), 2)
                if took >= 5:
                    table.writerow([*key, len(times), took])


class Tables:
    def __init__(self, folder, device):
        self.device, self.folder, self.calls = device, folder, Calls()
        self.runs = open(f"{folder}/runs.csv", "w", encoding="utf-8", newline="")  # pylint: disable=consider-using-with
        self.run = csv.writer(self.runs, lineterminator="\n")
        self.run.writerow("network device way dtype batch step_us kernels_us kernels".split())

    def add(self, name, way, dtype, batch, call):
        step = steps(call)
        keep = f"{self.folder}/{name}-{way}-{dtype}-{batch}.json" if name in TRACED and batch == 8 else None
        ran = list(profile(call, keep))
        only = [kernel for kernel in ran if not kernel[2].startswith("Mem")]
        took = sum(kernel[1] for kernel in ran)
        self.run.writerow([name, self.device, way, dtype, batch, round(1e6 * step, 1), round(took, 1), len(only)])
        self.runs.flush()
        if way != "graph":
            self.calls.add(way, dtype, ran)
            self.calls.write(f"{self.folder}/kernels.csv")


def graph_of(call):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


def infer(tables, name, model, dtype, batch):
    x = inputs(name, batch, TYPES[dtype], "cuda")

    def call():
        with torch.no_grad():
            return model(x)

    tables.add(name, "eager", dtype, batch, call)
    graph = graph_of(call)
    tables.add(name, "graph", dtype, batch, graph.replay)
    del graph


def train(tables, name, dtype, batch):
    model = network(name).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6, momentum=0.9)
    x = inputs(name, batch, torch.float32, "cuda")

    def call():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=dtype == "amp-bf16"):
            loss = model(x).float().sum()
        loss.backward()
        optimizer.step()

    tables.add(name, "train", dtype, batch, call)


def compiled(tables, name, dtype, batch):
    model = network(name).cuda().eval().to(TYPES[dtype])
    x = inputs(name, batch, TYPES[dtype], "cuda")
    made = torch.compile(model)

    def call():
        with torch.no_grad():
            return made(x)

    tables.add(name, "compile", dtype, batch, call)


def cases(names, batches):
    """What to run, most wanted first: (what, name, dtype, batch)."""
    large = ("llama-1b", "qwen2-0.5b")
    for dtype in ("fp16", "fp32"):
        for name in names:
            yield ("infer", name, dtype, tuple(b for b in batches or BATCHES[dtype] if name not in large or b < 32))
    for dtype in ("amp-bf16", "fp32"):
        for name in names:
            if name in TRAINED:
                yield ("train", name, dtype, (TRAINED[name],))
    for name in names:
        if name in COMPILED:
            yield ("compile", name, "fp16", (8,))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("device")
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing later than this")
    parser.add_argument("--only", default=",".join([*TIMM, *TEXT, *AUDIO]))
    parser.add_argument("--batches", help="of inference; without: 1, 8 and 32 or 64")
    parser.add_argument("--export", action="store_true", help="write the networks alone; needs no GPU")
    arguments = parser.parse_args()
    names, began = arguments.only.split(","), time.time()
    batches = tuple(int(b) for b in arguments.batches.split(",")) if arguments.batches else None
    torch.manual_seed(0)
    if arguments.export:
        for name in names:
            if not os.path.exists(f"{arguments.folder}/{name}.onnx"):
                try:
                    export(name, f"{arguments.folder}/{name}.onnx")
                except Exception as error:  # pylint: disable=broad-except
                    print(f"export {name}: {type(error).__name__} {str(error)[:200]}", flush=True)
        return
    tables = Tables(arguments.folder, arguments.device)
    for what, name, dtype, batches in cases(names, batches):
        if time.time() - began > arguments.seconds:
            print(f"no time for {what} {name} {dtype}")
            continue
        try:
            at = time.time()
            model = network(name).cuda().eval().to(TYPES[dtype]) if what == "infer" else None
            for batch in batches:
                if what == "infer":
                    infer(tables, name, model, dtype, batch)
                elif what == "train":
                    train(tables, name, dtype, batch)
                else:
                    compiled(tables, name, dtype, batch)
            print(f"{what} {name} {dtype} {time.time() - at:.1f} s", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            print(f"{what} {name} {dtype}: {type(error).__name__} {str(error)[:200]}", flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(main())
