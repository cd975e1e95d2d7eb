"""The command line as a user meets it: exit codes, one line of error, determinism.

Run by ctest with the program and the source tree as arguments; needs nothing but Python's standard library.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

import json_schema  # beside this file

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
NETWORKS = os.path.join(SOURCE, "models", "networks")
ALEXNET = os.path.join(NETWORKS, "alexnet.onnx")
BERT = os.path.join(NETWORKS, "bert-base.onnx")


def run(*arguments, timeout=60):
    result = subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=timeout, check=False)
    wrong = json_schema.violations_of_command(arguments, result.stdout)
    if wrong:
        raise AssertionError((arguments, wrong))
    return result


class Rejects(unittest.TestCase):
    """Wrong input: one clear line on standard error, nothing on standard output, exit code 2."""

    def rejected(self, *arguments, says=""):
        result = run(*arguments)
        error = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, 2, (arguments, error, result.stdout[:200]))
        self.assertEqual(result.stdout, b"", arguments)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertTrue(error.startswith("dlcost: "), error)
        self.assertIn(says, error)

    def file(self, content):
        handle = tempfile.NamedTemporaryFile(suffix=".onnx", delete=False)
        self.addCleanup(os.unlink, handle.name)
        handle.write(content)
        handle.close()
        return handle.name

    def test_files_that_are_no_models(self):
        self.rejected("/nonexistent.onnx", says="No such file")
        self.rejected("/", says="directory")
        self.rejected("/dev/null", says="not a regular file")
        self.rejected(self.file(b""), says="empty")
        self.rejected(self.file(b"just a text file\n"), says="not a valid ONNX file")
        self.rejected(self.file(b"\x08\x08"), says="no graph")

    def test_random_bytes(self):
        generator = random.Random(1)
        for length in (1, 2, 10, 100, 1000, 10000):
            for _ in range(5):
                self.rejected(self.file(generator.randbytes(length)))

    def test_truncated_anywhere(self):
        with open(ALEXNET, "rb") as model:
            content = model.read()
        for length in range(1, len(content), max(1, len(content) // 200)):
            result = run(self.file(content[:length]))
            # A cut between two fields after the graph leaves a whole model.
            self.assertIn(result.returncode, (0, 2))
            if result.returncode == 2:
                self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)

    def test_flipped_bytes_never_crash(self):
        with open(ALEXNET, "rb") as model:
            content = model.read()
        generator = random.Random(2)
        for _ in range(100):
            damaged = bytearray(content)
            for _ in range(3):
                damaged[generator.randrange(len(damaged))] = generator.randrange(256)
            self.assertIn(run(self.file(bytes(damaged))).returncode, (0, 2))

    def test_command_line(self):
        self.rejected(ALEXNET, "--gpu", "h10o", says="did you mean 'h100")
        self.rejected(ALEXNET, "--gpuu", "a100", says="did you mean '--gpu'?")
        self.rejected(ALEXNET, "--format", "jason", says="did you mean 'json'?")
        self.rejected(ALEXNET, "--by", "nodes", says="did you mean 'node'?")
        self.rejected(ALEXNET, "--batch", "many", says="--batch")
        self.rejected(ALEXNET, "--batch", "-1", says="negative")
        self.rejected(ALEXNET, "--convention", "fvcor", says="convention")
        self.rejected(ALEXNET, "-o", "/nonexistent/report.json", says="cannot write")
        self.rejected("report", says="required")

    def test_what_is_forced_shows_or_is_an_error(self):
        bert = (BERT, "--dim", "sequence=32")
        for form in ("flash", "materialized"):
            for model in ((ALEXNET,), (ALEXNET, "--gpu", "a100")):
                self.rejected(*model, "--attention", form, says="no attention that could run as one kernel")
            self.rejected(*bert, "--fusion", "none", "--attention", form, says="--fusion none runs every node alone")
            self.assertEqual(run(*bert, "--attention", form).returncode, 0)
        self.rejected(ALEXNET, "--algo", "conv=winograd", says="add --gpu")
        self.rejected(*bert, "--gpu", "a100", "--algo", "conv=fft", says="this model has no convolution")
        self.rejected(ALEXNET, "--gpu", "tpu-v5e", "--algo", "conv=fft", says="runs on the arrays")
        for command in ((), ("explain",)):
            self.rejected(*command, "--algo", "conv=depthwise", ALEXNET, "--gpu", "a100",
                          says="(more than one input channel per group); can: direct, implicit_gemm, im2col_gemm")
            self.rejected(*command, ALEXNET, "--gpu", "a100", "--attention", "flash", says="no attention")
        # Whatever applies changes executed work, traffic or time.
        totals = lambda *options: json.loads(run(*options, "--format", "json").stdout)
        batch = ("--gpu", "v100", "--batch", "64")  # its 3x3 filters run staged Winograd by themselves
        usual = totals(ALEXNET, *batch)
        for name in ("direct", "im2col_gemm", "winograd", "winograd_nonfused", "fft"):
            forced = totals(ALEXNET, *batch, "--algo", "conv=" + name)
            kernels = [[(k["executed_flops"], k["executed_bytes"], k["expected_s"]) for k in report["kernels"]]
                       for report in (usual, forced)]
            self.assertNotEqual(*kernels, name)
        for device in ("v100", "a100", "tpu-v5e"):
            forms = [totals(*bert, "--gpu", device, "--attention", form) for form in ("flash", "materialized")]
            self.assertLess(*[report["totals"]["expected_s"] for report in forms], device)

    def test_dimensions(self):
        self.rejected(BERT, "--dim", "sek=128", says="no input has a dimension of that name")
        self.rejected(BERT, "--dim", "sequence", says="NAME=N")
        self.rejected(BERT, says="unbound dimensions")
        self.rejected(ALEXNET, "--input", "nosuch:1x3x227x227", says="no such input")
        self.rejected(ALEXNET, "--batch", "4611686018427387904", says="64 bits")


    def test_limits_over_ranges(self):
        limit = ("--max", "macs=1 G")
        baseline = self.file(run(ALEXNET, "--format", "json").stdout)
        self.rejected("check", ALEXNET, "--batch", "8:1", *limit, says="runs backwards")
        self.rejected("check", ALEXNET, "--batch", "1:100000", *limit, says="10000 sizes")
        self.rejected("check", ALEXNET, "--batch", "1,2", "--baseline", baseline, says="of one size")
        self.rejected("check", ALEXNET, "--batch", "1,2", "--baseline", baseline, "--update", says="of one size")
        self.rejected("check", BERT, "--dim", "sequence=512,513", *limit, says="at sequence=513: ")

    def test_sweeps_and_formulas(self):
        lengths = self.file(b"length\n12\nlong\n")
        for arguments, says in [
            (("--batch", "8:1"), "runs backwards"),
            (("--batch", ","), "a size is missing"),
            (("--dim", "sequence="), "a size is missing"),
            (("--batch", "1:1000000000"), "--yes"),
            (("--batch", "1:9000000000000000000", "--dim", "sequence=1:9000000000000000000"), "--yes"),
            (("--dim", "sequense=1:4"), "did you mean 'sequence'"),
            (("--dim", "sequence=@" + lengths), "line 3: 'long' is no size"),
            (("--dim", "sequence=@/nonexistent"), "cannot read"),
            (("--dim", "sequence=1:8", "--plot"), "--gpu"),
            (("--dim", "sequence=1:8", "--dtype", "f16,foo"), "no data type"),
            (("--dim", "sequence=600,700"), "do not broadcast"),
            (("--batch", ""), "an empty value"),
            (("--dim", "sequence=8", "--set", "power=100W"), "add --gpu"),
            (("--dim", "sequence=8", "--train", "sgd", "--gpu", "t4", "--fit"), "--fit is for"),
            (("--dim", "sequence=1:8", "--format", "parquet"), "pyarrow.parquet.write_table"),
            (("--dim", "sequence=1:8", "--format", "arrow"), "pyarrow.feather.write_feather"),
            (("--dim", "sequence=64,128", "--buckets", "128"), "observed sizes"),
            (("--dim", "sequence=@" + self.file(b"12\n90\n"), "--buckets", "16,64"), "longest observed size, 90"),
            (("--dim", "sequence=@" + self.file(b"12\n90\n"), "--buckets", "16:64:0"), "goes nowhere"),
            (("--batch", "1,2", "--dim", "batch=8", "--dim", "sequence=8"), "--dim batch"),
            (("--dim", "sequence=1:8", "--dim", "sequence=2:9"), "given twice"),
            (("--dim", "sequence=1:8", "--dim", "sequence=9"), "given twice"),
            (("--dim", "sequence=8", "--train", "sgd,addam"), "did you mean 'adam'"),
            (("--dim", "sequence=8", "--precision", "bf16,fp17"), "did you mean 'fp16'"),
            (("--dim", "sequence=8", "--precision", "bf16", "--dtype", "f16"), "give one of them"),
            (("--dim", "sequence=8", "--runtime", "tensorrt,onxruntime"), "did you mean 'onnxruntime'"),
            (("--dim", "sequence=8", "--runtime", "tensorrt,"), "an empty name"),
            (("--dim", "sequence=8", "--gpu", "a100", "--set", "memory.bandwidth=8TB/s:1TB/s"), "runs backwards"),
            (("--dim", "sequence=8", "--gpu", "a100", "--set", "memory.bandwidth=1TB/s:2TX/s"), "one unit"),
        ]:
            self.rejected("sweep", BERT, *arguments, says=says)
        self.rejected("formula", BERT, "--dim", "nothing=3", says="no input has a dimension")
        self.rejected("formula", BERT, "--dim", "batch=sequence+", says="neither a size")
        self.rejected("formula", BERT, "--around", "nothing=3", says="no open dimension")


class Reports(unittest.TestCase):
    def test_output_is_deterministic(self):
        for arguments in ((), ("--format", "json"), ("--by", "node", "--format", "csv")):
            first = run(ALEXNET, "--gpu", "a100", *arguments)
            self.assertEqual(first.returncode, 0, first.stderr)
            self.assertEqual(first.stdout, run(ALEXNET, "--gpu", "a100", *arguments).stdout)

    def test_totals_reconcile(self):
        report = json.loads(run(ALEXNET, "--gpu", "a100", "--format", "json").stdout)
        self.assertEqual(report["schema"], "dlcost.report/1")
        for rows in ("by_op", "by_scope", "kernels", "nodes"):
            for count in ("macs", "flops"):
                self.assertEqual(
                    sum(row[count] for row in report[rows]), report["totals"][count], (rows, count)
                )
        for rows in ("by_op", "by_scope", "kernels"):
            self.assertEqual(sum(row["bytes"] for row in report[rows]), report["totals"]["bytes"])
            self.assertAlmostEqual(
                sum(row["bound_s"] for row in report[rows]), report["totals"]["bound_s"], places=12
            )
        self.assertEqual(sum(report["coverage"].values()), report["model"]["nodes"])

    def test_explains_in_numbers_too(self):
        explain = ("explain", ALEXNET, "--gpu", "a100")
        result = run(*explain, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        kernel = json.loads(result.stdout)
        self.assertLessEqual(kernel["bound_s"], kernel["expected_s"])
        text = run(*explain).stdout.decode()
        depths = [term["level"] for term in kernel["terms"]]
        lines = [line for line in text.splitlines() if line.startswith("  ")]
        for term, depth in zip(kernel["terms"], depths):
            line = next((line for line in lines if line.startswith("  " * (depth + 1) + term["what"])), None)
            self.assertIsNotNone(line, term)
        # The tree adds up: the root is what was promised, its parts what they say they are together.
        self.assertEqual((depths[0], kernel["terms"][0]["value"]), (0, kernel["expected_s"]))
        parts = [term["value"] for term in kernel["terms"] if term["level"] == 1]
        self.assertEqual(kernel["terms"][0]["combine"], "longest")
        self.assertEqual(kernel["expected_s"], max(parts))

    def test_explains_what_the_report_says(self):
        networks = ((ALEXNET,), (os.path.join(NETWORKS, "lstm.onnx"), "--dim", "sequence=8"))
        for model in networks:
            for device in ("p4", "h100-sxm5", "tpu-v5e"):
                report = json.loads(run(*model, "--gpu", device, "--format", "json").stdout)
                for kernel in report["kernels"]:
                    told = json.loads(run("explain", *model, "--gpu", device, "--node", kernel["main"],
                                          "--format", "json").stdout)
                    self.assertEqual(told["kernel"], kernel["id"])
                    self.assertEqual(told["limited_by"], kernel["limited_by"])
                    self.assertEqual(told["bound_limited_by"], kernel["limiter"])
                    for key in ("nodes", "algorithm", "launches", "bytes", "executed_bytes", "expected_s", "bound_s"):
                        self.assertEqual(told[key], kernel[key], (device, kernel["main"], key))
                    if "tile" in kernel.get("gemm", {}):
                        tile = "x".join(str(extent) for extent in kernel["gemm"]["tile"])
                        self.assertEqual(told["tile"].split()[0], tile)
                    self.assertEqual(told["terms"][0]["value"], kernel["expected_s"])

    def test_formula(self):
        text = run("formula", BERT).stdout.decode()
        self.assertIn("batch·(589,824 + 84,934,656·sequence + 18,432·sequence²)", text)
        self.assertEqual(run("formula", BERT).stdout.decode(), text)
        formula = json.loads(run("formula", BERT, "--format", "json").stdout)
        self.assertEqual(formula["schema"], "dlcost.formula/1")
        report = json.loads(run("report", BERT, "--batch", "3", "--dim", "sequence=77", "--format", "json").stdout)
        names = {}
        exec(run("formula", BERT, "--format", "python").stdout.decode(), names)  # what a user pastes
        self.assertEqual(names["macs"](batch=3, sequence=77), report["totals"]["macs"])
        with self.assertRaises(ValueError):  # there are positions for 512 words
            names["macs"](batch=3, sequence=513)
        self.assertEqual(names["bytes_default"](batch=3, sequence=77), report["totals"]["bytes"])
        self.assertEqual(names["peak_activation_bytes"](batch=3, sequence=77), report["totals"]["peak_activation_bytes"])

    def test_sweep(self):
        arguments = (ALEXNET, "--batch", "1:64:x2", "--gpu", "a100,t4", "--price", "2/h")
        sweep = json.loads(run("sweep", *arguments, "--format", "json").stdout)
        self.assertEqual(len(sweep["points"]), 14)
        last = sweep["points"][-1]
        report = json.loads(run("report", ALEXNET, "--batch", "64", "--gpu", "t4", "--format", "json").stdout)
        for name in ("macs", "flops", "bytes"):
            self.assertEqual(last[name], report["totals"][name])
        self.assertAlmostEqual(last["expected_s"] / report["totals"]["expected_s"], 1, delta=1e-9)
        lines = run("sweep", *arguments, "--format", "csv").stdout.decode().splitlines()
        self.assertEqual({line.count(",") for line in lines}, {lines[0].count(",")})
        what_if = run("sweep", ALEXNET, "--batch", "1", "--gpu", "a100", "--set", "memory.bandwidth=1TB/s,4TB/s", "--format", "json")
        slow, fast = json.loads(what_if.stdout)["points"]
        self.assertGreater(slow["bound_s"], fast["bound_s"])
        self.assertTrue(slow["device"].endswith("memory.bandwidth=1TB/s"))
        ranged = run("sweep", ALEXNET, "--batch", "1", "--gpu", "a100", "--set", "memory.bandwidth=1TB/s:4TB/s", "--format", "json")
        self.assertEqual([point["device"].split("=")[1] for point in json.loads(ranged.stdout)["points"]], ["1TB/s", "2TB/s", "4TB/s"])
        # Without a command, sizes that are lists say what is meant.
        self.assertEqual(run(*arguments).stdout, run("sweep", *arguments).stdout)

    def test_a_limit_over_a_range(self):
        def check(limit):
            done = run("check", ALEXNET, "--gpu", "t4", "--batch", "1:16:x2", "--max", f"expected_s={limit} s", "--format", "json")
            return done.returncode, json.loads(done.stdout)["runs"][0]["items"][0]

        times = {}
        for batch in (1, 2, 4, 8, 16):
            report = json.loads(run(ALEXNET, "--gpu", "t4", "--batch", str(batch), "--format", "json").stdout)
            times[batch] = report["totals"]["expected_s"]
        code, item = check(1.0001 * times[16])
        self.assertEqual((code, item["passed"], item["point"], item["broken"]), (0, True, "batch=16", []))
        self.assertAlmostEqual(item["value"] / times[16], 1, delta=1e-12)
        code, item = check(1.0001 * times[4])
        self.assertEqual((code, item["passed"], item["broken"]), (1, False, ["batch=8", "batch=16"]))

    def test_ranks_devices(self):
        asked = ("sweep", ALEXNET, "--batch", "1:16:x2", "--gpu", "a100,t4,k80", "--for", "latency<=3ms", "--price",
                 "a100=9/h,t4=0.35/h,k80=1/h", "--rank", "price")
        best = json.loads(run(*asked, "--format", "json").stdout)["best"]
        costs = [point["cost_per_million"] for point in best]
        self.assertEqual(costs, sorted(costs))
        told = run(*asked).stdout.decode().split("\nbest ")[1].splitlines()[1:]
        firsts = list(dict.fromkeys(point["device"] for point in best))
        self.assertEqual([line.split()[0].rstrip(":") for line in told], firsts + sorted({"a100-sxm4-80gb", "t4", "k80"} - set(firsts)))

    def test_observed_sizes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lengths.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("length,count\n32,5\n100,3\n200,2\n")
            sweep = json.loads(run("sweep", BERT, "--batch", "2", "--dim", "sequence=@" + path, "--buckets", "128:512:128", "--gpu", "t4",
                                   "--format", "json").stdout)
        self.assertEqual([point["sizes"]["sequence"] for point in sweep["points"]], [32, 100, 128, 200, 256])
        took = {point["sizes"]["sequence"]: point["expected_s"] for point in sweep["points"]}
        (row,) = sweep["distributions"]
        self.assertEqual((row["items"], row["batch"], row["buckets"]), (10, 2, [128, 256]))  # nothing is padded beyond 256
        total = {way["how"]: way["total_s"] for way in row["batched"]}
        for how, seconds in (
            ("one length", 2.5 * took[32] + 1.5 * took[100] + took[200]),
            ("sorted", took[200] + 2 * took[100] + 2 * took[32]),
            ("bucketed", 4 * took[128] + took[256]),
            ("as they come", 5 * (0.25 * took[32] + 0.39 * took[100] + 0.36 * took[200])),
            ("longest", 5 * took[200]),
        ):
            self.assertAlmostEqual(total[how] / seconds, 1, delta=1e-9, msg=how)

    def test_a_sweep_over_ways_of_running(self):
        sized = (BERT, "--batch", "2", "--dim", "sequence=64", "--gpu", "a100")
        sweep = json.loads(run("sweep", *sized, "--runtime", "pytorch-eager,tensorrt", "--train", "sgd,adamw", "--precision",
                               "fp32,amp-bf16", "--format", "json").stdout)
        self.assertEqual(len(sweep["points"]), 8)
        self.assertEqual(sweep["runtime"], "pytorch-eager, tensorrt")
        for point in sweep["points"]:
            how = [f"--{name}={point[name]}" for name in ("runtime", "train", "precision")]
            totals = json.loads(run(*sized, *how, "--format", "json").stdout)["totals"]
            self.assertEqual((point["macs"], point["bytes"]), (totals["macs"], totals["bytes"]), how)
            self.assertAlmostEqual(point["expected_s"] / totals["expected_s"], 1, delta=1e-9)

    def test_writes_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            result = run(ALEXNET, "--format", "json", "-o", path)
            self.assertEqual((result.returncode, result.stdout), (0, b""))
            with open(path, encoding="utf-8") as report:
                self.assertIsNone(json.load(report)["device"])

    def test_help_has_examples(self):
        for arguments in (("--help",), ("report", "--help")):
            result = run(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertIn(b"Examples:", result.stdout)


class EarlierReports(unittest.TestCase):
    """Reports that an earlier release wrote (tests/regress/earlier): valid by the schema of today, a side of a difference, a baseline."""

    FOLDER = os.path.join(SOURCE, "tests", "regress", "earlier")

    def test_are_valid(self):
        for name in os.listdir(self.FOLDER):
            with open(os.path.join(self.FOLDER, name), encoding="utf-8") as file:
                self.assertEqual(json_schema.violations(file.read()), [], name)

    def test_diff_and_check(self):
        then = os.path.join(self.FOLDER, "alexnet-a100.json")
        diff = json.loads(run("diff", then, ALEXNET, "--gpu", "a100", "--format", "json").stdout)
        self.assertEqual(diff["changes"], [])
        self.assertEqual(diff["totals"]["macs"], {"before": 714188480, "after": 714188480})
        self.assertIn("did not tell alignment, convolutions, fuses, layout, planes, quantized, runtime", diff["notes"][-1])
        check = json.loads(run("check", ALEXNET, "--gpu", "a100", "--baseline", then, "--format", "json").stdout)
        items = {item["name"]: item for item in check["runs"][0]["items"]}
        self.assertTrue(items["MACs"]["passed"] and items["traffic"]["passed"])
        self.assertEqual(items["parameters"]["baseline"], 61100840)
        self.assertTrue(any("earlier dlcost" in note for note in check["runs"][0]["notes"]))


class Devices(unittest.TestCase):
    """Asking the database, and one model on several devices."""

    def test_list_and_details(self):
        listing = json.loads(run("gpus", "--format", "json").stdout)
        self.assertGreaterEqual(len(listing["devices"]), 88)
        details = json.loads(run("gpus", "a100", "--format", "json", "--set", "memory.bandwidth=8TB/s").stdout)
        self.assertEqual(details["id"], "a100-sxm4-80gb")
        self.assertEqual(details["memory"]["bandwidth"], 8e12)
        self.assertIn(b"NVIDIA A100 SXM4 80 GB", run("gpus", "A100").stdout)

    def test_a_file_of_ones_own_and_a_directory(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "my_chip.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("name: My Chip\nextends: h100\nmemory: {bandwidth: 5 TB/s}\n")
            self.assertIn(b"My Chip", run(ALEXNET, "--gpu", path).stdout)
            listing = subprocess.run([PROGRAM, "gpus", "my_chip", "--format", "json"], capture_output=True, check=True,
                                     env={**os.environ, "DLCOST_HW_PATH": directory})
            self.assertEqual(json.loads(listing.stdout)["memory"]["bandwidth"], 5e12)

    def test_without_a_number_of_units_there_are_bounds_alone(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "peaks.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("name: Peaks\nvendor: Acme\nkind: gpu\narchitecture: One\nyear: 2026\nsources: {d: datasheet}\n"
                           "rates: {source: d, vector: {fp32: 10 TFLOP/s}}\n"
                           "memory: {source: d, type: HBM3, size: 80 GiB, bandwidth: 2 TB/s}\n")  # fmt: skip
            report = json.loads(run(ALEXNET, "--gpu", path, "--format", "json").stdout)
            self.assertIsNone(report["totals"]["expected_s"])
            self.assertGreater(report["totals"]["bound_s"], 0)
            self.assertTrue(any("no number of units" in note for note in report["notes"]), report["notes"])

    def test_side_by_side(self):
        result = json.loads(run(ALEXNET, "--gpu", "a100,p4", "--format", "json").stdout)
        self.assertEqual([d["id"] for d in result["devices"]], ["a100-sxm4-80gb", "p4"])
        for device in result["devices"]:
            alone = json.loads(run(ALEXNET, "--gpu", device["id"], "--format", "json").stdout)
            self.assertEqual(device["bound_s"], alone["totals"]["bound_s"])
            self.assertTrue(device["fits"])

    def test_ranking(self):
        devices = json.loads(run(ALEXNET, "--gpu", "all", "--format", "json").stdout)["devices"]
        self.assertGreaterEqual(len(devices), 88)
        times = [d["expected_s"] or d["bound_s"] for d in devices]
        known = [t for t in times if t is not None]
        self.assertEqual(known, sorted(known))
        self.assertEqual(times[:len(known)], known)  # devices without a rate come last, without a time

    def test_another_type(self):
        as_is = json.loads(run(ALEXNET, "--gpu", "a100", "--format", "json").stdout)
        half = json.loads(run(ALEXNET, "--gpu", "a100", "--format", "json", "--dtype", "f16").stdout)
        self.assertEqual(half["totals"]["macs"], as_is["totals"]["macs"])
        self.assertEqual(half["model"]["weight_bytes"] * 2, as_is["model"]["weight_bytes"])
        self.assertEqual(half["options"]["dtype"], "f16")
        self.assertLess(half["totals"]["bound_s"], as_is["totals"]["bound_s"])

    def test_what_is_not_there(self):
        for arguments in (["gpus", "a10o"], ["gpus", "--sort", "fp61"], [ALEXNET, "--gpu", "a100,"],
                          [ALEXNET, "--gpu", "a100", "--set", "memory.bandwith=1TB/s"], [ALEXNET, "--dtype", "flot16"]):
            result = run(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)


class TrainingTest(unittest.TestCase):
    RESNET = os.path.join(NETWORKS, "resnet50.onnx")

    def test_report_has_phases(self):
        result = run(self.RESNET, "--batch", "2", "--train", "adamw", "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["totals"]["macs"], 24299077632)
        self.assertEqual([p["phase"] for p in report["step"]["phases"]],
                         ["forward", "loss", "backward for data", "backward for weights",
                          "optimizer"])
        for what in ("macs", "flops", "bytes"):
            self.assertEqual(sum(p[what] for p in report["step"]["phases"]),
                             report["totals"][what])
        text = run(self.RESNET, "--batch", "2", "--train", "adamw").stdout.decode()
        self.assertIn("backward is 1.97 x forward in MACs: /conv1/Conv needs no data gradient",
                      text)

    def step(self, *arguments):
        result = run(self.RESNET, "--train", "adamw", "--format", "json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_precision_and_recomputation_are_phases(self):
        report = self.step("--batch", "2", "--precision", "amp-fp16", "--recompute", "scopes")
        phases = {p["phase"]: p for p in report["step"]["phases"]}
        self.assertEqual(list(phases), ["forward", "weight casts", "loss", "recompute", "backward for data",
                                        "backward for weights", "optimizer"])
        # Every weight and bias of a product in half: 25,530,472 numbers.
        self.assertEqual(phases["weight casts"]["bytes"], 25530472 * (4 + 2))
        self.assertEqual(report["totals"]["macs"], 24299077632 + phases["recompute"]["macs"])
        self.assertEqual((report["step"]["precision"], report["step"]["recompute"]), ("amp-fp16", "scopes"))

    def test_every_operator_has_a_rule_or_a_reason(self):
        lines = run("ops", "--derivatives").stdout.decode().splitlines()
        rows = dict(line.split(None, 2)[1:] for line in lines[2:] if line.startswith("ai.onnx "))
        self.assertEqual({n: rows[n] for n in ("Conv", "Floor", "Loop", "Shape", "LRN", "RandomNormal")},
                         {"Conv": "a rule", "Floor": "zero wherever there is one", "LRN": "a rule",
                          "Loop": "those of the graphs inside", "Shape": "none: writes no reals",
                          "RandomNormal": "none: draws numbers"})

    def test_micro_batches_are_passes(self):
        once, twice = (self.step("--batch", "2", "--accumulate", n) for n in ("1", "2"))
        self.assertEqual(twice["totals"]["macs"], 2 * once["totals"]["macs"])
        optimizer = [next(p["bytes"] for p in r["step"]["phases"] if p["phase"] == "optimizer") for r in (once, twice)]
        self.assertEqual(*optimizer)

    def test_the_largest_batch_fits_and_the_next_does_not(self):
        device = ("--gpu", "t4", "--set", "memory.size=2GiB")
        report = self.step("--batch", "max", *device)
        batch = report["model"]["dims"]["batch"]
        self.assertIn(f"--batch max: {batch} fits", report["notes"][0])
        self.assertEqual(self.step("--batch", str(batch), *device)["totals"]["fits"], True)
        self.assertEqual(self.step("--batch", str(batch + 1), *device)["totals"]["fits"], False)
        fitted = self.step("--batch", str(batch + 1), "--fit", *device)
        self.assertNotEqual(fitted["step"]["recompute"], "none")
        self.assertEqual(fitted["totals"]["fits"], True)

    def test_a_sweep_takes_a_step(self):
        swept = json.loads(run("sweep", self.RESNET, "--batch", "2,4", "--train", "adamw", "--precision", "amp-bf16",
                               "--format", "json").stdout)
        reports = [self.step("--batch", n, "--precision", "amp-bf16") for n in ("2", "4")]
        self.assertEqual([p["bytes"] for p in swept["points"]], [r["totals"]["bytes"] for r in reports])

    def test_options_of_a_step_that_do_not_fit(self):
        for arguments in (["--precision", "fp61"], ["--precision", "bf16", "--dtype", "f16"], ["--recompute", "half"],
                          ["--accumulate", "0"], ["--clip-norm", "-1"], ["--batch", "max"], ["--fit"],
                          ["--fit", "--recompute", "full", "--gpu", "t4"]):
            result = run(self.RESNET, *(["--batch", "2"] if "max" not in arguments else []), "--train", "sgd", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
        for arguments in (["--recompute", "full"], ["--accumulate", "2"], ["--clip-norm", "1"]):
            self.assertEqual(run(self.RESNET, "--batch", "2", *arguments).returncode, 2, arguments)

    def test_file_of_a_step_costs_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.onnx")
            written = run("train", self.RESNET, "--batch", "2", "--train", "adamw", "-o", path)
            self.assertEqual(written.returncode, 0, written.stderr)
            step = json.loads(run(path, "--format", "json").stdout)
            self.assertEqual(step["totals"]["macs"], 24299077632)
            self.assertEqual(step["unknown"], [])

    def test_check_trains_like_its_baseline(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "baseline.json")
            run(ALEXNET, "--train", "sgd", "--precision", "amp-fp16", "--recompute", "full", "--accumulate", "3",
                "--clip-norm", "1", "--format", "json", "-o", path)
            for metric in ("macs", "bytes", "peak_activation_bytes"):
                result = run("check", ALEXNET, "--baseline", path, "--max", f"{metric}=+0%")
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_check_asks_what_its_baseline_was_asked(self):
        expert = os.path.join(SOURCE, "docs", "examples", "dimensions", "expert.onnx")
        for model, *options in ((ALEXNET, "--gpu", "a100", "--precision", "amp-bf16"),
                                (ALEXNET, "--train", "adamw", "--freeze", "*conv1*", "--freeze", "fc*"),
                                (BERT, "--dim", "sequence=128", "--train", "adamw", "--sparse-embeddings"),
                                (expert, "--dim", "num_tokens=64", "--at", "/expert2/NonZero=37%"),
                                (expert, "--dim", "num_tokens=64", "--assume", "typical")):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "baseline.json")
                written = run(model, *options, "--format", "json", "-o", path)
                self.assertEqual(written.returncode, 0, written.stderr)
                again = run("check", model, "--baseline", path, "--max", "macs=+0%", "--max", "bytes=+0%")
                self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
                self.assertNotIn(b"differ", again.stdout)
                plain = run("diff", path, model, "--precision", "fp32") if "amp-bf16" in options else None
                if plain is not None:
                    self.assertIn(b"precision: amp-bf16 before, fp32 after", plain.stdout)

    def test_wrong_options(self):
        for options, says in ((["--train", "adaw"], "did you mean"), (["--loss", "sum"], "--train"),
                              (["--train", "sgd", "--freeze", "nothing*"], "no parameter")):
            result = run(ALEXNET, *options)
            self.assertEqual(result.returncode, 2, options)
            self.assertEqual(result.stderr.count(b"\n"), 1)
            self.assertIn(says, result.stderr.decode())


class Measured(unittest.TestCase):
    """compare and fit on the published measurements that the unit tests hold."""

    FIXTURES = os.path.join(SOURCE, "tests", "profiles", "fixtures")
    NVPROF = os.path.join(FIXTURES, "alexnet_p4_nvprof_metrics.csv")
    COMPARE = ("compare", ALEXNET, "--gpu", "p4", "--batch", "1", "--measured", NVPROF)

    # Counters of each kernel, and times of two sums of kernels: rows of their own, of the same work.
    def test_compare_counts_work_once(self):
        rows = (("maxwell_scudnn_128x64_interior_nn", 1, 60), ("maxwell_scudnn_128x64_stridedB_splitK_small_nn", 1, 130),
                ("maxwell_scudnn_winograd_128x128_tile148n_nt", 3, 90),
                ("void gemv2N_kernel_val<float, float, float, int=128, int=8, int=4, int=4, int=1>(float, float)", 3, 180))
        head = '"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n,%,us,,us,us,us,\n'
        lines = [f'"GPU activities",1,{calls * each},{calls},{each},{each},{each},"{name}"\n' for name, calls, each in rows]
        with tempfile.TemporaryDirectory() as folder:
            times = os.path.join(folder, "times.csv")
            with open(times, "w", encoding="utf-8") as file:
                file.write("==1== Profiling result:\n" + head + "".join(lines))
            alone = json.loads(run("compare", ALEXNET, "--gpu", "p4", "--trace", times, "--format", "json").stdout)
            both = json.loads(run(*self.COMPARE, "--trace", times, "--format", "json").stdout)
        self.assertGreater(len(both["rows"]), len(alone["rows"]))
        joined = [c["totals"]["joined_algorithmic_flops"] for c in (alone, both)]
        self.assertEqual(joined[0], joined[1])
        predicted = [{group["op"]: group["predicted_s"] for group in c["by_op"] if group.get("measured_s")} for c in (alone, both)]
        self.assertEqual(set(predicted[0]), {"Conv", "Gemm"})
        self.assertEqual(predicted[0], predicted[1])

    def test_compare(self):
        result = run(*self.COMPARE, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        comparison = json.loads(result.stdout)
        self.assertEqual(comparison["schema"], "dlcost.compare/1")
        self.assertEqual(
            [round(row["flops_ratio"], 6) for row in comparison["rows"]],
            [1.02251, 1.054469, 0.723059, 0.720833, 0.721946, 1.019748, 1.02002, 1.040289],
        )
        for extra in ((), ("--format", "csv"), ("--format", "markdown"), ("--top", "3")):
            again = run(*self.COMPARE, *extra)
            self.assertEqual(again.returncode, 0)
            self.assertEqual(again.stdout, run(*self.COMPARE, *extra).stdout)

    def test_ratio_is_a_check(self):
        self.assertEqual(run(*self.COMPARE, "--ratio", "0.7:1.1").returncode, 0)
        result = run(*self.COMPARE, "--ratio", "0.8:1.25")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count(b"is outside 0.8:1.25"), 3)

    def test_wrong_input(self):
        runs = os.path.join(self.FIXTURES, "lstm_runs.csv")
        for arguments, says in (
            (("compare", ALEXNET), "--measured"),
            (("compare", ALEXNET, "--measured", "no.csv"), "no.csv"),
            (("compare", ALEXNET, "--measured", ALEXNET), "no known profiler"),
            ((*self.COMPARE, "--ratio", "1.25:0.8"), "LOW:HIGH"),
            (("fit", runs, "--x", "layer", "--y", "flops"), "did you mean 'layers'?"),
            (("fit", runs, "--x", "layers", "--y", "flops", "--terms", "3", "2", "1", "0"), "3 points"),
        ):
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, b""), arguments)
            self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
            self.assertIn(says, result.stderr.decode())

    def test_fit(self):
        runs = os.path.join(self.FIXTURES, "lstm_runs_executed.csv")
        result = run("fit", runs, "--x", "layers", "--y", "flops", "--expect", "16777216", "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        slope, baseline = json.loads(result.stdout)["terms"]
        self.assertAlmostEqual(slope["value"], 16781312, places=3)
        self.assertAlmostEqual(slope["ratio"], 1.000244, places=6)
        self.assertAlmostEqual(baseline["value"], 2 * 1024 * 10112, places=3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
