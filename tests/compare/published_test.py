"""Published measurements in every form that profilers give them, through `dlcost compare` as a user calls it.

Run by ctest with the program and the source tree as arguments; needs nothing but Python's standard library. Real files of
profilers are looked for in ../shared/profiles beside the sources; without them those tests are skipped.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest

import small_model

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import json_schema

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
NETWORKS = os.path.join(SOURCE, "models", "networks")
PROFILES = os.path.join(SOURCE, "..", "shared", "profiles")
ALEXNET = (os.path.join(NETWORKS, "alexnet.onnx"), "--gpu", "p4", "--batch", "1")
RATIOS = {"/conv1/Conv": "1.02251", "/conv2/Conv": "1.054469", "/conv3/Conv": "0.723059", "/conv4/Conv": "0.720833",
          "/conv5/Conv": "0.721946", "/fc6/Gemm": "1.019748", "/fc7/Gemm": "1.02002", "/fc8/Gemm": "1.040289"}
# Published sums of AlexNet's layers on a Tesla P4, cuDNN 6, batch 1.
MEASURED = [143717440, 472294080, 162168191, 215558401, 143927547, 76988416, 34226176, 8522048]


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=120, check=False, text=True)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def network(self, name, *settings):
        path = os.path.join(self.folder.name, "-".join((name, *settings)).replace("=", "_") + ".onnx")
        result = run("network", name, *settings, "-o", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        return path

    def compare(self, *arguments):
        result = run("compare", *arguments, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def refused(self, *arguments):
        result = run("compare", *arguments)
        self.assertEqual(result.returncode, 2, result.stdout[:500])
        self.assertEqual(result.stdout, "")
        self.assertIn("does not look like this model", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)
        return result.stderr


def ratio_text(ratio):
    return ("%.6f" % ratio).rstrip("0")


def metric_summary(rows, banner=True, footer=""):
    """nvprof's summary of flop_count_sp: (kernel, launches, mean)."""
    text = "==115269== Profiling result:\n==115269== Metric result:\n" if banner else ""
    text += '"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"\n'
    for kernel, launches, mean in rows:
        text += '"Tesla P4 (0)","%s",%d,"flop_count_sp","Floating Point Operations(Single Precision)",%d,%d,%d\n' % (
            kernel, launches, mean, mean, mean)
    return text + footer


