"""What else commands do, against the program: commands_test.py PROGRAM, in the source tree, with dlcost importable."""

import os
import sys
import tempfile
import unittest

import dlcost

import questions_test as questions

ALEXNET, BERT, RESNET, PROFILES = questions.ALEXNET, questions.BERT, questions.RESNET, questions.PROFILES
program, says = questions.program, questions.says


class SameAsProgram(questions.SameAsProgram):
    """Every function says what its command says: every field, and the text."""

    def test_sweeps(self):
        sized = (BERT, "--batch", "1:16:x2", "--dim", "sequence=64,128", "--gpu", "a100,h100")
        made = dlcost.sweep(BERT, batch="1:16:x2", dims={"sequence": [64, 128]}, gpu=["a100", "h100"],
                            conditions=["latency<=10ms", "memory<=16GB"], price_per_hour={"a100": 1.6, "": 2.5}, rank="price")
        self.same(made, "sweep", *sized, "--for", "latency<=10ms", "--for", "memory<=16GB", "--price", "a100=1.6/h,2.5/h", "--rank", "price")
        self.assertEqual(made.text(rows=3, plot=True),
                         says("sweep", *sized, "--for", "latency<=10ms", "--for", "memory<=16GB", "--price", "a100=1.6/h,2.5/h", "--rank", "price",
                              "--top", "3", "--plot"))
        self.assertEqual(made.svg(), says("sweep", *sized, "--format", "svg"))

    def test_sweeps_over_ways_of_running(self):
        made = dlcost.sweep(ALEXNET, batch=[1, 8], gpu="a100", runtimes=["pytorch-eager", "tensorrt"], trains=["sgd", "adamw"],
                            precisions=["amp-fp16", "bf16"])
        self.same(made, "sweep", ALEXNET, "--batch", "1,8", "--gpu", "a100", "--runtime", "pytorch-eager,tensorrt", "--train", "sgd,adamw",
                  "--precision", "amp-fp16,bf16")
        self.same(dlcost.sweep(ALEXNET, batch=1, gpu="a100", changes="memory.bandwidth=1TB/s:4TB/s:x2", bounds=True),
                  "sweep", ALEXNET, "--batch", "1", "--gpu", "a100", "--set", "memory.bandwidth=1TB/s:4TB/s:x2", "--bounds")
        self.same(dlcost.sweep(ALEXNET, batch=1, gpu="all", runtimes="tensorrt"),
                  "sweep", ALEXNET, "--batch", "1", "--gpu", "all", "--runtime", "tensorrt")
        for words, keywords in (("^times need a device", dict(rank="latency")), ("^rank price needs price_per_hour", dict(gpu="t4", rank="price")),
                                ("did you mean 'throughput'", dict(gpu="t4", rank="throughputs")), ("above 0", dict(gpu="t4", price_per_hour=0)),
                                ("dims batch is given twice|batch sets dims batch too", dict(dims={"batch": [1, 2]})),
                                ("^changes need a device", dict(changes="memory.size=1GB")),
                                ("observed sizes", dict(buckets=[8])), ("runs on devices of", dict(gpu="mi300x", runtimes="tensorrt"))):
            with self.assertRaisesRegex(dlcost.Error, words):
                dlcost.sweep(ALEXNET, **{"batch": [1, 2], **keywords})

    def test_observed_sizes(self):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write("length,times\n32,5\n100,3\n200,1\n")
            file.flush()
            command = ("sweep", BERT, "--batch", "2", "--dim", "sequence=@" + file.name, "--buckets", "128,256", "--gpu", "t4")
            self.same(dlcost.sweep(BERT, batch=2, dims={"sequence": {100: 3, 200: 1, 32: 5}}, buckets=[128, 256], gpu="t4"), *command)
            self.same(dlcost.sweep(BERT, batch=2, dims={"sequence": "@" + file.name}, buckets=[128, 256], gpu="t4"), *command)
        self.assertRaisesRegex(dlcost.Error, "neither may be below 0", dlcost.sweep, BERT, batch=1, dims={"sequence": {8: -1}})

    def same_verdict(self, made, *arguments):
        import subprocess
        ran = subprocess.run([questions.PROGRAM, "check", *arguments], capture_output=True, text=True)
        self.assertEqual((ran.stdout, ran.returncode), (made.text(), 0 if made else 1), ran.stderr)
        for name in ("markdown", "junit", "github"):
            shown = subprocess.run([questions.PROGRAM, "check", *arguments, "--format", name], capture_output=True, text=True)
            self.assertEqual(shown.stdout, getattr(made, name)())

    def test_checks(self):
        made = dlcost.check(RESNET, RESNET, batch="1:8:x2", gpu="a100", max="expected_s=3ms")
        self.assertFalse(made)
        self.same_verdict(made, RESNET, "--baseline", RESNET, "--batch", "1:8:x2", "--gpu", "a100", "--max", "expected_s=3ms")
        self.same_verdict(dlcost.check(BERT, batch=2, dims={"sequence": [16, 64]}, max="macs=100G"),
                          BERT, "--batch", "2", "--dim", "sequence=16,64", "--max", "macs=100G")
        self.same_verdict(dlcost.check(RESNET, train="adamw", system="dgx-a100", plan="dp=8", micro_batch=32, max="exposed_s=5 ms"),
                          RESNET, "--train", "adamw", "--system", "dgx-a100", "--parallel", "dp=8", "--micro-batch", "32", "--max", "exposed_s=5 ms")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("on:\n  - gpu: t4\n    batch: 1\n  - gpu: a100\n    batch: [1, 8]\nbudgets:\n  - metric: macs\n    max: 1 G\n")
            file.flush()
            self.same_verdict(dlcost.check(ALEXNET, budget=file.name), ALEXNET, "--budget", file.name)
        old = dlcost.report(ALEXNET, gpu="t4")
        self.assertTrue(dlcost.check(ALEXNET, old))  # on the baseline's device
        self.assertIn("t4", dlcost.check(ALEXNET, old).text())
        self.assertRaisesRegex(dlcost.Error, "report of one size", dlcost.check, ALEXNET, old, batch=[1, 2])
        self.assertRaisesRegex(dlcost.Error, "want the model", dlcost.check, old, batch=[1, 2], max="macs=1G")
        self.assertRaisesRegex(dlcost.Error, "^train changes nothing of a finished report", dlcost.check, old, train="sgd")
        self.assertRaisesRegex(dlcost.Error, "system needs plan", dlcost.check, ALEXNET, system="dgx-1", max="macs=1G")

    def test_diffs(self):
        self.same(dlcost.diff(ALEXNET, gpu="a100", after_options={"gpu": "h100", "batch": 4}),
                  "diff", ALEXNET, "--gpu", "a100", "--after-gpu", "h100", "--after-batch", "4")
        self.same(dlcost.diff(ALEXNET, BERT, dims={"sequence": 64}), "diff", ALEXNET, BERT, "--dim", "sequence=64")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(says(ALEXNET, "--gpu", "t4", "--batch", "4", "--train", "sgd", "--format", "json"))
            file.flush()
            made = dlcost.diff(file.name, ALEXNET)  # as the report was made
            self.same(made, "diff", file.name, ALEXNET)
            self.assertEqual(made.changes, [])
            self.assertEqual(dlcost.diff(dlcost.read_report(file.name), ALEXNET).to_dict(), made.to_dict())
            self.assertRaisesRegex(dlcost.Error, "is for t4, not for a100", dlcost.diff, file.name, ALEXNET, gpu="a100")
        self.assertRaisesRegex(dlcost.Error, "dims sequenc: neither model has .*did you mean 'sequence'", dlcost.diff, BERT, BERT,
                               dims={"sequenc": 3, "sequence": 8})

    def test_devices(self):
        ids = [device.id for device in dlcost.devices(vendor="amd", kind="gpu", year="2020-", sort="fp16")]
        listed = program("gpus", "--vendor", "amd", "--kind", "gpu", "--year", "2020-", "--sort", "fp16")["devices"]
        self.assertEqual(ids, [device["id"] for device in listed])
        self.assertEqual(str(dlcost.device("a100", changes="memory.bandwidth=3TB/s")), says("gpus", "a100", "--set", "memory.bandwidth=3TB/s"))

    def test_rank(self):
        self.same(dlcost.rank(ALEXNET, top=3), ALEXNET, "--gpu", "all", "--top", "3")
        made = dlcost.rank(ALEXNET, ["a100", "t4"], batch=4, dtype="f16")
        self.same(made, ALEXNET, "--gpu", "a100,t4", "--batch", "4", "--dtype", "f16")
        self.assertEqual(made.csv(), says(ALEXNET, "--gpu", "a100,t4", "--batch", "4", "--dtype", "f16", "--format", "csv"))
        self.same(dlcost.rank(ALEXNET, runtime="tensorrt", top=1), ALEXNET, "--gpu", "all", "--runtime", "tensorrt", "--top", "1")

    def test_renderings_of_a_report(self):
        report = dlcost.report(RESNET, gpu="a100")
        on = (RESNET, "--gpu", "a100")
        for by in ("story", "layer", "node"):
            made = dlcost.report(RESNET, gpu="a100", depth=0) if by == "layer" else report
            self.assertEqual(made.text(by=by), says(*on, "--by", by))
            self.assertEqual(made.csv(by=by), says(*on, "--by", by, "--format", "csv"))
        self.assertEqual(report.text(columns="macs,expected"), says(*on, "--columns", "macs,expected"))
        self.assertEqual(report.text(by="node", top=5, columns=["macs"]), says(*on, "--by", "node", "--top", "5", "--columns", "macs"))
        self.assertEqual(report.text(plot=True), says(*on, "--plot"))
        self.assertEqual(report.markdown(by="node", top=5), says(*on, "--by", "node", "--top", "5", "--format", "markdown"))
        self.assertEqual(report.view("gemm"), says(*on, "--view", "gemm"))
        self.assertEqual(report.view("work", "/conv1/Conv"), says(*on, "--view", "work", "--node", "/conv1/Conv"))
        self.assertEqual(report.perfetto(), says(*on, "--format", "perfetto"))
        self.assertEqual(report.speedscope(), says(*on, "--format", "speedscope"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "annotated.onnx")
            says(*on, "--format", "onnx", "-o", path)
            with open(path, "rb") as file:
                self.assertEqual(report.annotated_model(), file.read())
        with open(RESNET, "rb") as file:
            self.assertRaisesRegex(dlcost.Error, "count the file itself", dlcost.report(file.read()).annotated_model)
        self.assertRaisesRegex(dlcost.Error, "did you mean 'gemm'", report.view, "gem")

    def test_compared_by(self):
        counters = os.path.join(PROFILES, "alexnet_p4_nvprof_metrics.csv")
        made = dlcost.compare(ALEXNET, counters, gpu="p4", batch=1)
        job = ("compare", ALEXNET, "--gpu", "p4", "--batch", "1", "--measured", counters, "--by", "layer,algorithm", "--top", "3")
        self.assertEqual(made.text(top=3, by=["layer", "algorithm"]), says(*job))
        self.assertEqual(made.markdown(top=3, by=["layer", "algorithm"]), says(*job, "--format", "markdown"))
        self.assertEqual(made.outside(0, 1e9), [])
        self.assertGreater(len(made.outside(0, 1e-9)), 0)
        self.assertRaisesRegex(dlcost.Error, "0.8:1.25", made.outside, 2, 1)
        self.assertRaisesRegex(dlcost.Error, "did you mean 'layer'", made.text, by="layers")

    def test_input(self):
        made = dlcost.input(602112, system="dgx-a100", stored_bytes=110e3, storage_bytes_per_s=20e9, decode_items_per_s=250,
                            augment_items_per_s=800, compute_items_per_s=2500, devices=8)
        self.same(made, "input", "--system", "dgx-a100", "--item", "602112B", "--stored", "110kB", "--storage", "20GB/s", "--decode", "250",
                  "--augment", "800", "--compute", "2500", "--devices", "8")
        self.same(dlcost.input(150528, storage_bytes_per_s=10e9, compute_flops_per_s=151e12, flops_per_item=20e9),
                  "input", "--item", "150528B", "--storage", "10GB/s", "--compute", "151TFLOP/s", "--work", "20e9")
        self.assertRaisesRegex(dlcost.Error, "flops_per_item needs", dlcost.input, 1, flops_per_item=1)

    def test_knowledge(self):
        self.assertEqual(dlcost.runtimes().to_dicts(), program("runtimes")["runtimes"])
        self.assertEqual(str(dlcost.runtime("TensorRT")), says("runtimes", "tensorrt"))
        every = dlcost.operators()
        text = says("ops")
        self.assertEqual(len(every), sum(int(line.split(": ")[1].split()[0]) for line in text.splitlines() if line.endswith(" operators")))
        (conv,) = [one for one in every if (one.domain, one.name) == ("ai.onnx", "Conv")]
        self.assertEqual((conv.versions, conv.removed_in, conv.derivative), ([1, 11, 22], 0, "a rule"))
        self.assertIn(conv.formula, text)
        self.assertEqual(dlcost.operator("Conv"), says("ops", "Conv"))
        self.assertRaisesRegex(dlcost.Error, "did you mean 'Conv'", dlcost.operator, "Cnv")
        self.assertEqual([one.name for one in dlcost.networks()], [line.split()[0] for line in says("network").splitlines() if line[0] != " "])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gpt2.onnx")
            says("network", "gpt2", "phase=decode", "layers=2", "-o", path)
            with open(path, "rb") as file:
                self.assertEqual(dlcost.network("gpt2", phase="decode", layers=2), file.read())
        self.assertRaisesRegex(dlcost.Error, "did you mean 'resnet50'", dlcost.network, "resnet5")

    def test_fits(self):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write("layers,flops\n1,110\n2,209\n3,311\n4,410\n")
            file.flush()
            self.same(dlcost.fit(file.name, "layers", "flops", expect=100), "fit", file.name, "--x", "layers", "--y", "flops", "--expect", "100")
            made = dlcost.fit(file.name, "layers", "flops", terms=[2, 0], expect={2: 20, 0: 100})
            self.same(made, "fit", file.name, "--x", "layers", "--y", "flops", "--terms", "2", "0", "--expect", "2=20", "--expect", "0=100")
            self.assertRaisesRegex(dlcost.Error, "names power 3", dlcost.fit, file.name, "layers", "flops", expect={3: 1})

    def test_calibrations(self):
        table = os.path.join("bench", "published", "matrix_products.csv")
        gpus = ["h100-sxm5", "h200-nvl", "h200-sxm", "gh200-144gb"]
        made = dlcost.calibrate(gpus, table, keep=["launch.graph"], iterations=5, fit_share=1)
        self.assertEqual(made.yaml, says("calibrate", "--gpu", ",".join(gpus), "--measured", table, "--keep", "launch.graph", "--iterations", "5",
                                         "--fit-share", "1"))
        self.assertEqual(made.devices, gpus)
        self.assertEqual((made.fitted.rows, made.held_out.rows), (20, 0))
        for constant in made.constants:
            self.assertEqual(f"  {constant.name}:" in made.yaml, not constant.refused)
        self.assertRaisesRegex(dlcost.Error, "^fit_share", dlcost.calibrate, "h100-sxm5", table, fit_share=2)
        self.assertRaisesRegex(dlcost.Error, "^prior", dlcost.calibrate, "h100-sxm5", table, prior=2)


# The inherited ones ran already.
for name in dir(questions.SameAsProgram):
    if name.startswith("test_") and name not in vars(SameAsProgram):
        setattr(SameAsProgram, name, None)

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
