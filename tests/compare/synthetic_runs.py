"""Runs of reference networks as a profiler would record them, with known truth: which node every launch computes.

What a launch counts and takes is worked out here, from the nodes' own counts (multiply-accumulates and bytes) and round
numbers of a device, not from what the program under test expects of a kernel. Names are those that cuDNN, cuBLAS,
PyTorch and others give their kernels; frameworks differ in what they fuse.
"""

import collections
import dataclasses

# FLOP/s of fp32, bytes/s and multiprocessors, as the vendors print them; whether matrix units run fp32 convolutions
# (TF32).
DEVICES = {
    "p4": (5.5e12, 192e9, 20, False),
    "v100-sxm2-16gb": (15.7e12, 900e9, 80, False),
    "t4": (8.1e12, 320e9, 40, False),
    "a100-sxm4-40gb": (19.5e12, 1555e9, 108, True),
    "h100-sxm5": (67e12, 3350e9, 132, True),
}

# Name, settings to choose from, options of the command line to choose from.
NETWORKS = [
    ("alexnet", [(), ("conv4=384", "classes=1001")], [("--batch", "1"), ("--batch", "16")]),
    ("resnet18", [()], [("--batch", "1"), ("--batch", "8")]),
    ("resnet34", [()], [("--batch", "4")]),
    ("resnet50", [(), ("norm=kept",)], [("--batch", "1"), ("--batch", "16")]),
    ("resnet101", [()], [("--batch", "2")]),
    ("vgg16", [()], [("--batch", "1"), ("--batch", "8")]),
    ("vgg19", [()], [("--batch", "2")]),
    ("mobilenet-v2", [()], [("--batch", "1"), ("--batch", "32")]),
    ("lstm", [("layers=1",), ("layers=2",), ("layers=4", "hidden=512")],
     [("--batch", "64", "--dim", "sequence=16"), ("--batch", "128", "--dim", "sequence=8")]),
    ("bert-base", [("layers=4",), ("layers=12",)],
     [("--batch", "1", "--dim", "sequence=128"), ("--batch", "8", "--dim", "sequence=64")]),
    ("gpt2", [("layers=6",), ("layers=12",)], [("--batch", "1", "--dim", "sequence=64")]),
    ("transformer-base", [("layers=2",), ("layers=6",)],
     [("--batch", "1", "--dim", "source=64", "--dim", "target=64")]),
]


@dataclasses.dataclass
class Launch:
    name: str
    nodes: frozenset  # that it computes; empty: none, it is foreign
    flops: float      # as counters of the vector pipe see them
    bytes: float
    seconds: float
    call: str = ""    # of the framework
    node: str = ""    # that a range around it names


# Names by what a kernel does; the first is taken for all launches of one run of the generator, so that kernels of equal
# shapes have equal names.
NAMES = {
    "pool": ["void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int, float const*)",
             "void cudnn::detail::pooling_fw_4d_kernel<float, float, cudnn::detail::maxpooling_func<float>>"],
    "average": ["void at::native::(anonymous namespace)::adaptive_average_pool<float>(float const*, float*)",
                "void cudnn::detail::pooling_fw_4d_kernel<float, float, cudnn::detail::averpooling_func<float>>"],
    "norm": ["void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float)"],
    "batch_norm": ["void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float, float)"],
    "softmax": ["void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>"],
    "pointwise": ["void at::native::vectorized_elementwise_kernel<4, at::native::relu>(int)",
                  "void at::native::elementwise_kernel<128, 2, at::native::CUDAFunctor_add<float>>(int)"],
    "gather": ["void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2>"],
    "layout": ["void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 4, 64, 64>"],
    "reduce": ["void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(at::native::ReduceOp<float>)"],
    "bias": ["void tensorflow::BiasNCHWKernel<float>(int, float const *, float const , float*, int, int)",
             "void at::native::elementwise_kernel<128, 2, at::native::CUDAFunctor_add<float>>(int)"],
}
CALLS = {"attention": "aten::scaled_dot_product_attention", "Conv": "aten::conv2d", "MatMul": "aten::linear", "Gemm": "aten::linear", "LSTM": "aten::lstm",
         "MaxPool": "aten::max_pool2d", "GlobalAveragePool": "aten::adaptive_avg_pool2d",
         "AveragePool": "aten::avg_pool2d", "LayerNormalization": "aten::layer_norm", "Softmax": "aten::softmax",
         "Gather": "aten::embedding", "Relu": "aten::relu", "Add": "aten::add", "Mul": "aten::mul",
         "Concat": "aten::cat", "Transpose": "aten::permute", "BatchNormalization": "aten::batch_norm"}
FOREIGN = [("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 40e-6, 0),
           ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)", 2e-6, 0),
           ("void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4>", 8e-6, 0),
           ("void optimizer_step_kernel(float*, float const*)", 5e-6, 1e5)]


