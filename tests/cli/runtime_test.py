"""--runtime as a user meets it: what each one runs, what every report says of it, and what wins over it.

Run by ctest with the program and the source tree as arguments; needs nothing but Python's standard library.
"""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

import json_schema  # beside this file

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
NETWORKS = os.path.join(SOURCE, "models", "networks")
RESNET = os.path.join(NETWORKS, "resnet50.onnx")
BERT = os.path.join(NETWORKS, "bert-base.onnx")
SHORT = ("--dim", "sequence=128")


def run(*arguments, code=0):
    result = subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=120, check=False)
    error = result.stderr.decode()
    if result.returncode != code:
        raise AssertionError((arguments, result.returncode, error))
    wrong = json_schema.violations_of_command(arguments, result.stdout)
    if wrong:
        raise AssertionError((arguments, wrong))
    return error if code else result.stdout.decode()


def report(*arguments):
    return json.loads(run(*arguments, "--format", "json"))


RUNTIMES = {r["id"]: r for r in json.loads(run("runtimes", "--format", "json"))["runtimes"]}


def parts(runtime, name):
    return [part["value"] for part in RUNTIMES[runtime]["parts"] if part["part"] == name]


class Losses(unittest.TestCase):
    def test_an_eager_loss_is_fused_with_nothing(self):
        step = (RESNET, "--batch", "2", "--gpu", "a100", "--runtime", "pytorch-compile", "--precision", "bf16", "--train", "sgd", "--loss")
        for loss, alone in (("cross_entropy", False), ("nll", True)):
            kernels = [k["nodes"] for k in report(*step, loss)["kernels"]]
            mixed = [nodes for nodes in kernels if any("/loss/" in n for n in nodes) and len([n for n in nodes if "Reshape" not in n]) > 1]
            self.assertEqual(not mixed, alone, (loss, mixed))


    def test_a_runtime_that_composes_has_no_kernel_for_a_loss_unless_something_fuses(self):
        step = (RESNET, "--batch", "2", "--gpu", "a100", "--train", "sgd", "--runtime", "pytorch-eager")
        for fusion, loss in (((), "nll"), (("--fusion", "none"), "nll"), (("--fusion", "default"), "cross_entropy")):
            self.assertEqual(report(*step, *fusion)["step"]["loss"], loss, fusion)


class Networks(unittest.TestCase):
    """Every runtime on ResNet-50 and BERT: kernels, attention and launches as its file says."""

    def test_resnet50(self):
        # 53 convolutions, 49 activations, 16 additions, 2 poolings and a product with its bias.
        fused, apart = 56, 56 + 49 + 16
        for runtime in RUNTIMES:
            with self.subTest(runtime=runtime):
                kernels = report(RESNET, "--gpu", "a100", "--runtime", runtime)["kernels"]
                fuses = parts(runtime, "fuses")
                if "convolution" in fuses:
                    self.assertEqual(len(kernels), fused)
                else:
                    # Each addition with its activation; the last of those in the average behind it.
                    merged = 16 * ("pointwise" in fuses) + ("rows" in fuses)
                    self.assertEqual(len(kernels), apart - merged)
                for kernel in kernels:
                    operators = {node.rsplit("/", 1)[-1].split("_")[0] for node in kernel["nodes"]}
                    if kernel["op"] == "Conv" and "convolution" not in fuses:
                        self.assertEqual(operators, {"Conv"}, kernel["nodes"])

    def test_bert(self):
        for runtime in RUNTIMES:
            with self.subTest(runtime=runtime):
                for dtype, half in (("f32", False), ("f16", True)):
                    made = report(BERT, *SHORT, "--gpu", "a100", "--runtime", runtime, "--dtype", dtype)
                    kernels = made["kernels"]
                    form = parts(runtime, "attention")[0]
                    flash = form in ("flash", "flash-1", "flash-2") or (form == "flash-16bit" and half)
                    self.assertEqual(sum(k["algorithm"].startswith("flash") for k in kernels), 12 if flash else 0)
                    self.assertEqual(sum(k["op"] == "Softmax" for k in kernels), 0 if flash else 12)
                    products = [sum("MatMul" in n for n in k["nodes"]) for k in kernels if k["op"] == "MatMul"]
                    stacked = {"parallel", "projections"} & set(parts(runtime, "fuses"))
                    self.assertEqual(products.count(3), 12 if stacked else 0)
                    # What is fused moves no work: MACs are those of the model.
                    self.assertEqual(sum(k["macs"] for k in kernels), made["totals"]["macs"])

    def test_calls(self):
        for runtime in RUNTIMES:
            with self.subTest(runtime=runtime):
                text = run("explain", RESNET, "--gpu", "a100", "--runtime", runtime, "--node", "/conv1/Conv")
                called = parts(runtime, "launch") != ["graph"]
                self.assertEqual("framework calls" in text, called)
                chosen = called and parts(runtime, "selection") != ["build"]
                self.assertEqual("library call" in text, chosen)


