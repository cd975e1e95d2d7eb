#!/usr/bin/env python3
"""Times PyTorch's operators on the GPU of this machine: tables in the columns that `accuracy` and `dlcost calibrate` read.

Each row is one call, timed as a CUDA graph of many (median of five replays), so that no host is in it; a second run
under PyTorch's profiler tells the name and the launch grid of its longest kernel, and how many kernels it launched.
Sizes are drawn evenly on a logarithmic scale by a generator of fixed seed, whatever the device.

usage: measure_operators.py DEVICE FOLDER [--share S]    DEVICE as dlcost names it, S of all rows (1)
"""

import argparse
import csv
import json
import math
import random
import statistics
import sys
import tempfile
import time

import published_runs
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

TYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
LONGEST = 4e-3  # s; what would take longer by its arithmetic is not drawn
RATES = {"fp32": 50e12, "tf32": 300e12, "fp16": 600e12, "bf16": 600e12, "fp8": 1200e12}  # FLOP/s, for LONGEST alone
# By the form that they have for dlcost: cuDNN's are as fast as any, CUTLASS's memory-efficient ones as FlashAttention was.
BACKENDS = {"flash-2": SDPBackend.FLASH_ATTENTION, "flash": SDPBackend.CUDNN_ATTENTION,
            "flash-1": SDPBackend.EFFICIENT_ATTENTION}  # fmt: skip


def use(dtype):
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    torch.backends.cudnn.allow_tf32 = dtype == "tf32"


def seconds(call):
    """Median time of one call among many in a graph, in s."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(2):
            call()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        calls = max(3, min(200, int(0.5 / max(start.elapsed_time(end), 1e-3))))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(calls):
                call()
        graph.replay()
        times = []
        for _ in range(5):
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) / calls / 1e3)
    del graph
    return statistics.median(times)


def kernels(path):
    """What a trace says of each annotated case: {name of the case: [(kernel, grid, us)]}."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    cases = sorted((e["ts"], e["ts"] + e["dur"], e["name"]) for e in events if e.get("cat") == "user_annotation")
    launches = sorted((e["ts"], e["args"]["correlation"]) for e in events
                      if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {}))  # fmt: skip
    owner, at = {}, 0
    for ts, correlation in launches:
        while at < len(cases) and cases[at][1] < ts:
            at += 1
        if at < len(cases) and cases[at][0] <= ts:
            owner[correlation] = cases[at][2]
    found = {}
    for event in sorted((e for e in events if e.get("cat") == "kernel"), key=lambda e: e["ts"]):
        case = owner.get(event["args"]["correlation"])
        if case is not None:
            grid = "x".join(str(part) for part in event["args"]["grid"])
            found.setdefault(case, []).append((event["name"], grid, event["dur"]))
    return found


def measure(rows, make):
    """Times each row's call; returns the rows that ran, with what was seen."""
    done = []
    for first in range(0, len(rows), 50):
        calls = []
        for row in rows[first : first + 50]:
            use(row["dtype"])
            try:
                call = make(row)
                row["latency_us"] = round(1e6 * seconds(call), 3)
            except Exception as error:  # pylint: disable=broad-except
                print(f"{row}: {str(error).splitlines()[0][:120]}", flush=True)
                torch.cuda.synchronize()
                continue
            calls.append((row, call))
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                                torch.profiler.ProfilerActivity.CUDA]) as profile:  # fmt: skip
            for number, (row, call) in enumerate(calls):
                use(row["dtype"])
                with torch.profiler.record_function(f"case {number}"):
                    call()
            torch.cuda.synchronize()
        with tempfile.NamedTemporaryFile(suffix=".json") as trace:
            profile.export_chrome_trace(trace.name)
            seen = kernels(trace.name)
        for number, (row, _) in enumerate(calls):
            ran = seen.get(f"case {number}", [])
            if ran:
                longest = max(ran, key=lambda kernel: kernel[2])
                row.update(kernel=published_runs.short_kernel(longest[0]), grid=longest[1], kernels=len(ran))
            done.append(row)
        del calls, call
        torch.cuda.empty_cache()
    return done