class Generator:
    """One run of a model: `report` is the program's JSON for it, of which only counts and the plan are used."""

    def __init__(self, report, device, random):
        self.report, self.random = report, random
        self.peak, self.bandwidth, self.units, self.tf32 = DEVICES[device]
        self.nodes = {node["name"]: node for node in report["nodes"]}
        self.eager = random.random() < 0.5  # bias, activation and additions are kernels of their own
        self.winograd = random.random() < 0.5
        self.flash = random.random() < 0.5
        self.chosen = {kind: random.choice(names) for kind, names in NAMES.items()}
        # One pace for the whole device, a little noise for each kernel.
        self.pace = random.uniform(1.05, 1.6)

    def seconds(self, flops, size, outputs=0):
        """Products run in blocks of 64 x 64 outputs, one on a multiprocessor: few of them leave others idle."""
        noise = self.random.lognormvariate(0, 0.08)
        blocks = -(-outputs // 4096) if outputs else self.units
        used = blocks / (-(-blocks // self.units) * self.units)
        return 2e-6 + self.pace * noise * max(flops / self.peak / 0.8 / used, size / self.bandwidth / 0.85)

    def launch(self, kernel, name, flops, size, counted=None):
        main = self.nodes[kernel["main"]]["op"]
        if kernel["macs"] > 0 and main not in ("Conv", "Gemm", "MatMul", "LSTM"):
            main = "attention"
        outputs = sum(self.elements(self.nodes[kernel["main"]]["outputs"])) if kernel["macs"] > 0 else 0
        return Launch(name, frozenset(kernel["nodes"]), round(flops if counted is None else counted), size,
                      self.seconds(flops, size, outputs), CALLS.get(main, "aten::" + main.lower()), kernel["main"])

    def kernel(self, kernel):
        """The launches of one kernel of the plan."""
        op = self.nodes[kernel["main"]]["op"]
        macs, size = kernel["macs"], kernel["bytes"]
        outputs = sum(self.elements(self.nodes[kernel["nodes"][-1]]["outputs"]))
        if op == "Conv":
            launches = self.convolution(kernel, 2 * macs, size, outputs)
        elif op == "LSTM":
            launches = self.recurrent(kernel, 2 * macs, size)
        elif macs > 0 and "flash" in kernel["algorithm"] or "attention" in kernel["algorithm"]:
            launches = self.attention(kernel, 2 * macs, size)
        elif macs > 0:
            launches = self.product(kernel, 2 * macs, size)
        else:
            return [self.other(kernel, op, size)]
        if self.eager and op != "LSTM":
            followers = [self.nodes[n]["op"] for n in kernel["nodes"] if n != kernel["main"]]
            if op == "Conv" and len(self.nodes[kernel["main"]]["inputs"]) > 2:
                launches.append(self.launch(kernel, self.chosen["bias"], outputs, 8 * outputs))
            for follower in followers:
                if follower in ("Relu", "Add", "Clip", "Gelu", "Mul", "Tanh"):
                    launches.append(self.launch(kernel, self.chosen["pointwise"], outputs, 8 * outputs,
                                                0 if follower == "Relu" else outputs))
        return launches

    @staticmethod
    def elements(operands):
        for operand in operands:
            count = 1
            for extent in operand["shape"] or []:
                count *= extent
            yield count

    def convolution(self, kernel, flops, size, outputs):
        node = self.nodes[kernel["main"]]
        weights = node["inputs"][1]["shape"]
        out, channels, filter_size = weights[0], weights[1], weights[2]
        strides = node["attributes"].get("strides", "1")
        if channels == 1:
            return [self.launch(kernel, "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<1, float>",
                                flops, size)]
        if self.tf32:
            name = ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4"
                    if out >= 128 else
                    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x64x16_stage4")
            return [self.launch(kernel, "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>", 0, size / 2),
                    self.launch(kernel, name, flops / 4, size, 2 * outputs)]
        if self.winograd and filter_size == 3 and strides in ("1", "1,1") and channels >= 32:
            return [self.launch(kernel, "void cudnn::winograd::generateWinogradTilesKernel<0, float, float>",
                                58 * channels * out, 4 * 25 * channels * out),
                    self.launch(kernel, "maxwell_scudnn_winograd_128x128_tile148n_nt",
                                self.winograd_flops(node, channels, out), size)]
        name = "maxwell_scudnn_128x64_relu_interior_nn" if out < 256 else "maxwell_scudnn_128x128_relu_interior_nn"
        return [self.launch(kernel, name, flops * self.random.uniform(1.005, 1.06), size)]

    @staticmethod
    def winograd_flops(node, channels, out):
        """F(2x2, 3x3): 16 products per tile and pair of channels; transforms of 32 additions per tile and channel for
        every 128 filters, and of 24 per tile and filter."""
        images, _, rows, columns = node["outputs"][0]["shape"]
        tiles = images * -(-rows // 2) * -(-columns // 2)
        return tiles * (32 * channels * out + 32 * channels * -(-out // 128) + 24 * out)

    def product(self, kernel, flops, size):
        rows = flops / 2 / max(1.0, size / 4)
        if rows < 1.5:
            return [self.launch(kernel, "void gemv2T_kernel_val<int, int, float, float, float, 128, 16, 4, 4, false>",
                                1.02 * flops, size)]
        if self.tf32 and self.random.random() < 0.5:
            return [self.launch(kernel, "ampere_sgemm_128x64_tn", flops * 1.003, size)]
        name = "volta_sgemm_128x64_tn" if flops > 1e9 else "volta_sgemm_32x128_tn"
        launches = [self.launch(kernel, name, flops * self.random.uniform(1.002, 1.03), size)]
        if self.random.random() < 0.1:
            launches.append(self.launch(kernel, "void cublasLt::splitKreduce_kernel<32, 16, int, float, float>",
                                        size / 8, size / 4))
        return launches

    def attention(self, kernel, flops, size):
        if self.flash:
            return [self.launch(kernel, "flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, float>>", flops, size)]
        return [self.launch(kernel, "volta_sgemm_64x64_tn", flops / 2, size),
                self.launch(kernel, self.chosen["softmax"], flops / 100, size),
                self.launch(kernel, "volta_sgemm_64x64_nn", flops / 2, size)]

    def recurrent(self, kernel, flops, size):
        steps = self.nodes[kernel["main"]]["inputs"][0]["shape"][0]
        launches = [self.launch(kernel, "volta_sgemm_128x128_nn", flops / 2, size)]
        for _ in range(steps):
            launches.append(self.launch(kernel, "volta_sgemm_32x128_nn", flops / 2 / steps, size / 4))
            launches.append(self.launch(kernel, "void elemWiseRNNcell<float, float, LSTM_elementWise_fp>", size / 50,
                                        size / steps / 8))
        return launches

    def other(self, kernel, op, size):
        kinds = {"MaxPool": "pool", "AveragePool": "average", "GlobalAveragePool": "average", "Softmax": "softmax",
                 "LayerNormalization": "norm", "BatchNormalization": "batch_norm", "Gather": "gather",
                 "Concat": "layout", "Transpose": "layout", "Slice": "layout", "Split": "layout",
                 "ReduceMean": "reduce", "ReduceSum": "reduce"}
        return self.launch(kernel, self.chosen[kinds.get(op, "pointwise")], kernel["flops"], size)

    def once(self, reorder):
        """All launches of one run, in order. Independent neighbours may change places, but for those that nothing but
        a name could tell apart (query, key and value of an attention)."""
        groups = [(kernel, self.kernel(kernel)) for kernel in self.report["kernels"] if kernel["launches"] > 0]
        if reorder:
            for i in range(len(groups) - 1):
                first, second = groups[i][0], groups[i + 1][0]
                alike = (first["macs"], first["bytes"]) == (second["macs"], second["bytes"])
                if self.random.random() < 0.4 and not alike and not self.reads(second, first):
                    groups[i], groups[i + 1] = groups[i + 1], groups[i]
        return [launch for _, launches in groups for launch in launches]

    def reads(self, later, earlier):
        made = {o["name"] for n in earlier["nodes"] for o in self.nodes[n]["outputs"]}
        # What is no kernel of its own (a view) passes on what it reads.
        for node in self.report["nodes"]:
            if node["status"] in ("view", "metadata") and any(i["name"] in made for i in node["inputs"]):
                made |= {o["name"] for o in node["outputs"]}
        return any(i["name"] in made for n in later["nodes"] for i in self.nodes[n]["inputs"])


def rename(launches_of_runs, random, share):
    """Gives kernels names that tell nothing, the same in every run: as many as take this share of the time."""
    seconds = {}
    for launch in launches_of_runs[0]:
        seconds[launch.name] = seconds.get(launch.name, 0) + launch.seconds
    left = share * sum(seconds.values())
    names = sorted(seconds)
    random.shuffle(names)
    known = {}
    for name in names:
        if seconds[name] <= left:
            left -= seconds[name]
            known[name] = "k_%08x" % random.getrandbits(32)
    for run in launches_of_runs:
        for launch in run:
            launch.name = known.get(launch.name, launch.name)


def add_foreign(run, random):
    """Kernels of others, anywhere between."""
    for _ in range(random.randint(1, 5)):
        name, seconds, flops = random.choice(FOREIGN)
        run.insert(random.randint(0, len(run)), Launch(name, frozenset(), flops, flops * 4, seconds))


def fold(launches_of_runs):
    """By name: launches, mean FLOPs, mean seconds, and the seconds that each set of nodes took."""
    rows = collections.OrderedDict()
    for run in launches_of_runs:
        for launch in run:
            row = rows.setdefault(launch.name, {"launches": 0, "flops": 0.0, "seconds": 0.0, "bytes": 0.0, "nodes": {}})
            row["launches"] += 1
            row["flops"] += launch.flops
            row["bytes"] += launch.bytes
            row["seconds"] += launch.seconds
            row["nodes"][launch.nodes] = row["nodes"].get(launch.nodes, 0) + launch.seconds
    return rows