class Says(unittest.TestCase):
    """Every rendering names the runtime, given or by default."""

    def test_reports(self):
        for arguments in (
            (RESNET, "--gpu", "t4"),
            (RESNET, "--gpu", "t4", "--format", "markdown"),
            (RESNET, "--gpu", "t4", "--format", "html"),
            (RESNET, "--gpu", "t4", "--view", "gemm"),
            (RESNET, "--gpu", "t4", "--view", "work"),
            (RESNET, "--gpu", "t4,a100"),
            (RESNET, "--gpu", "t4", "--train", "sgd"),
            ("explain", RESNET, "--gpu", "t4"),
            ("html", RESNET, "--gpu", "t4"),
            ("sweep", RESNET, "--gpu", "t4", "--batch", "1,2"),
        ):
            with self.subTest(arguments=arguments[1:]):
                self.assertIn("generic by default", run(*arguments))
                given = run(*arguments, "--runtime", "tensorrt")
                self.assertIn("tensorrt", given)
                self.assertNotIn("generic by default", given)

    def test_tables(self):
        for arguments in (
            (RESNET, "--gpu", "t4"),
            (RESNET, "--gpu", "t4", "--by", "node"),
            (RESNET, "--gpu", "t4", "--by", "kernel"),
            (RESNET, "--gpu", "t4,a100"),
            ("sweep", RESNET, "--gpu", "t4", "--batch", "1,2"),
        ):
            with self.subTest(arguments=arguments):
                for given, named in (((), "generic"), (("--runtime", "ort"), "onnxruntime")):
                    rows = list(csv.DictReader(io.StringIO(run(*arguments, *given, "--format", "csv"))))
                    self.assertTrue(rows)
                    self.assertEqual({row["runtime"] for row in rows}, {named})

    def test_json(self):
        made = report(RESNET, "--gpu", "t4")["options"]
        self.assertEqual((made["runtime"], made["runtime_given"]), ("generic", False))
        self.assertEqual(made["fuses"], ["bias", "product", "convolution", "pointwise", "rows", "views"])
        made = report(RESNET, "--gpu", "t4", "--runtime", "PyTorch")["options"]
        self.assertEqual((made["runtime"], made["runtime_given"]), ("pytorch-eager", True))
        self.assertEqual(
            (made["fuses"], made["attention"], made["launch"], made["math"], made["selection"]),
            (["bias", "views"], "called", "eager", "tf32-convolution", "first"),
        )
        for arguments in (
            ("explain", RESNET, "--gpu", "t4"),
            (RESNET, "--gpu", "t4,a100"),
            ("sweep", RESNET, "--gpu", "t4", "--batch", "1"),
        ):
            self.assertEqual(report(*arguments, "--runtime", "xla")["runtime"], "xla")

    def test_views_agree(self):
        for runtime in RUNTIMES:
            with self.subTest(runtime=runtime):
                given = ("--gpu", "a100", "--runtime", runtime)
                made = report(RESNET, *given)
                longest = max(made["kernels"], key=lambda kernel: kernel["expected_s"])
                told = report("explain", RESNET, *given, "--node", longest["main"])
                self.assertEqual(
                    (told["algorithm"], told["nodes"], told["launches"]),
                    (longest["algorithm"], longest["nodes"], longest["launches"]),
                )
                self.assertIn(longest["algorithm"], run(RESNET, *given, "--view", "work", "--node", longest["main"]))
                swept = report("sweep", RESNET, *given, "--batch", "1")["points"][0]
                self.assertAlmostEqual(swept["expected_s"] / made["totals"]["expected_s"], 1, places=9)

    def test_diff_and_check(self):
        with tempfile.TemporaryDirectory() as folder:
            old = os.path.join(folder, "old.json")
            run(RESNET, "--gpu", "t4", "--runtime", "pytorch", "--format", "json", "-o", old)
            self.assertIn("runtime: pytorch-eager before, tensorrt after",
                          run("diff", old, RESNET, "--gpu", "t4", "--runtime", "tensorrt"))  # fmt: skip
            text = run("diff", BERT, *SHORT, "--gpu", "a100", "--runtime", "pytorch", "--after-runtime", "tensorrt")
            self.assertRegex(text, r"kernel launches +214 +88 ")
            # A model beside a report is taken as the report was.
            text = run("check", RESNET, "--baseline", old)
            self.assertIn("passed", text)
            self.assertIn("runtime pytorch-eager", text)