def near(draw, low, high, step=1):
    return max(low, round(math.exp(draw.uniform(math.log(low), math.log(high))) / step) * step)


def products(draw, count):
    for dtype in ("fp32", "bf16", "fp16", "fp8"):
        for batched in (False, True):
            if dtype == "fp8" and batched:
                continue
            left = count if not batched else count // 2
            while left:
                step = 16 if dtype == "fp8" else draw.choice((1, 8, 8, 64, 64, 128))
                if batched:
                    batch, sizes = near(draw, 2, 512), [near(draw, 16, 2048, step) for _ in range(3)]
                else:
                    batch, sizes = 1, [near(draw, 1, 16384, step), near(draw, 64, 16384, step), near(draw, 64, 16384, step)]
                if 2 * batch * math.prod(sizes) / RATES[dtype] > LONGEST or batch * max(
                    sizes[0] * sizes[2], sizes[1] * sizes[2], sizes[0] * sizes[1]) > 5e8:  # fmt: skip
                    continue
                left -= 1
                m, n, k = sizes
                yield dict(dtype=dtype, batch=batch, m=m, n=n, k=k)


def product(row):
    b, m, n, k = row["batch"], row["m"], row["n"], row["k"]
    if row["dtype"] == "fp8":
        one = torch.ones((), device="cuda")
        x = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fn)
        w = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn)
        return lambda: torch._scaled_mm(x, w.t(), one, one, out_dtype=torch.bfloat16)  # pylint: disable=protected-access
    dtype = TYPES[row["dtype"]]
    if b > 1:
        x, w = torch.randn(b, m, k, device="cuda", dtype=dtype), torch.randn(b, k, n, device="cuda", dtype=dtype)
        return lambda: torch.bmm(x, w)
    x, w = torch.randn(m, k, device="cuda", dtype=dtype), torch.randn(n, k, device="cuda", dtype=dtype)
    return lambda: functional.linear(x, w)


def convolutions(draw, count):
    for dtype in ("fp32", "tf32", "fp16"):
        for direction in ("forward", "backward_data", "backward_weight"):
            left = count if direction == "forward" else count // 2
            while left:
                r, stride = draw.choice((1, 1, 3, 3, 3, 5, 7)), draw.choice((1, 1, 1, 2))
                step = draw.choice((1, 8, 16, 64))
                n, c, k = near(draw, 1, 128), near(draw, 3, 1024, step), near(draw, 16, 1024, step)
                h = near(draw, 7, 160)
                flop = 2 * n * c * k * r * r * (h / stride) ** 2
                if flop / RATES[dtype] > LONGEST / 2 or n * max(c, k) * h * h > 5e8 or h < r:
                    continue
                left -= 1
                yield dict(dtype=dtype, direction=direction, n=n, c=c, h=h, w=h, k=k, r=r, s=r, stride_h=stride,
                           stride_w=stride, pad_h=r // 2, pad_w=r // 2, layout=draw.choice(("nchw", "nhwc")))  # fmt: skip


def convolution(row):
    memory = torch.channels_last if row["layout"] == "nhwc" else torch.contiguous_format
    of = dict(device="cuda", dtype=TYPES[row["dtype"]])
    x = torch.randn(row["n"], row["c"], row["h"], row["w"], **of).to(memory_format=memory)
    w = torch.randn(row["k"], row["c"], row["r"], row["s"], **of).to(memory_format=memory)
    stride, pad = row["stride_h"], row["pad_h"]
    if row["direction"] == "forward":
        return lambda: functional.conv2d(x, w, stride=stride, padding=pad)
    y = functional.conv2d(x, w, stride=stride, padding=pad)
    mask = [row["direction"] == "backward_data", row["direction"] == "backward_weight", False]
    backward = torch.ops.aten.convolution_backward
    return lambda: backward(y, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], 1, mask)