class AlexNet(Case):
    def check_ratios(self, comparison):
        rows = {row["node"]: row for row in comparison["rows"]}
        self.assertEqual({node: ratio_text(rows[node]["flops_ratio"]) for node in RATIOS}, RATIOS)

    def test_per_process(self):
        fixture = os.path.join(SOURCE, "tests", "profiles", "fixtures", "alexnet_p4_nvprof_metrics.csv")
        self.check_ratios(self.compare(*ALEXNET, "--measured", fixture))

    def test_labels_as_published(self):
        # Labels name the input layer: "pool1" is none of a pooling.
        labels = ["conv (data, 3, 64, 11)", "conv (pool1, 64, 192, 5)", "conv (pool2, 192, 384, 3)",
                  "conv (conv3, 384, 256, 3)", "conv (conv4, 256, 256, 3)", "affine (pool5, 9216, 4096)",
                  "affine (fc6, 4096, 4096)", "affine (fc7, 4096, 1000)"]
        for column in ("layer", "op", "label"):
            table = "%s,flops\n" % column + "".join('"%s",%d\n' % row for row in zip(labels, MEASURED))
            comparison = self.compare(*ALEXNET, "--measured", self.file("layers.csv", table))
            self.check_ratios(comparison)
            self.assertEqual({row["op"] for row in comparison["rows"]}, {"Conv", "Gemm"})

    def test_nodes_names_are_no_kernel_names(self):
        table = "node,flops\n" + "".join("%s,%d\n" % row for row in zip(RATIOS, MEASURED))
        comparison = self.compare(*ALEXNET, "--measured", self.file("nodes.csv", table))
        self.check_ratios(comparison)
        rows = {row["node"]: row for row in comparison["rows"]}
        self.assertEqual(rows["/fc6/Gemm"]["executed_flops"], 76988416)

    def folded(self, runs):
        """The summary of `runs` runs of the network with 384 channels in conv4, by the published counts per launch."""
        return [("maxwell_scudnn_128x64_interior_nn", runs, 143327232),
                ("maxwell_scudnn_128x64_stridedB_splitK_small_nn", runs, 472743936),
                ("void cudnn::winograd::generateWinogradTilesKernel<int=0, float, float>", 3 * runs, 6176768),
                ("maxwell_scudnn_winograd_128x128_tile148n_nt", 3 * runs, 227453610),
                ("void tensorflow::BiasNCHWKernel<float>(int, float const *)", 5 * runs, 101324),
                ("void cudnn::detail::pooling_fw_4d_kernel<float, cudnn::detail::maxpooling_func<float>>", 3 * runs, 29440),
                ("void gemv2N_kernel_val<float, float, float, int=128, int=8, int=4, int=4, int=1>", 2 * runs, 55603200),
                ("void gemv2N_kernel_val<float, float, float, int=128, int=1, int=4, int=4, int=1>", runs, 8529311),
                ("cudnn::maxwell::gemm::computeOffsetsKernel(cudnn::maxwell::gemm::ComputeOffsetsParams)", 2 * runs + 1, 0)]

    def check_folded(self, comparison, runs):
        self.assertEqual(comparison["totals"]["runs"], runs)
        rows = {row["node"]: row for row in comparison["rows"]}
        # 3072 x 64 outputs, 2 * 363 + 3 operations each; 768 x 192 outputs of 3206; 2128 and 58 per pair of channels.
        self.assertEqual(rows["/conv1/Conv"]["measured_flops"], 196608 * (2 * 363 + 3))
        self.assertEqual(rows["/conv2/Conv"]["measured_flops"], 147456 * 3206)
        winograd = next(row for row in comparison["rows"] if len(row["nodes"]) > 2 and "/conv3/Conv" in row["nodes"]
                        and not row["beside"])
        parts = {part["name"].split("<")[0]: part for part in winograd["parts"]}
        transform = parts["void cudnn::winograd::generateWinogradTilesKernel"]
        self.assertEqual((transform["launches"], transform["measured_flops"]),
                         (3, 58 * (192 * 384 + 384 * 384 + 384 * 256)))
        self.assertAlmostEqual(parts["maxwell_scudnn_winograd_128x128_tile148n_nt"]["measured_flops"],
                               157827072 + 314720256 + 2128 * 384 * 256 + 2432 * 256, delta=3)
        vectors = next(row for row in comparison["rows"] if "/fc6/Gemm" in row["nodes"] and not row["beside"])
        self.assertEqual(vectors["measured_flops"], 34222080 + 76984320)
        pools = next(row for row in comparison["rows"] if "/MaxPool" in row["nodes"] and not row["beside"])
        self.assertEqual(pools["measured_flops"], 3 * 29440)
        self.assertEqual(pools["why"], "the counter sees one operation per output")
        for row in comparison["rows"]:
            self.assertNotIn("padded to whole blocks", row["why"])

    def test_folded_over_runs(self):
        model = self.network("alexnet", "conv4=384", "classes=1001")
        footer = "==115269== Warning: Profiling results might be incorrect.\n"
        for runs in (1, 8, 53):
            for banner, end in ((True, ""), (False, ""), (True, footer)):
                path = self.file("folded.csv", metric_summary(self.folded(runs), banner, end))
                comparison = self.compare(model, *ALEXNET[1:], "--measured", path)
                self.check_folded(comparison, runs)
                totals = comparison["totals"]
                self.assertEqual("%.3f" % (totals["measured_flops"] / totals["joined_algorithmic_flops"]), "0.856")

    def test_another_device_or_size_is_told(self):
        fixture = os.path.join(SOURCE, "tests", "profiles", "fixtures", "alexnet_p4_nvprof_metrics.csv")
        notes = self.compare(ALEXNET[0], "--gpu", "v100-sxm2-16gb", "--batch", "1", "--measured", fixture)["notes"]
        self.assertTrue(any("measured on 'Tesla P4 (0)', held against NVIDIA Tesla V100" in note for note in notes), notes)
        notes = self.compare(*ALEXNET, "--measured", fixture)["notes"]
        self.assertFalse(any("measured on" in note for note in notes), notes)
        # Times alone, of a batch of 16: they look like those of a slow run of one image.
        times = "kernel,time_us\n" + "".join("maxwell_%s_128x64_nn,%d\n" % row for row in zip(
            ["scudnn"] * 5 + ["sgemm"] * 3, (700, 1900, 900, 1200, 800, 15000, 6700, 1700)))
        notes = self.compare(*ALEXNET, "--measured", self.file("times.csv", times), "--force")["notes"]
        self.assertTrue(any("another --batch, --dim or device looks the same" in note for note in notes), notes)

    def test_stages(self):
        # conv3's transform and product apart, as in the folded file.
        table = ("kernel,flops\ncudnn::winograd::generateWinogradTilesKernel<0>,%d\n"
                 "maxwell_scudnn_winograd_128x128_tile148n_nt,%d\n" % (58 * 192 * 384, 157827072))
        comparison = self.compare(*ALEXNET, "--measured", self.file("conv3.csv", table), "--force")
        row, = (row for row in comparison["rows"] if row["node"] == "/conv3/Conv")
        stages = {stage["stage"]: stage for stage in row["stages"]}
        self.assertEqual(stages["filter transform"]["measured_flops"], 4276224)
        # Six operations for each of three columns and four rows.
        self.assertEqual(stages["filter transform"]["executed_flops"], 6 * (3 + 4) * 192 * 384)
        self.assertEqual(stages["tiles"]["measured_flops"], 157827072)
        self.assertAlmostEqual(stages["tiles"]["ratio"], 1, delta=0.01)

    def test_runs_can_be_told(self):
        model = self.network("alexnet", "conv4=384", "classes=1001")
        path = self.file("folded.csv", metric_summary(self.folded(53)))
        comparison = self.compare(model, *ALEXNET[1:], "--measured", path, "--runs", "53")
        self.assertEqual(comparison["totals"]["runs_from"], "told by --runs")
        wrong = run("compare", model, *ALEXNET[1:], "--measured", path, "--runs", "0")
        self.assertEqual(wrong.returncode, 2)

    def test_the_published_file(self):
        path = os.path.join(PROFILES, "nvprof", "alexnet_p4_folded.csv")
        if not os.path.exists(path):
            self.skipTest("no " + path)
        comparison = self.compare(self.network("alexnet", "conv4=384", "classes=1001"), *ALEXNET[1:], "--measured", path)
        self.check_folded(comparison, 53)
        totals = comparison["totals"]
        self.assertEqual(round(totals["measured_flops"]), 1437774656)
        self.assertAlmostEqual(totals["measured_flops"] / totals["joined_algorithmic_flops"], 0.8567, places=4)


