"""What else can be asked, against the program: questions_test.py PROGRAM, in the source tree, with dlcost importable."""

import importlib.util
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

import dlcost

PROGRAM = sys.argv[1]
NETWORKS = os.path.join("models", "networks")
RESNET = os.path.join(NETWORKS, "resnet50.onnx")
ALEXNET = os.path.join(NETWORKS, "alexnet.onnx")
BERT = os.path.join(NETWORKS, "bert-base.onnx")
PROFILES = os.path.join("tests", "profiles", "fixtures")
NCU = os.path.join(PROFILES, "ncu_roofline.csv")


def has(module):
    return importlib.util.find_spec(module) is not None


def says(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, check=True, text=True).stdout


def program(*arguments):
    return json.loads(says(*arguments, "--format", "json"))


class SameAsProgram(unittest.TestCase):
    """Every function says what its command says: every field, and the text."""

    maxDiff = 2000

    def same(self, made, *arguments):
        self.assertEqual(made.to_dict(), program(*arguments))
        self.assertEqual(made.text(), says(*arguments))
        copy = pickle.loads(pickle.dumps(made))
        self.assertEqual((type(copy), copy.to_dict(), str(copy)), (type(made), made.to_dict(), str(made)))

    def test_formula(self):
        made = dlcost.formula(BERT, batch=1)
        self.same(made, "formula", BERT, "--batch", "1")
        self.same(dlcost.formula(BERT, tied={"sequence": "batch"}), "formula", BERT, "--dim", "sequence=batch")
        self.same(dlcost.formula(BERT, around={"sequence": 300}, train="sgd"), "formula", BERT, "--around", "sequence=300", "--train", "sgd")
        for name in ("latex", "python", "cpp"):
            self.assertEqual(getattr(made, name)(), says("formula", BERT, "--batch", "1", "--format", name))
        self.assertEqual(made.text(by="scope"), says("formula", BERT, "--batch", "1", "--by", "scope"))

    def test_formula_at_sizes(self):
        made = dlcost.formula(BERT)
        for batch, sequence in ((1, 128), (3, 77)):
            report = dlcost.report(BERT, batch=batch, dims={"sequence": sequence})
            self.assertEqual(made.at("macs", batch=batch, sequence=sequence), report.totals.macs)
            self.assertEqual(made.at("bytes.default", {"batch": batch, "sequence": sequence}), report.totals.bytes)
        functions = {}
        exec(made.python(), functions)  # noqa: S102  what it is for
        self.assertEqual(functions["macs"](3, 77), made.at("macs", batch=3, sequence=77))
        self.assertRaisesRegex(dlcost.Error, "did you mean 'macs'", made.at, "mac", batch=1, sequence=1)
        self.assertRaisesRegex(dlcost.Error, "no size of 'sequence'", made.at, "macs", batch=1)
        self.assertRaisesRegex(dlcost.Error, "sequence '8' is no whole number", made.at, "macs", batch=1, sequence="8")
        rows = made.rows().columns()
        self.assertEqual(rows["quantity"][0], "macs")
        self.assertEqual(eval(rows["python"][0], {"batch": 3, "sequence": 77}), functions["macs"](3, 77))  # noqa: S307

    def test_explain(self):
        self.same(dlcost.explain(RESNET, "a100", batch=8), "explain", RESNET, "--gpu", "a100", "--batch", "8")
        self.same(dlcost.explain(ALEXNET, "p4", "/conv2/Conv", conv="winograd_nonfused"),
                  "explain", ALEXNET, "--gpu", "p4", "--node", "/conv2/Conv", "--algo", "conv=winograd_nonfused")
        device = dlcost.device("a100", changes="memory.bandwidth=1TB/s")
        self.same(dlcost.explain(ALEXNET, device), "explain", ALEXNET, "--gpu", "a100", "--set", "memory.bandwidth=1TB/s")
        self.assertRaisesRegex(dlcost.Error, "did you mean '/conv1/Conv'", dlcost.explain, ALEXNET, "a100", "/conv1/Con")
        self.assertRaisesRegex(dlcost.Error, "needs a device", dlcost.explain, ALEXNET, None)

    def test_parallel(self):
        # As data it has every plan; the program shows ten.
        self.same(dlcost.parallel(RESNET, "dgx-1", "dp=8,zero=1", micro_batch=32, global_batch=256, train="sgd"),
                  "parallel", RESNET, "--system", "dgx-1", "--parallel", "dp=8,zero=1", "--micro-batch", "32", "--global-batch", "256",
                  "--train", "sgd")
        every = dlcost.parallel(RESNET, "dgx-1", devices=8, global_batch=256, train="sgd", spread=0)
        job = ("parallel", RESNET, "--system", "dgx-1", "--devices", "8", "--global-batch", "256", "--train", "sgd", "--spread", "0")
        self.assertEqual(every.to_dict(), program(*job, "--top", "1000"))
        self.assertEqual(every.text(top=3), says(*job, "--top", "3"))
        self.assertEqual(len(every.plans), every.plans_tried)
        self.same(dlcost.parallel(BERT, dlcost.system("dgx-h100"), "tp=4", micro_batch=4, dims={"sequence": 128}, gpu="a100"),
                  "parallel", BERT, "--system", "dgx-h100", "--parallel", "tp=4", "--micro-batch", "4", "--dim", "sequence=128", "--gpu", "a100")
        self.same(dlcost.parallel(RESNET, "dgx-1", "dp=8", global_batch=16, train="sgd", bucket_bytes=10**6, overlaps_gradients=False,
                                  gradients="fp16", sums="fp16", fuses_sums=True),
                  "parallel", RESNET, "--system", "dgx-1", "--parallel", "dp=8", "--global-batch", "16", "--train", "sgd", "--bucket", "1MB",
                  "--no-overlap", "--gradients", "fp16", "--sums", "fp16", "--fuse-sums")
        with open(ALEXNET, "rb") as file:
            self.assertRaisesRegex(dlcost.Error, "is no file", dlcost.parallel, file.read(), "dgx-1", "annotated", train="sgd")
        self.assertRaisesRegex(dlcost.Error, "^batch: say micro_batch and global_batch", dlcost.parallel, ALEXNET, "dgx-1", batch=4)

    def test_scale(self):
        self.same(dlcost.scale(RESNET, "dgx-a100", [1, 2, 4, 8], train="momentum", batch=64),
                  "scale", RESNET, "--system", "dgx-a100", "--devices", "1,2,4,8", "--train", "momentum", "--batch", "64")
        made = dlcost.scale(ALEXNET, "p4d", [8, 64], train="sgd", batch=64, strong=True, zero=2, bucket_bytes=10**6, overlap=False,
                            gradients="fp16", samples=115.2e6, price_per_hour=4.1,
                            input={"item_bytes": 602112, "stored_bytes": 110e3, "storage_bytes_per_s": 20e9, "decode_items_per_s": 250,
                                   "prefetch": 1})
        job = ("scale", ALEXNET, "--system", "p4d", "--devices", "8,64", "--train", "sgd", "--batch", "64", "--strong", "--zero", "2",
               "--bucket", "1MB", "--no-overlap", "--gradients", "fp16", "--samples", "115.2e6", "--price", "4.1/h",
               "--item", "602112B", "--stored", "110kB", "--storage", "20GB/s", "--decode", "250", "--prefetch", "1")
        self.same(made, *job)
        self.assertEqual(made.perfetto(), says(*job, "--format", "perfetto"))
        for words, keywords in ((r"^devices 3\.5 is no whole number", dict(devices=[3.5])), ("input: 'item' is not one of", dict(input={"item": 3})),
                                ("how large is an item", dict(input={"decode_items_per_s": 3})), ("^spread ", dict(spread=2)),
                                ("bucket_bytes 0", dict(bucket_bytes=0)), ("^devices: how many", dict(devices=[]))):
            with self.assertRaisesRegex(dlcost.Error, words):
                dlcost.scale(ALEXNET, "dgx-1", **{"devices": 8, "train": "sgd", **keywords})

    def test_collective(self):
        self.same(dlcost.collective("all_gather", "dgx-h100", devices=[8, 64], bytes=[1 << 20, 1 << 30], stride=1),
                  "collective", "all_gather", "--system", "dgx-h100", "--devices", "8,64", "--bytes", "1MiB,1GiB")
        bare = dlcost.collective(bandwidth_bytes_per_s=100e9, devices=4, bytes=93930496)
        self.assertEqual((bare.rows[0].ring_bytes, bare.rows[0].time_s), (140895744, 140895744 / 100e9))
        self.assertRaisesRegex(dlcost.Error, "did you mean 'all_reduce'", dlcost.collective, "all_reduc", "dgx-1")
        self.assertRaisesRegex(dlcost.Error, "bytes '1MB' is no whole number", dlcost.collective, "send", "dgx-1", bytes="1MB")

    def test_systems(self):
        self.same(dlcost.system("DGX-H100"), "systems", "dgx-h100")
        self.assertEqual([system.id for system in dlcost.systems()], [system["id"] for system in program("systems")["systems"]])

    def test_measured(self):
        made = dlcost.measured(NCU, gpu="a100")
        self.same(made, "measured", NCU, "--gpu", "a100")
        job = ("measured", NCU, "--gpu", "a100", "--format")
        for name in ("csv", "html", "markdown"):
            self.assertEqual(getattr(made, name)(), says(*job, name))
        self.assertEqual(sum(made.rows("by_family").columns()["launches"]), sum(made.rows().columns()["launches"]))
        self.assertRaisesRegex(dlcost.Error, "not one of kernels, by_name", made.rows, "colour")
        trace, counters = os.path.join(PROFILES, "nsys_cuda_gpu_trace.csv"), os.path.join(PROFILES, "ncu_details.csv")
        self.same(dlcost.measured([trace, NCU], dtype="fp16"), "measured", trace, NCU, "--dtype", "fp16")
        self.assertRaisesRegex(dlcost.Error, "none of the .* launches", dlcost.measured, trace, counters=counters)

    def test_what_is_sought(self):
        made = dlcost.report(ALEXNET, gpu="a100", changes="memory.size=4GB", batch="max", train="adamw", fit=True)
        self.assertEqual(made.to_dict(), program(ALEXNET, "--gpu", "a100", "--set", "memory.size=4GB", "--batch", "max", "--train", "adamw", "--fit"))
        self.assertRaisesRegex(dlcost.Error, "^batch max needs a device", dlcost.report, ALEXNET, batch="max")
        made = dlcost.report(BERT, gpu="a100", dims={"sequence": 64}, train="adamw", accumulate=4, clip_norm=1)
        self.assertEqual(made.to_dict(), program(BERT, "--gpu", "a100", "--dim", "sequence=64", "--train", "adamw", "--accumulate", "4",
                                                 "--clip-norm", "1"))
        made = dlcost.report(BERT, dims={"sequence": 64}, train="adamw", sparse_embeddings=True)
        self.assertEqual(made.to_dict(), program(BERT, "--dim", "sequence=64", "--train", "adamw", "--sparse-embeddings"))
        self.assertRaisesRegex(dlcost.Error, "clip_norm 'x' is no number", dlcost.report, ALEXNET, clip_norm="x")

    def test_dtypes_have_a_nearest_spelling(self):
        for call in (lambda: dlcost.report(ALEXNET, dtype="fp17"), lambda: dlcost.sweep(ALEXNET, dtypes=["fp17"])):
            self.assertRaisesRegex(dlcost.Error, "^dtype 'fp17' is no data type .did you mean 'fp16'", call)


