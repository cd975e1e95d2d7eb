"""The gate of docs/ci.md, in a small repository: ci_test.py DLCOST SOURCE.

Writes a baseline, passes, fails on a planted regression with the right node first, and passes after
the change is accepted; runs the script of the GitHub action; validates what the commands write
against the JSON Schema files (skipped where there is no jsonschema).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
EXAMPLE = os.path.join(SOURCE, "docs", "examples", "ci")
OFFENDER = "/layer2/0/conv1/Conv and /layer2/0/downsample/0/Conv: strides 2,2 -> 1,1"

try:
    import jsonschema
except ImportError:
    sys.path.append("/usr/lib/python3/dist-packages")  # Debian's, under another interpreter
    try:
        import jsonschema
    except ImportError:
        jsonschema = None


class Repository(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.put("model.onnx", "model.onnx")
        self.put("budget.yaml", "budget.yaml")

    def put(self, source, target):
        shutil.copy(os.path.join(EXAMPLE, source), os.path.join(self.folder, target))

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def regress(self):
        self.put("regressed.onnx", "model.onnx")

    def dlcost(self, *arguments):
        result = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True,
                                timeout=60, check=False)
        return result.returncode, result.stdout + result.stderr

    def update(self):
        code, text = self.dlcost("check", "model.onnx", "--gpu", "a100", "--baseline", "baseline.json",
                                 "--update")
        self.assertEqual((code, text), (0, ""))

    def check(self, *arguments):
        return self.dlcost("check", "model.onnx", "--baseline", "baseline.json", *arguments)


class Gate(Repository):
    def test_passes_fails_and_passes_after_update(self):
        self.update()
        first = self.read("baseline.json")
        code, text = self.check()
        self.assertEqual(code, 0, text)
        self.update()
        self.assertEqual(first, self.read("baseline.json"))
        self.regress()
        code, text = self.check()
        self.assertEqual(code, 1, text)
        lines = text.splitlines()
        failed = [i for i, line in enumerate(lines) if "FAIL  MACs" in line]
        self.assertTrue(lines[failed[0] + 1].strip().startswith(OFFENDER), text)
        self.update()
        self.assertEqual(self.check()[0], 0)

    def test_budget_file(self):
        self.update()
        self.assertEqual(self.check("--budget", "budget.yaml")[0], 0)
        self.regress()
        code, text = self.check("--budget", "budget.yaml")
        self.assertEqual(code, 1, text)
        self.assertIn("1 of 6 failed", text)

    def test_several_conditions(self):
        with open(os.path.join(self.folder, "two.yaml"), "w") as file:
            file.write("on: [{gpu: a100}, {gpu: l4, batch: 4}]\nbudgets: [{metric: bound_s, max: +0}]\n")
        self.put("model.onnx", "old.onnx")
        code, text = self.dlcost("check", "model.onnx", "--baseline", "old.onnx", "--budget", "two.yaml")
        self.assertEqual(code, 0, text)
        self.assertIn("a100", text)
        self.assertIn("l4, batch=4", text)
        self.regress()
        self.assertEqual(self.dlcost("check", "model.onnx", "--baseline", "old.onnx", "--budget",
                                     "two.yaml")[0], 1)

    def test_formats(self):
        self.update()
        self.regress()
        code, junit = self.check("--format", "junit")
        self.assertEqual(code, 1)
        suite = ElementTree.fromstring(junit).find("testsuite")
        failures = suite.findall("testcase/failure")
        self.assertEqual(int(suite.get("failures")), len(failures))
        self.assertIn(OFFENDER, failures[0].text.splitlines()[0])
        code, github = self.check("--format", "github")
        self.assertTrue(all(line.startswith("::error file=model.onnx,") for line in github.splitlines()))
        code, markdown = self.check("--format", "markdown")
        self.assertIn("<details>", markdown)
        self.assertIn(OFFENDER, markdown)

    def test_wrong_input_is_one_line(self):
        for arguments in (["--baseline", "absent.json"], ["--max", "macs=lots"], ["--budget", "absent.yaml"],
                          [], ["--max", "macs=+1%"], ["--format", "jnuit", "--max", "macs=1"]):
            code, text = self.dlcost("check", "model.onnx", *arguments)
            self.assertEqual(code, 2, text)
            self.assertEqual(len(text.splitlines()), 1, text)
            self.assertTrue(text.startswith("dlcost: "), text)

    def test_a_newer_baseline_is_refused(self):
        self.update()
        path = os.path.join(self.folder, "baseline.json")
        newer = self.read("baseline.json").replace("dlcost.report/1", "dlcost.report/2", 1)
        with open(path, "w") as file:
            file.write(newer)
        code, text = self.check()
        self.assertEqual(code, 2)
        self.assertIn("schema dlcost.report/2", text)


class Action(Repository):
    def script(self):
        with open(os.path.join(SOURCE, "action.yml")) as file:
            text = file.read()
        return re.sub(r"^ {8}", "", text.split("run: |\n")[1], flags=re.M)

    def run_action(self, budget):
        summary = os.path.join(self.folder, "summary.md")
        environment = dict(os.environ, MODEL="model.onnx", BASELINE="baseline.json", BUDGET=budget,
                           DLCOST=PROGRAM, GITHUB_STEP_SUMMARY=summary)
        # As GitHub runs a step whose shell is bash.
        result = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.script()],
                                cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        return result.returncode, result.stdout, self.read("summary.md")

    def test_runs(self):
        self.update()
        code, out, summary = self.run_action("")
        self.assertEqual((code, out), (0, ""))
        self.assertIn("no difference", summary)
        self.regress()
        code, out, summary = self.run_action("budget.yaml")
        self.assertEqual(code, 1)
        self.assertIn("::error file=model.onnx", out)
        self.assertIn("1 change", summary)


@unittest.skipIf(jsonschema is None, "no jsonschema here (Debian: python3-jsonschema)")
class Schema(Repository):
    def validate(self, text, name):
        with open(os.path.join(SOURCE, "docs", "schema", name + ".schema.json")) as file:
            schema = json.load(file)
        validator = getattr(jsonschema, "Draft202012Validator", jsonschema.Draft7Validator)
        validator.check_schema(schema)
        errors = [f"{list(e.absolute_path)}: {e.message}" for e in validator(schema).iter_errors(json.loads(text))]
        self.assertEqual(errors[:3], [])

    def test_reports(self):
        folder = os.path.join(SOURCE, "models", "networks")
        sizes = {"bert-base.onnx": "sequence=16", "gpt2.onnx": "sequence=16", "llama3-8b.onnx": "sequence=16",
                 "lstm.onnx": "sequence=16"}
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".onnx"):
                continue
            dims = ["--dim", sizes[name]] if name in sizes else []
            for gpu in ([], ["--gpu", "a100"]):
                code, text = self.dlcost("report", os.path.join(folder, name), "--format", "json", *dims, *gpu)
                self.assertEqual(code, 0, text)
                with self.subTest(model=name, gpu=gpu):
                    self.validate(text, "report")

    def test_diff_and_check(self):
        self.update()
        self.regress()
        for gpu in ([], ["--gpu", "a100"]):
            code, text = self.dlcost("diff", "model.onnx", os.path.join(EXAMPLE, "model.onnx"), "--format", "json",
                                     *gpu)
            self.assertEqual(code, 0, text)
            self.validate(text, "diff")
        self.validate(self.check("--format", "json")[1], "check")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