class Top(Case):
    def test_the_worst_come_first(self):
        fixture = os.path.join(SOURCE, "tests", "profiles", "fixtures", "alexnet_p4_nvprof_metrics.csv")
        for form in ("text", "markdown"):
            result = run("compare", *ALEXNET, "--measured", fixture, "--top", "3", "--format", form)
            self.assertEqual(result.returncode, 0, result.stderr)
            nodes = [line.split()[0 if form == "text" else 1] for line in result.stdout.splitlines()
                     if line.lstrip("| ").startswith("/") and " of what " in line]
            # Differences of 83, 62 and 55 million FLOPs.
            self.assertEqual(nodes, ["/conv4/Conv", "/conv3/Conv", "/conv5/Conv"], form)


class Reasons(Case):
    def why(self, table, *model):
        comparison = self.compare(*model, "--measured", self.file("table.csv", table), "--force")
        return comparison["rows"][0]["why"]

    def test_a_cache_holds_what_it_holds(self):
        # Twice 8192² x 4 bytes read, once written: 805 MB. A V100 has 6 MiB of L2.
        model = self.file("add.onnx", small_model.model([("Add", ["a", "b"], "c", "Add")],
                                                        [("a", (8192, 8192)), ("b", (8192, 8192))],
                                                        [("c", (8192, 8192))]))
        gpu = (model, "--gpu", "v100-sxm2-16gb")
        why = self.why("kernel,bytes\nvectorized_elementwise_kernel,308000000\n", *gpu)
        self.assertIn("bytes unexplained", why)
        self.assertIn("the caches hold 6.291 MB", why)
        small = self.file("small.onnx", small_model.model([("Add", ["a", "b"], "c", "Add")],
                                                          [("a", (512, 512)), ("b", (512, 512))],
                                                          [("c", (512, 512))]))
        why = self.why("kernel,bytes\nvectorized_elementwise_kernel,1100000\n", small, *gpu[1:])
        self.assertIn("fits into the last cache", why)

    def test_what_no_arithmetic_explains(self):
        why = self.why("node,flops\n/conv1/Conv,190000000\n", *ALEXNET)
        self.assertEqual(why, "FLOPs unexplained")
        why = self.why("node,flops\n/conv1/Conv,%d\n" % (7 * 143717440), *ALEXNET)
        self.assertEqual(why, "7 times the work of one run: --runs 7 if the model ran so often, else another batch or length")

    def test_pooling_counts_one_per_output(self):
        self.assertEqual(self.why("node,flops\n/MaxPool,46656\n", *ALEXNET), "the counter sees one operation per output")