def attentions(draw, count):
    for phase, causal in (("encoder", 0), ("encoder", 1), ("decode", 0)):  # of keys that lie one after the other
        for form in BACKENDS:
            left = count if form != "flash-1" else count // 2
            while left:
                heads = draw.choice((8, 12, 16, 32, 64))
                width = draw.choice((32, 64, 64, 80, 128, 128))
                batch = near(draw, 1, 64)
                kv = near(draw, 32, 8192, draw.choice((1, 16, 64)))
                q = 1 if phase == "decode" else kv
                if 4 * batch * heads * q * kv * width / 500e12 > LONGEST or batch * heads * kv * width > 5e8:
                    continue
                left -= 1
                yield dict(dtype="bf16", kv_dtype="bf16", phase=phase, causal=causal, batch=batch,
                           q_len=q, kv_len=kv, heads=heads, kv_heads=heads, head_dim=width, form=form,
                           mask=int(form == "flash-1" and draw.random() < 0.5))  # fmt: skip


def attention(row):
    def of(positions):
        shape = (row["batch"], positions, row["heads"], row["head_dim"])
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16).transpose(1, 2)

    q, k, v = of(row["q_len"]), of(row["kv_len"]), of(row["kv_len"])
    mask = None
    if row["mask"]:
        aligned = (row["kv_len"] + 7) // 8 * 8
        mask = torch.zeros(row["batch"], 1, row["q_len"], aligned, device="cuda", dtype=torch.bfloat16)[..., : row["kv_len"]]
        mask = mask.expand(-1, row["heads"], -1, -1)
    causal = bool(row["causal"]) and mask is None

    def call():
        with sdpa_kernel(BACKENDS[row["form"]]):
            return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)

    return call


def elementwise(draw, count):
    for dtype in ("fp32", "bf16"):
        for op in ("add", "mul", "relu", "gelu", "tanh", "softmax", "layernorm"):
            for _ in range(count):
                rows, cols = near(draw, 32, 32768), near(draw, 32, 16384, draw.choice((1, 8, 128)))
                while rows * cols > 2.5e8:
                    rows //= 2
                yield dict(dtype=dtype, op=op, rows=rows, cols=cols)


def pass_over(row):
    dtype = TYPES[row["dtype"]]
    x = torch.randn(row["rows"], row["cols"], device="cuda", dtype=dtype)
    other = torch.randn_like(x)
    scale = torch.randn(row["cols"], device="cuda", dtype=dtype)
    return {
        "add": lambda: x + other,
        "mul": lambda: x * other,
        "relu": lambda: functional.relu(x),
        "gelu": lambda: functional.gelu(x),
        "tanh": lambda: torch.tanh(x),
        "softmax": lambda: torch.softmax(x, -1),
        "layernorm": lambda: functional.layer_norm(x, (row["cols"],), scale, scale),
    }[row["op"]]


TABLES = (("gemm", products, product, 160), ("elementwise", elementwise, pass_over, 40),
          ("attention", attentions, attention, 60), ("conv", convolutions, convolution, 160))  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("device")
    parser.add_argument("folder")
    parser.add_argument("--share", type=float, default=1)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    for name, draws, make, count in TABLES:
        began = time.time()
        rows = list(draws(random.Random(name), max(2, int(count * arguments.share))))
        asked = list(rows[0])
        rows = measure(rows, make)
        columns = ["device", *asked, "latency_us", "timing", "source", "kernel", "grid", "kernels"]
        with open(f"{arguments.folder}/{name}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
            writer.writeheader()
            for row in rows:
                writer.writerow({**row, "device": arguments.device, "timing": "graph", "source": "pytorch"})
        print(f"{name}: {len(rows)} rows, {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