class Pages(unittest.TestCase):
    """The pages and pictures that the program writes, byte for byte."""

    def test_pages_of_several(self):
        a100, h100 = (dlcost.report(ALEXNET, gpu=gpu) for gpu in ("a100", "h100"))
        both = says("html", ALEXNET, "--gpu", "a100", "--gpu", "h100")
        self.assertEqual(dlcost.diff(a100, h100).html(), both)
        self.assertEqual(dlcost.page([a100, h100]), both)
        self.assertEqual(a100.html("mine"), says("html", ALEXNET, "--gpu", "a100", "--title", "mine"))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(says(ALEXNET, "--gpu", "a100", "--format", "json"))
            file.flush()
            self.assertEqual(dlcost.read_report(file.name).html(), says("html", file.name))
        self.assertRaisesRegex(dlcost.Error, "no report", dlcost.page, [])
        self.assertRaisesRegex(dlcost.Error, "int is no report", dlcost.page, [3])

    def test_measured_beside_predicted(self):
        counters = os.path.join(PROFILES, "alexnet_p4_nvprof_metrics.csv")
        comparison = dlcost.compare(ALEXNET, counters, gpu="p4", batch=1)
        job = (ALEXNET, "--gpu", "p4", "--batch", "1", "--measured", counters)
        self.assertEqual(comparison.html(), says("compare", *job, "--format", "html"))
        self.assertEqual(comparison.report_html(), says("html", *job))

    def test_pictures_and_curves(self):
        report = dlcost.report(ALEXNET, gpu="a100")
        for picture in ("roofline", "memory", "icicle"):
            self.assertEqual(report.svg(picture, dark=True, title="mine"),
                             says("plot", picture, ALEXNET, "--gpu", "a100", "--dark", "--title", "mine"))
        self.assertRaisesRegex(dlcost.Error, "did you mean 'roofline'", report.svg, "rofline")
        curves = dlcost.sweep(ALEXNET, batch=[1, 2, 4], gpu="t4")
        self.assertEqual(curves.html(), says("sweep", ALEXNET, "--batch", "1,2,4", "--gpu", "t4", "--format", "html"))

    def test_notebooks(self):
        self.assertIn("<pre>", dlcost.explain(ALEXNET, "a100")._repr_html_())
        for result in (dlcost.measured(NCU, gpu="a100"), dlcost.sweep(ALEXNET, batch=[1, 2], gpu="t4")):
            self.assertIn("<iframe srcdoc=", result._repr_html_())


class Tables(unittest.TestCase):
    def results(self):
        return (dlcost.explain(ALEXNET, "a100"), dlcost.collective("send", "dgx-1"),
                dlcost.parallel(ALEXNET, "dgx-1", train="sgd", global_batch=16, devices=4),
                dlcost.scale(ALEXNET, "dgx-1", [1, 8], train="sgd"), dlcost.measured(NCU, gpu="a100"), dlcost.formula(BERT))

    @unittest.skipUnless(has("pandas") and has("pyarrow"), "pandas or pyarrow is not installed")
    def test_rows(self):
        for result in self.results():
            with self.subTest(type(result).__name__):
                frame = result.to_pandas()
                self.assertGreater(len(frame), 0)
                self.assertEqual(result.to_arrow().num_rows, len(frame))
                self.assertEqual(set(result.to_arrow().column_names), set(frame.columns))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