class Analyses(Case):
    """By layer, type of operator, kernel and algorithm: the same sums in every format."""
    TABLE = ("kernel,time_us,flops,dram_bytes,occupancy\n"
             "maxwell_sgemm_128x64_nn,400,268435456,4000000,0.25\n"
             "maxwell_sgemm_128x128_nn,100,67108864,1000000,0.75\n")

    def setUp(self):
        super().setUp()
        nodes = [("MatMul", ["x", "wa"], "a", "first"), ("MatMul", ["a", "wb"], "b", "second")]
        model = self.file("two.onnx", small_model.model(nodes, [("x", (512, 512))], [("b", (512, 128))],
                                                        [("wa", (512, 512)), ("wb", (512, 128))]))
        self.arguments = (model, "--gpu", "p4", "--measured", self.file("two.csv", self.TABLE))

    def text(self, *arguments):
        result = run("compare", *self.arguments, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_json(self):
        comparison = self.compare(*self.arguments)
        self.assertEqual(json_schema.violations(json.dumps(comparison)), [])
        first, second = comparison["by_layer"]
        self.assertEqual((first["layer"], first["op"]), ("first", "MatMul"))
        self.assertAlmostEqual(first["measured_s"], 400e-6)
        self.assertAlmostEqual(first["flop_rate"], 268435456 / 400e-6)
        self.assertAlmostEqual(first["byte_rate"], 1e10)
        self.assertAlmostEqual(first["share"], 0.8)
        self.assertEqual((first["occupancy"], second["occupancy"]), (0.25, 0.75))
        # Weights, what the product writes, and no workspace: fp32.
        self.assertGreaterEqual(first["memory_bytes"], 4 * (512 * 512 + 512 * 512))
        kind, = comparison["by_op"]
        self.assertEqual((kind["op"], kind["rows"], kind["measured_flops"]), ("MatMul", 2, 268435456 + 67108864))
        self.assertAlmostEqual(kind["occupancy"], 0.25 * 0.8 + 0.75 * 0.2)
        self.assertEqual(kind["intensity"], (268435456 + 67108864) / 5e6)
        self.assertEqual([row["kernel"] for row in comparison["by_kernel"]],
                         ["maxwell_sgemm_128x64_nn", "maxwell_sgemm_128x128_nn"])
        self.assertEqual([row["launches"] for row in comparison["by_algorithm"]], [2])

    def test_tables(self):
        for form in ("text", "markdown"):
            plain = self.text("--format", form)
            self.assertNotIn("By kernel", plain)
            full = self.text("--format", form, "--by", "layer,op", "--by", "kernel")
            for title in ("By layer", "By type of operator", "By kernel"):
                self.assertIn(title, full)
            self.assertNotIn("By algorithm", full)
        result = run("compare", *self.arguments, "--by", "layr")
        self.assertEqual(result.returncode, 2)
        self.assertIn("layer", result.stderr)

    def test_csv(self):
        rows = list(csv.DictReader(self.text("--format", "csv").splitlines()))
        self.assertEqual({None in row or None in row.values() for row in rows}, {False})
        times = {}
        for row in rows:
            times[row["kind"]] = times.get(row["kind"], 0) + float(row["measured_s"])
        self.assertEqual(sorted(times), ["by_algorithm", "by_kernel", "by_op", "level", "row"])
        times.pop("level")
        for kind, time in times.items():
            self.assertAlmostEqual(time, 500e-6, msg=kind)
        self.assertEqual([row["occupancy"] for row in rows if row["kind"] == "row"], ["0.25", "0.75"])

    def test_a_page_of_counters_alone(self):
        fixture = os.path.join(SOURCE, "tests", "profiles", "fixtures", "alexnet_p4_nvprof_metrics.csv")
        result = run("compare", *ALEXNET, "--measured", fixture, "--format", "html")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("143717440", result.stdout)  # the measurement is in the tables
        self.assertIn("the roofline has no dots", result.stdout)
        self.assertNotIn("the roofline has no dots", self.text("--format", "html"))

    def test_html(self):
        page = self.text("--format", "html", "--title", "a title</script>")
        self.assertIn("By algorithm", page)
        self.assertNotIn("title</script>", page)
        self.assertNotIn("http://", page.replace("http://www.w3.org", ""))


class Products(Case):
    def test_summary_of_eight_launches(self):
        # 33.5 MFLOP in 72 us each, as published (maxwell_sgemm_128x64, 8 calls, 575.72 us).
        model = self.file("gemm.onnx", small_model.product(512, 64, 512))
        time = ('"Time(%)","Time","Calls","Avg","Min","Max","Name"\n%,us,,us,us,us,\n'
                '100.00,575.72,8,71.965,70.1,74.2,"maxwell_sgemm_128x64_nn"\n')
        comparison = self.compare(model, "--gpu", "p4", "--measured", self.file("sums.csv", "==1== Profiling result:\n" + time))
        self.assertEqual(comparison["totals"]["runs"], 8)
        self.assertAlmostEqual(comparison["rows"][0]["measured_s"], 71.965e-6)
        counters = self.file("flops.csv", metric_summary([("maxwell_sgemm_128x64_nn", 8, 33554432)]))
        comparison = self.compare(model, "--gpu", "p4", "--measured", counters)
        self.assertEqual(comparison["totals"]["runs"], 8)
        self.assertEqual(comparison["rows"][0]["flops_ratio"], 1)

    def test_products_that_would_run_as_one(self):
        # Four products over the same input, 512 x 64 x 512 each; stacked they are one of 2048 x 64 x 512. Published for a
        # Maxwell GPU: 72 us each apart, 99 us together, 2.9 times.
        weights = [("w%d" % i, (512, 512)) for i in range(4)]
        nodes = [("MatMul", ["x", "w%d" % i], "y%d" % i, "gate%d" % i) for i in range(4)]
        model = self.file("gates.onnx", small_model.model(nodes, [("x", (64, 512))],
                                                          [("y%d" % i, (64, 512)) for i in range(4)], weights))
        table = "kernel,time_us\n" + "maxwell_sgemm_128x64_nn,72\n" * 4
        comparison = self.compare(model, "--gpu", "m40-12gb", "--measured", self.file("gates.csv", table))
        merge, = comparison["merges"]
        self.assertEqual((merge["nodes"], merge["operand"]), (["gate0", "gate1", "gate2", "gate3"], "x"))
        self.assertEqual((merge["m"], merge["n"], merge["k"]), (64, 2048, 512))
        print("merged: %.3g us for %.3g us" % (merge["merged_s"] * 1e6, merge["apart_s"] * 1e6))
        self.assertGreater(merge["apart_s"], 1.25 * merge["merged_s"])
        # The report of the model says the same without a measurement.
        report = run(model, "--gpu", "m40-12gb", "--format", "json")
        self.assertEqual(json.loads(report.stdout)["merges"], comparison["merges"])
        for form in ("text", "markdown"):
            report = run(model, "--gpu", "m40-12gb", "--format", form)
            self.assertIn("gate0, gate1, gate2, gate3 as one product 64x2048x512", report.stdout.replace("\\", ""))

    def test_products_at_the_same_depth(self):
        # Nothing in common but their shape and that none waits for another: a batch. The fourth reads what the first made.
        nodes = [("MatMul", ["x%d" % i, "w%d" % i], "y%d" % i, "head%d" % i) for i in range(3)]
        nodes.append(("MatMul", ["y0", "w3"], "y3", "later"))
        model = self.file("heads.onnx", small_model.model(nodes, [("x%d" % i, (64, 64)) for i in range(3)],
                                                          [("y%d" % i, (64, 64)) for i in (1, 2, 3)],
                                                          [("w%d" % i, (64, 64)) for i in range(4)]))
        report = run(model, "--gpu", "v100-sxm2-16gb", "--format", "json")
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertEqual(json_schema.violations(report.stdout), [])
        merge, = json.loads(report.stdout)["merges"]
        self.assertEqual((merge["nodes"], merge["operand"]), (["head0", "head1", "head2"], ""))
        self.assertEqual((merge["batch"], merge["m"], merge["n"], merge["k"]), (3, 64, 64, 64))
        self.assertLess(merge["merged_s"], merge["apart_s"])

    def test_language_model(self):
        # SGEMMs of 17 batches of 128 x 32 steps; per step and sample 16 h² + 4 h a layer, and the vocabulary padded to
        # a multiple of 128.
        for layers, per_sample in ((1, 37490688), (2, 54272000), (4, 87834624)):
            model = self.network("lstm", "layers=%d" % layers)
            launches = 17 * (33 * layers + 1)
            mean = 17 * 128 * 32 * per_sample / launches
            path = self.file("ptb.csv", metric_summary([("maxwell_sgemm_128x64_nn", launches, mean)]))
            comparison = self.compare(model, "--gpu", "p4", "--batch", "128", "--dim", "sequence=32", "--measured", path)
            self.assertEqual(comparison["totals"]["runs"], 17)
            row = comparison["rows"][0]
            self.assertIn("LSTM", row["op"])
            algorithmic = layers * 16 * 1024 * 1024 + 2 * 1024 * 10000
            self.assertAlmostEqual(row["flops_ratio"], per_sample / algorithmic, places=4)
            if layers == 1:
                self.assertEqual("%.4f" % row["flops_ratio"], "1.0063")
            self.assertEqual(comparison["unmatched_kernels"], [])

    def test_functions_without_launches(self):
        # VTune tells no launches: how often the model ran is what the work makes up, and is told as that.
        model = self.file("gemm.onnx", small_model.product(512, 512, 512))
        flops = 11380 * 2 * 512**3
        table = ("Function\tCPU Time\tHardware Event Count:FP_ARITH_INST_RETIRED.256B_PACKED_SINGLE\tModule\n"
                 "mkl_blas_avx2_sgemm_kernel_0\t30.5\t%d\tlibmkl_avx2.so\n" % (flops // 8))
        path = self.file("hotspots.csv", table)
        comparison = self.compare(model, "--measured", path)
        self.assertEqual(comparison["totals"]["runs"], 11380)
        self.assertIn("the ratio of all FLOPs is 1 by that", comparison["totals"]["runs_from"])
        comparison = self.compare(model, "--measured", path, "--runs", "5690", "--force")
        self.assertEqual(comparison["rows"][0]["flops_ratio"], 2)


class Names(Case):
    def test_annotations_that_name_nodes(self):
        events = []
        for number, (node, us) in enumerate((("/conv3/Conv", 300), ("/conv4/Conv", 400))):
            start = 1000 * number
            events += [{"ph": "X", "cat": "user_annotation", "name": node, "pid": 1, "tid": 1, "ts": start, "dur": 50},
                       {"ph": "X", "cat": "cpu_op", "name": "aten::conv2d", "pid": 1, "tid": 1, "ts": start + 1, "dur": 40},
                       {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                        "ts": start + 2, "dur": 5, "args": {"correlation": number + 1}},
                       {"ph": "X", "cat": "kernel", "name": "maxwell_scudnn_128x64_relu_interior_nn", "pid": 0, "tid": 7,
                        "ts": start + 100, "dur": us, "args": {"correlation": number + 1, "stream": 7}}]
        path = self.file("trace.json", json.dumps({"traceEvents": events}))
        comparison = self.compare(*ALEXNET, "--measured", path, "--force")
        self.assertEqual([(row["node"], round(row["measured_s"] * 1e6)) for row in comparison["rows"]],
                         [("/conv3/Conv", 300), ("/conv4/Conv", 400)])

    def test_primitives_before_engines(self):
        lines = [("convolution", "mb1_ic3oc64_ih227oh55kh11sh4dh0ph0_iw227ow55kw11sw4dw0pw0", 1.5),
                 ("pooling", "mb1ic64_ih55oh27kh3sh2ph0_iw55ow27kw3sw2pw0", 0.25),
                 ("convolution", "mb1_ic64oc192_ih27oh27kh5sh1dh0ph2_iw27ow27kw5sw1dw0pw2", 3.5),
                 ("pooling", "mb1ic192_ih27oh13kh3sh2ph0_iw27ow13kw3sw2pw0", 0.125),
                 ("convolution", "mb1_ic192oc384_ih13oh13kh3sh1dh0ph1_iw13ow13kw3sw1dw0pw1", 2.5)]
        log = "mkldnn_verbose,info,Intel(R) MKL-DNN v0.18.0\n" + "".join(
            "mkldnn_verbose,exec,%s,jit:avx2,forward_inference,fsrc:nchw fwei:OIhw8i8o fbia:x fdst:nChw8c,alg:direct,%s,%s\n"
            % line for line in lines)
        comparison = self.compare(ALEXNET[0], "--batch", "1", "--measured", self.file("dnn.log", log))
        self.assertEqual([(row["node"], row["measured_s"]) for row in comparison["rows"]],
                         [("/conv1/Conv", 1.5e-3), ("/MaxPool", 0.25e-3), ("/conv2/Conv", 3.5e-3),
                          ("/MaxPool_1", 0.125e-3), ("/conv3/Conv", 2.5e-3)])

    def test_communication_is_no_operator(self):
        table = "kernel,time_us,flops\n"
        for kernel, flops in (("ncclKernel_AllReduce_RING_LL_Sum_float", 0), ("maxwell_sgemm_128x64_nn", 33554432),
                              ("horovod::ScaleBufferCudaKernel", 0)):
            table += "%s,70,%d\n" % (kernel, flops)
        model = self.file("gemm.onnx", small_model.product(512, 64, 512))
        comparison = self.compare(model, "--gpu", "p4", "--measured", self.file("comm.csv", table))
        self.assertEqual([part["name"] for part in comparison["rows"][0]["parts"]], ["maxwell_sgemm_128x64_nn"])
        self.assertEqual(len(comparison["unmatched_kernels"]), 2)
        for kernel in comparison["unmatched_kernels"]:
            self.assertIn("communication", kernel["why"])


# Files of ../shared/profiles, and the model that they are of, where it can be had: a reference network and the options
# that bind it, or a matrix product.
OWN = {
    "chrome_trace/pytorch_alexnet_a100.json.gz": ("alexnet", "--batch", "128", "--gpu", "a100-sxm4-40gb"),
    "cupti/alexnet_a100_batch128.csv": ("alexnet", "--batch", "128", "--gpu", "a100-sxm4-40gb"),
    "ncu/ncu_gemm_tiled.csv": ((2048, 2048, 2048), "--gpu", "rtx5090"),
    "nsys/dotllm_cuda_gpu_kern_sum_p476.csv": ("llama3-8b", "--batch", "1", "--dim", "sequence=476"),
    "nsys/dotllm_cuda_gpu_kern_sum_p2091.csv": ("llama3-8b", "--batch", "1", "--dim", "sequence=2091"),
    "nvprof/alexnet_p4_folded.csv": ("alexnet", "--batch", "1", "--gpu", "p4"),
    "nvprof/matrixMul_metrics.csv": ((320, 640, 320), "--gpu", "p4"),
    "nvprof/matrixMul_trace.csv": ((320, 640, 320), "--gpu", "p4"),
    "onednn/dnnl_v1.7_pytorch_resnet.log": ("resnet50", "--batch", "32"),
}
OTHERS = [("alexnet", "--batch", "1", "--gpu", "p4"), ("resnet50", "--batch", "1", "--gpu", "a100-sxm4-40gb"),
          ("mobilenet-v2", "--batch", "1", "--gpu", "t4"), ("bert-base", "--batch", "1", "--dim", "sequence=128"),
          ("gpt2", "--batch", "1", "--dim", "sequence=64", "--gpu", "v100-sxm2-16gb"),
          ("lstm", "--batch", "128", "--dim", "sequence=32", "--gpu", "p4")]


@unittest.skipUnless(os.path.isdir(PROFILES), "no " + PROFILES)
class RealFiles(Case):
    def files(self):
        for folder, _, names in sorted(os.walk(PROFILES)):
            for name in sorted(names):
                yield os.path.relpath(os.path.join(folder, name), PROFILES)

    def model(self, what):
        if isinstance(what, str):
            path = os.path.join(NETWORKS, what + ".onnx")
            return path if os.path.exists(path) else self.network(what)
        return self.file("product.onnx", small_model.product(*what))

    def test_own(self):
        for name, (what, *options) in OWN.items():
            with self.subTest(name):
                comparison = self.compare(self.model(what), *options, "--measured", os.path.join(PROFILES, name))
                self.assertGreater(len(comparison["rows"]), 0)

    def test_of_other_models(self):
        count = 0
        for name in self.files():
            own = OWN.get(name, ("",))[0]
            for what, *options in OTHERS:
                if what == own:
                    continue
                with self.subTest(name, model=what):
                    result = run("compare", self.model(what), *options, "--measured", os.path.join(PROFILES, name))
                    self.assertEqual(result.returncode, 2, result.stdout[:300])
                    count += 1
        self.assertGreaterEqual(count, 24 * 5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
