"""Options that would do nothing, or something else than they say, end with one line and exit code 2.

Run by ctest with the program and the source tree as arguments.
"""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
ALEXNET, RESNET, BERT, GPT2 = (os.path.join(SOURCE, "models", "networks", name + ".onnx")
                               for name in ("alexnet", "resnet50", "bert-base", "gpt2"))
ON_BERT = (BERT, "--dim", "sequence=64")


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, check=False)


class Refused(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def says(self, text, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1), (arguments, result.stderr))
        self.assertIn(text, result.stderr)
        return result.stderr

    def prints(self, *arguments, code=0):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stderr), (code, ""), arguments)
        return result.stdout

    def test_names_of_dimensions(self):
        mistyped = "--after-dim seqence: the second model does not have a dimension of that name (did you mean 'sequence'?)"
        self.says(mistyped, "diff", *ON_BERT, "--after-dim", "seqence=128")
        self.says("--dim seqence: neither model has", "diff", *ON_BERT, "--dim", "seqence=3", "--after-dim", "sequence=128")
        self.prints("diff", *ON_BERT, "--after-dim", "sequence=128")
        self.prints("diff", BERT, RESNET, "--dim", "sequence=64")

    def test_values_that_are_empty(self):
        self.says("--gpu: an empty value", RESNET, "--gpu", "")
        self.says("--runtime: an empty value", RESNET, "--runtime", "")
        self.says("--fits-on: an empty value", "check", RESNET, "--fits-on", "")

    def test_what_needs_another_option(self):
        self.says("--update-form requires --train", RESNET, "--gpu", "a100", "--update-form", "loop")
        self.prints(ALEXNET, "--gpu", "a100", "--update-form", "loop", "--train", "sgd")
        for option in ("--micro-batch", "--global-batch"):
            self.says(option + " requires --parallel", "check", RESNET, "--max", "macs=1T", option, "8")
        self.says("--prefetch requires --item", "scale", RESNET, "--system", "dgx-a100", "--train", "sgd", "--prefetch", "0")
        self.says("times need a device", "sweep", RESNET, "--batch", "1,2", "--bounds")
        item = ("input", "--item", "150528B", "--compute", "1000")
        self.says("add --decode or --augment", *item, "--cores", "4")
        self.says("add --storage", *item, "--stored", "1kB")
        self.prints(*item, "--stored", "1kB", "--storage", "1GB/s", "--cores", "4", "--decode", "100")

    def test_what_contradicts_another_option(self):
        for precision, math in (("tf32", "default"), ("fp32", "tf32")):
            self.says(f"--precision {precision} and --math {math} contradict each other", ALEXNET, "--gpu", "a100", "--precision", precision, "--math", math)
        for precision, math in (("tf32", "tf32"), ("fp32", "default"), ("amp-fp16", "tf32")):
            self.prints(ALEXNET, "--gpu", "a100", "--precision", precision, "--math", math)
        ring = ("collective", "all_reduce", "--bandwidth", "100GB/s", "--devices", "4", "--bytes", "1MB")
        for option, value in (("--protocol", "LL"), ("--algorithm", "tree"), ("--stride", "2")):
            self.says(option + " is for --system", *ring, option, value)
        self.prints(*ring)
        self.says("--batch max: dimension 'batch' is 3 by another option", ALEXNET, "--gpu", "a100", "--batch", "max", "--dim", "batch=3")

    def test_modules_to_recompute(self):
        for modules in ("0", "13"):
            self.says(f"--recompute scopes:{modules}: the model has 1 to 12 modules", *ON_BERT, "--train", "sgd", "--recompute", "scopes:" + modules)
        self.prints(*ON_BERT, "--train", "sgd", "--recompute", "scopes:12")

    def test_conditions_of_a_budget_file_and_of_the_command_line(self):
        limits = "budgets:\n  - {metric: macs, max: 1 T}\n"
        all_say = self.file("all.yaml", "on:\n  - {gpu: a100, batch: 1}\n  - {gpu: t4, batch: 8}\n" + limits)
        one_says = self.file("one.yaml", "on:\n  - {gpu: a100, batch: 1}\n  - {batch: 8}\n" + limits)
        for words in (("--gpu", "h100"), ("--batch", "2")):
            self.says(words[0] + " changes nothing: the conditions of", "check", RESNET, "--budget", all_say, *words)
        dims = self.file("dims.yaml", "on:\n  - {dim: {sequence: 64}}\n" + limits)
        self.says("--dim sequence=32 changes nothing", "check", BERT, "--budget", dims, "--dim", "sequence=32")
        self.assertIn("on h100", self.prints("check", RESNET, "--budget", one_says, "--gpu", "h100"))

    def test_a_baseline_of_other_conditions(self):
        baseline = self.file("baseline.json")
        self.prints(RESNET, "--gpu", "a100", "--format", "json", "-o", baseline)
        budget = self.file("two.yaml", "on:\n  - {gpu: a100, batch: 1}\n  - {gpu: t4, batch: 8}\nbudgets:\n  - {metric: macs, max: +2 %}\n")
        self.says("needs a baseline of resnet50.onnx on t4, runtime generic by default, batch=8: give --baseline",
                  "check", RESNET, "--budget", budget, "--baseline", baseline)

    def test_several_devices_to_fit_on(self):
        self.assertIn("fits on a100", self.prints("check", RESNET, "--fits-on", "t4,a100"))
        self.says("all are all that there are", RESNET, "--gpu", "all,a100")

    def test_commands_for_finished_reports_ask_the_same(self):
        report = self.file("report.json")
        self.prints(*ON_BERT, "--train", "adamw", "--precision", "amp-bf16", "--recompute", "scopes:3", "--accumulate", "2", "--gpu", "a100",
                    "--runtime", "pytorch-eager", "--format", "json", "-o", report)
        error = self.says("changes nothing of a finished report", "check", report, "--max", "macs=1P", "--batch", "3")
        command = error.strip().split("; try: dlcost ")[1]
        for words in ("--dim sequence=64", "--train adamw", "--precision amp-bf16", "--recompute scopes:3", "--accumulate 2", "--gpu a100",
                      "--runtime pytorch-eager"):
            self.assertIn(words, command)
        self.assertNotIn("--dim batch", command)
        self.prints(*shlex.split(command))
        error = self.says("changes nothing of a finished report", "check", report, "--max", "macs=1P", "--input", "input_ids:2x64")
        self.prints(*shlex.split(error.strip().split("; try: dlcost ")[1]))

    def test_sweeps_rank_by_what_is_known(self):
        swept = ("sweep", ALEXNET, "--batch", "1,2", "--gpu", "a100,t4")
        self.says("--price h100: it is not among the devices, which are a100-sxm4-80gb, t4", *swept, "--price", "h100=1/h")
        text = self.prints(*swept, "--price", "t4=1/h", "--rank", "price")
        self.assertRegex(text, r"best      of all\n          t4 batch=2: .*\n          a100-sxm4-80gb: its price is not known\n")
        best = json.loads(self.prints(*swept, "--price", "t4=1/h", "--rank", "price", "--format", "json"))["best"]
        self.assertEqual({point["device"] for point in best}, {"t4"})
        one = ("sweep", ALEXNET, "--batch", "1,2", "--gpu", "a100")
        self.assertIn("'energy<=1J' asks for what is not known here", self.prints(*one, "--bounds", "--for", "energy<=1J"))
        self.assertIn("'tokens>=1' asks for what is not known here", self.prints(*one, "--for", "tokens>=1"))
        self.assertIn("no point meets that", self.prints(*one, "--for", "latency<=1ns"))

    def test_nothing_is_a_share_of_no_items(self):
        none = ("sweep", ALEXNET, "--batch", "0,1", "--gpu", "a100", "--price", "1/h")
        self.assertNotRegex(self.prints(*none), r"\binf\b")
        first = next(csv.DictReader(self.prints(*none, "--format", "csv").splitlines()))
        for column in ("joules_per_item", "joules_per_item_at_most", "cost_per_million"):
            self.assertEqual(first[column], "", column)
            self.assertIsNone(json.loads(self.prints(*none, "--format", "json"))["points"][0][column])

    def test_pictures_of_other_kinds(self):
        for ending in ("pdf", "jpeg", "PNG"):
            path = self.file("roofline." + ending)
            self.says("a picture is written as .svg, or as .png", "plot", "roofline", ALEXNET, "--gpu", "a100", "-o", path)
            self.assertFalse(os.path.exists(path))

    def test_defaults_fit_the_system(self):
        trained = ("scale", ALEXNET, "--system", "workstation-2x-rtx-4090", "--train", "sgd", "--batch", "8")
        points = json.loads(self.prints(*trained, "--format", "json"))["points"]
        self.assertEqual([point["devices"] for point in points], [1, 2])
        self.says("--devices 4: workstation-2x-rtx-4090 joins 1 to 2 devices", *trained, "--devices", "4")
        self.says("--gradients 'fp8'", *trained, "--gradients", "fp8")

    def test_help_offers_what_is_taken(self):
        for command in ("report", "explain", "diff", "check", "html", "plot", "formula", "sweep", "compare", "scale", "parallel", "train"):
            text = re.sub(r"\s+", " ", self.prints(command, "--help"))
            taken = command in ("report", "explain")
            self.assertEqual((" --fit " in text, "max: the largest" in text), (taken, taken), command)
        self.says("--fit is for dlcost MODEL and explain alone", "formula", ALEXNET, "--train", "sgd", "--fit")

    def test_sizes_that_overflow(self):
        self.says("(--batch, --dim, --trips)", RESNET, "--batch", "9999999999")
        self.says("summed up to node '/", RESNET, "--batch", "9999999999")

    def test_words(self):
        self.says("is for inference; a step trains in", ALEXNET, "--precision", "w8a8-fp8", "--train", "sgd")
        self.says("--freeze leaves no parameter", ALEXNET, "--train", "sgd", "--freeze", "*")
        self.says("none.yaml: No such file or directory", ALEXNET, "--ops", "none.yaml")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
