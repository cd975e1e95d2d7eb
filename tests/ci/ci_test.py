"""The gate of docs/ci.md, in a small repository: ci_test.py DLCOST SOURCE.

Writes a baseline, passes, fails on a planted regression with the right node first, and passes after
the change is accepted; runs the steps of the GitHub action; validates what the commands write
against the JSON Schema files (skipped where there is no jsonschema).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
EXAMPLE = os.path.join(SOURCE, "docs", "examples", "ci")
OFFENDER = "/layer2/0/conv1/Conv and /layer2/0/downsample/0/Conv: strides 2,2 -> 1,1"

sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
import json_schema  # noqa: E402  (it also finds Debian's packages)

try:
    import yaml
except ImportError:
    yaml = None


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
        self.assertEqual(json_schema.violations_of_command(arguments, result.stdout), [])
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

    def test_diff_takes_the_dimensions_of_either_model(self):
        for phase in ("prefill", "decode"):
            self.assertEqual(self.dlcost("network", "gpt2", "layers=1", "phase=" + phase, "-o", phase + ".onnx")[0], 0)
        sizes = ("--dim", "sequence=64", "--dim", "past=63")
        code, text = self.dlcost("diff", "prefill.onnx", "decode.onnx", *sizes)
        self.assertEqual(code, 0, text)
        self.assertIn("1x64 -> 1x1", text)
        code, text = self.dlcost("diff", "prefill.onnx", "decode.onnx", *sizes, "--dim", "pasd=1")
        self.assertEqual((code, text), (2, "dlcost: --dim pasd: neither model has a dimension of that name "
                                           "(did you mean 'past'?)\n"))

    def test_a_text_file_is_neither_a_model_nor_a_report(self):
        with open(os.path.join(self.folder, "notes.txt"), "w", encoding="utf-8") as file:
            file.write("to do\n")
        for arguments in (("check", "model.onnx", "--baseline", "notes.txt"), ("diff", "notes.txt", "model.onnx"),
                          ("html", "notes.txt")):
            code, text = self.dlcost(*arguments)
            self.assertEqual(code, 2, arguments)
            self.assertIn("expected an ONNX model, or a report that dlcost wrote", text)

    def test_several_conditions(self):
        with open(os.path.join(self.folder, "two.yaml"), "w") as file:
            file.write("on: [{gpu: a100}, {gpu: l4, batch: 4}]\nbudgets: [{metric: bound_s, max: +0}]\n")
        self.put("model.onnx", "old.onnx")
        code, text = self.dlcost("check", "model.onnx", "--baseline", "old.onnx", "--budget", "two.yaml")
        self.assertEqual(code, 0, text)
        self.assertIn("a100", text)
        self.assertIn("model.onnx on l4, runtime generic by default, batch=4: passed", text)
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


@unittest.skipIf(yaml is None, "no YAML reader here (Debian: python3-yaml)")
class Action(Repository):
    """The steps of action.yml, run as GitHub's runner runs them, in a workspace of their own."""

    def expand(self, text, inputs, outputs):
        """`text` with its ${{ }} expressions replaced; anything that the runner would not know is an error."""
        github = {"action_repository": "owner/dlcost", "action_ref": self.ref}

        def value(match):
            context, name = match.group(1).split(".", 1)
            if context == "steps":
                step, kind, output = name.split(".")
                self.assertEqual(kind, "outputs")
                return outputs[step][output]
            return {"inputs": inputs, "github": github}[context][name]
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", value, text)

    ref = "main"  # at which a workflow uses the action
    server = "file:///nowhere"  # of releases

    def run_action(self, **given):
        with open(os.path.join(SOURCE, "action.yml"), encoding="utf-8") as file:
            action = yaml.safe_load(file)
        self.assertEqual(action["runs"]["using"], "composite")
        inputs = {name: given.get(name, facts.get("default")) for name, facts in action["inputs"].items()}
        for name, facts in action["inputs"].items():
            self.assertFalse(facts.get("required") and inputs[name] is None, name)
        # The program stands where scripts/dlcost builds it: that script is what the action calls.
        runner = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, runner)
        scripts = os.path.join(runner, "action", "scripts")
        os.makedirs(scripts)
        shutil.copy(os.path.join(SOURCE, "scripts", "get-program"), scripts)
        with open(os.path.join(scripts, "dlcost"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec "{PROGRAM}" "$@"\n')
        os.chmod(os.path.join(scripts, "dlcost"), 0o755)
        files = {name: os.path.join(runner, name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for path in files.values():
            open(path, "w", encoding="utf-8").close()
        # Nothing of this process's environment but what every machine has.
        environment = {"PATH": os.environ["PATH"], "HOME": runner, "CI": "true", "GITHUB_ACTIONS": "true",
                       "GITHUB_WORKSPACE": self.folder, "GITHUB_ACTION_PATH": os.path.join(runner, "action"),
                       "GITHUB_SERVER_URL": self.server, "RUNNER_TEMP": runner, **files}
        code, out, outputs, of_steps = 0, "", {}, {}
        for step in action["runs"]["steps"]:
            self.assertEqual(step["shell"], "bash")
            script = os.path.join(runner, "step.sh")
            with open(script, "w", encoding="utf-8") as file:
                file.write(self.expand(step["run"], inputs, of_steps))
            own = {name: self.expand(text, inputs, of_steps) for name, text in step.get("env", {}).items()}
            open(files["GITHUB_OUTPUT"], "w", encoding="utf-8").close()
            result = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=self.folder,
                                    env={**environment, **own}, capture_output=True, text=True, check=False)
            code, out = result.returncode, out + result.stdout + result.stderr
            with open(files["GITHUB_OUTPUT"], encoding="utf-8") as file:
                of_steps[step.get("id")] = dict(line.rstrip("\n").split("=", 1) for line in file)
            if code:
                break
        for name, facts in action["outputs"].items():
            step, output = re.fullmatch(r"\$\{\{ steps\.(\w+)\.outputs\.(\w+) \}\}", facts["value"]).groups()
            self.assertIn(step, [s.get("id") for s in action["runs"]["steps"]])
            outputs[name] = of_steps.get(step, {}).get(output)
        with open(files["GITHUB_STEP_SUMMARY"], encoding="utf-8") as file:
            summary = file.read()
        if outputs["comment"]:
            with open(outputs["comment"], encoding="utf-8") as file:
                self.assertEqual(file.read(), summary)
        return code, out, summary, outputs["passed"]

    def test_passes_and_fails(self):
        self.update()
        code, out, summary, passed = self.run_action(model="model.onnx", baseline="baseline.json")
        self.assertEqual((code, passed), (0, "true"), out)
        self.assertNotIn("::error", out)
        self.assertIn("no difference", summary)
        self.regress()
        code, out, summary, passed = self.run_action(model="model.onnx", baseline="baseline.json",
                                                     budget="budget.yaml")
        self.assertEqual((code, passed), (1, "false"), out)
        self.assertIn("::error file=model.onnx", out)
        self.assertIn("### dlcost: failed", summary)
        self.assertIn("1 change", summary)

    def test_a_release_is_downloaded(self):
        """From a server that is a folder; the program of the release says who it is."""
        releases = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, releases)
        self.server, self.ref = "file://" + releases, "v1.2.3"
        self.update()
        code, out, _, passed = self.run_action(model="model.onnx", baseline="baseline.json")
        self.assertEqual((code, passed), (0, "true"), out)
        self.assertIn("building dlcost", out)  # there is no such release
        folder = os.path.join(releases, "owner", "dlcost", "releases", "download", "v1.2.3")
        program = os.path.join(folder, "dlcost-1.2.3", "usr", "bin", "dlcost")
        os.makedirs(os.path.dirname(program))
        with open(program, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\n[ "$1" = --version ] && echo released\nexec "{PROGRAM}" "$@"\n')
        os.chmod(program, 0o755)
        with tarfile.open(os.path.join(folder, f"dlcost-linux-{os.uname().machine}.tar.gz"), "w:gz") as archive:
            archive.add(os.path.join(folder, "dlcost-1.2.3"), "dlcost-1.2.3")
        code, out, _, passed = self.run_action(model="model.onnx", baseline="baseline.json")
        self.assertEqual((code, passed), (0, "true"), out)
        self.assertIn("released", out)
        self.assertNotIn("building", out)

    def test_several_baselines(self):
        with open(os.path.join(self.folder, "two.yaml"), "w", encoding="utf-8") as file:
            file.write("on: [{gpu: a100}, {gpu: l4, batch: 4}]\nbudgets: [{metric: macs, max: +0}]\n")
        self.update()
        code, _ = self.dlcost("report", "model.onnx", "--gpu", "l4", "--batch", "4", "--format", "json", "-o", "l4.json")
        self.assertEqual(code, 0)
        two = {"model": "model.onnx", "baseline": "baseline.json\nl4.json\n", "budget": "two.yaml"}
        self.assertEqual(self.run_action(**two)[0], 0)
        self.regress()
        code, out, summary, _ = self.run_action(**two)
        self.assertEqual(code, 1, out)
        self.assertEqual(out.count("::error"), 2)
        self.assertEqual(summary.count("1 change"), 2)

    def test_names_with_blanks_and_quotes(self):
        self.update()
        name = "it's a \"model\" $(touch planted).onnx"
        os.rename(os.path.join(self.folder, "model.onnx"), os.path.join(self.folder, name))
        code, out, _, _ = self.run_action(model=name, baseline="baseline.json")
        self.assertEqual(code, 0, out)
        self.assertNotIn("planted", os.listdir(self.folder))

    def test_wrong_input_stops_with_its_reason(self):
        code, out, summary, passed = self.run_action(model="model.onnx", baseline="absent.json")
        self.assertEqual((code, summary, passed), (2, "", None))
        self.assertIn("no baseline 'absent.json'; write it with --update", out)


@unittest.skipIf(not json_schema.AVAILABLE, "no jsonschema here (Debian: python3-jsonschema)")
class Schema(Repository):
    """Every schema file describes what its command writes; `dlcost` above validates each JSON as it comes."""

    def written(self, *arguments):
        code, text = self.dlcost(*arguments, "--format", "json")
        self.assertIn(code, (0, 1), text)
        return json.loads(text)["schema"][len("dlcost."):-len("/1")]

    def test_every_command(self):
        fixtures = os.path.join(SOURCE, "tests", "profiles", "fixtures")
        alexnet = os.path.join(SOURCE, "models", "networks", "alexnet.onnx")
        self.update()
        seen = {
            self.written("report", "model.onnx"),
            self.written("report", "model.onnx", "--gpu", "a100", "--dtype", "f16", "--launch", "eager"),
            self.written("report", "model.onnx", "--gpu", "a100,t4,m1-cpu"),
            self.written("check", "model.onnx", "--baseline", "baseline.json"),
            self.written("diff", "model.onnx", os.path.join(EXAMPLE, "regressed.onnx")),
            self.written("diff", "model.onnx", os.path.join(EXAMPLE, "regressed.onnx"), "--gpu", "a100"),
            self.written("diff", "model.onnx", "--gpu", "a100", "--after-gpu", "t4"),
            self.written("compare", alexnet, "--gpu", "p4", "--batch", "1", "--measured",
                         os.path.join(fixtures, "alexnet_p4_nvprof_metrics.csv")),
            self.written("fit", os.path.join(fixtures, "lstm_runs_executed.csv"), "--x", "layers", "--y", "flops",
                         "--expect", "16777216"),
            self.written("explain", "model.onnx", "--gpu", "a100"),
            self.written("measured", os.path.join(fixtures, "alexnet_p4_nvprof_metrics.csv"), "--gpu", "p4"),
            self.written("formula", alexnet),
            self.written("sweep", alexnet, "--gpu", "a100,t4", "--batch", "1:64:x2"),
            self.written("runtimes"),
            self.written("runtimes", "tensorrt"),
            self.written("check", alexnet, "--train", "sgd", "--system", "dgx-1", "--parallel", "dp=4", "--max",
                         "sent_bytes=1 GB"),
            self.written("systems"),
            self.written("systems", "dgx-1"),
            self.written("collective", "all_reduce", "--system", "dgx-1"),
            self.written("scale", alexnet, "--system", "dgx-1", "--devices", "1,2", "--train", "sgd"),
            self.written("parallel", alexnet, "--system", "dgx-1", "--parallel", "tp=2"),
            self.written("input", "--item", "1MB", "--storage", "1GB/s"),
            self.written("gpus"),
            self.written("gpus", "a100"),
            self.written("gpus", "epyc-9654"),
        }
        self.regress()
        seen.add(self.written("check", "model.onnx", "--baseline", "baseline.json"))
        self.assertEqual(sorted(seen), json_schema.names())

    def test_every_network(self):
        folder = os.path.join(SOURCE, "models", "networks")
        sizes = {"bert-base.onnx": "sequence=16", "gpt2.onnx": "sequence=16", "llama3-8b.onnx": "sequence=16",
                 "lstm.onnx": "sequence=16"}
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".onnx"):
                continue
            dims = ["--dim", sizes[name]] if name in sizes else []
            for gpu in ([], ["--gpu", "a100"]):
                with self.subTest(model=name, gpu=gpu):
                    self.assertEqual(self.written("report", os.path.join(folder, name), *dims, *gpu), "report")

    def test_a_field_that_no_schema_names_is_noticed(self):
        self.update()
        report = json.loads(self.read("baseline.json"))
        self.assertEqual(json_schema.violations(json.dumps(report)), [])
        report["kernels"][0]["surprise"] = 1
        self.assertIn("surprise", json_schema.violations(json.dumps(report))[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