class Wins(unittest.TestCase):
    """An option that says otherwise wins over the runtime's entry."""

    def test_options(self):
        given = (BERT, *SHORT, "--gpu", "a100", "--runtime", "pytorch-eager")
        for option, value in (("fusion", "none"), ("attention", "flash"), ("math", "tf32"), ("launch", "graph")):
            options = report(*given, "--" + option, value)["options"]
            self.assertEqual(options[option], value)
            self.assertEqual(options["runtime"], "pytorch-eager")
        compiled = report(*given, "--fusion", "default", "--attention", "flash")
        self.assertEqual(compiled["options"]["fuses"], report(BERT, *SHORT)["options"]["fuses"])

    def test_default_is_the_default(self):
        told = run(BERT, *SHORT, "--gpu", "t4")
        self.assertEqual(told.replace("generic by default", "generic"),
                         run(BERT, *SHORT, "--gpu", "t4", "--runtime", "generic"))  # fmt: skip

    def test_file_of_ones_own(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.yaml")
            with open(os.path.join(SOURCE, "hw_specs", "runtimes", "tensorrt.yaml"), encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("value: fastest,", "value: default,"))
            made = report(RESNET, "--gpu", "a100", "--runtime", path)["options"]
            self.assertEqual((made["runtime"], made["math"]), ("mine", "default"))


class Rejects(unittest.TestCase):
    """One line that says what is wrong, and exit code 2."""

    def rejected(self, *arguments, says):
        error = run(*arguments, code=2)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertTrue(error.startswith("dlcost: "), error)
        self.assertIn(says, error)

    def test_unknown(self):
        for command in ((), ("explain",), ("sweep",), ("html",), ("check",)):
            more = ("--baseline", RESNET) if command == ("check",) else ()
            self.rejected(*command, RESNET, *more, "--gpu", "a100", "--runtime", "tensort",
                          says="unknown runtime 'tensort' (did you mean 'tensorrt'?)")  # fmt: skip
        self.rejected("runtimes", "pytorch-egaer", says="did you mean 'pytorch-eager'?")
        self.rejected(RESNET, "--runtime", "/nonexistent.yaml", says="cannot be opened")

    def test_devices(self):
        self.rejected(RESNET, "--gpu", "mi300x", "--runtime", "tensorrt", says="runs on devices of NVIDIA")

    def test_all_devices(self):
        """Of all devices those that the runtime serves are timed, and the others are counted in a line."""
        everything = report(RESNET, "--gpu", "all")
        served = report(RESNET, "--gpu", "all", "--runtime", "tensorrt")
        names = {device["id"] for device in served["devices"]}
        self.assertIn("a100-sxm4-80gb", names)
        self.assertTrue(names < {device["id"] for device in everything["devices"]})
        self.assertNotIn("mi300x", names)
        missing = len(everything["devices"]) - len(names)
        left_out = f"{missing} of {len(everything['devices'])} devices are left out, since tensorrt runs on none of AMD,"
        self.assertEqual([note for note in served["notes"] if left_out in note], served["notes"][-1:])
        self.assertIn(left_out, run(RESNET, "--gpu", "all", "--runtime", "tensorrt"))
        self.assertNotIn("left out", run(RESNET, "--gpu", "all", "--runtime", "pytorch-eager"))
        swept = run("sweep", RESNET, "--batch", "1,2", "--gpu", "all", "--runtime", "tensorrt")
        self.assertIn(left_out, swept)
        self.assertNotIn("mi300x", swept)

    def test_options(self):
        self.rejected(RESNET, "--gpu", "a100", "--math", "tf23", says="did you mean 'tf32'?")
        self.rejected(RESNET, "--gpu", "a100", "--launch", "eagre", says="did you mean 'eager'?")
        # No attention to force; a runtime's form asks for nothing.
        self.rejected(RESNET, "--gpu", "a100", "--attention", "materialized", says="no attention")
        run(RESNET, "--gpu", "a100", "--runtime", "pytorch-eager")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.yaml")
            for content, says in (
                ("name: x\nfuzes: none\n", "did you mean 'fuses'?"),
                ("name: x\n", "'fuses' is missing"),
                ("name: x\nmath: tf32\n", "'math' names no source"),
                ("name: [\n", "x.yaml"),
                ("", "x.yaml"),
            ):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(content)
                self.rejected(RESNET, "--runtime", path, says=says)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
