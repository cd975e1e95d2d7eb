"""One run traced at several levels, a file each: the model, its layers, the library, kernels and counters.

Each profiler slows what lies above the level that it adds; so the time of a level is that of the file that looked no deeper,
and the difference is the overhead. Run by ctest with the program and the source tree as arguments.
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


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=120, check=False, text=True)


def event(category, name, start, duration, thread=1, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": start, "dur": duration,
            "args": arguments}


class Levels(unittest.TestCase):
    """Three products, in three runs: preparation 30 us, then the model."""
    NODES = ("first", "second", "third")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        shapes = [(512, 512), (512, 256), (256, 128)]
        nodes = [("MatMul", ["t%d" % i, "w%d" % i], "t%d" % (i + 1), name) for i, name in enumerate(self.NODES)]
        self.model = self.file("three.onnx", small_model.model(
            nodes, [("t0", (512, 512))], [("t3", (512, 128))], [("w%d" % i, s) for i, s in enumerate(shapes)]))

    def file(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def trace(self, name, events):
        return self.file(name, json.dumps({"traceEvents": events}))

    def model_level(self, model_us):
        events = []
        for i in range(3):
            events += [event("user_annotation", "prepare", 1000 * i, 30),
                       event("user_annotation", "predict#%d" % i, 1000 * i + 40, model_us)]
        return events

    def layer_level(self, model_us, layer_us):
        events = self.model_level(model_us)
        for i in range(3):
            for k, node in enumerate(self.NODES):
                events.append(event("cpu_op", node, 1000 * i + 50 + 60 * k, layer_us))
        return events

    def kernel_level(self, model_us, layer_us, kernels):
        """A launch in each layer, and its kernel on the device."""
        events = self.layer_level(model_us, layer_us)
        number = 0
        for i in range(3):
            for k in range(3):
                number += 1
                start = 1000 * i + 50 + 60 * k
                events.append(event("cuda_runtime", "cudaLaunchKernel", start + 1, 2, correlation=number))
                events.append(event("kernel", "volta_sgemm_128x64_tn", start + 5, kernels[k], thread=7,
                                    correlation=number, stream=7, device=0))
        return events

    def compare(self, *arguments):
        result = run("compare", self.model, "--gpu", "v100-sxm2-16gb", *arguments, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json_schema.violations(result.stdout), [])
        return json.loads(result.stdout)

    def test_each_level_without_the_overhead_of_those_below(self):
        model = self.trace("model.json", self.model_level(200))
        layers = self.trace("layers.json", self.layer_level(240, 42))
        kernels = self.trace("kernels.json", self.kernel_level(300, 50, (20, 16, 9)))
        # In any order, as measured or as traces.
        for arguments in (("--measured", model, "--measured", layers, "--measured", kernels),
                          ("--trace", kernels, "--trace", layers, "--measured", model)):
            comparison = self.compare(*arguments)
            levels = {level["level"]: level for level in comparison["levels"]}
            self.assertEqual(sorted(levels), ["kernel", "layer", "model"])
            self.assertEqual([os.path.basename(levels[name]["file"]) for name in ("model", "layer", "kernel")],
                             ["model.json", "layers.json", "kernels.json"])
            for name, us in (("model", 200), ("layer", 3 * 42), ("kernel", 20 + 16 + 9)):
                self.assertAlmostEqual(levels[name]["measured_s"], us * 1e-6, places=9)
            overheads = {(name, deeper["down_to"]): round(deeper["overhead_s"] * 1e6, 3)
                         for name, level in levels.items() for deeper in level["deeper"]}
            self.assertEqual(overheads, {("model", "layer"): 40, ("model", "kernel"): 100, ("layer", "kernel"): 24})
            rows = {row["layer"]: row for row in comparison["by_layer"]}
            self.assertEqual([round(rows[node]["measured_s"] * 1e6, 3) for node in self.NODES], [20, 16, 9])
            self.assertEqual([round(rows[node]["layer_s"] * 1e6, 3) for node in self.NODES], [42, 42, 42])
            # The run is the model's, at the level that nothing slows.
            self.assertAlmostEqual(comparison["run"]["wall_s"], 200e-6, places=9)
            beside, = comparison["run"]["beside"]
            self.assertEqual((beside["range"], beside["per_run"]), ("prepare", 1))
            self.assertAlmostEqual(beside["measured_s"], 30e-6, places=9)
            self.assertAlmostEqual(comparison["throughput"]["runs_per_s"], 5000, places=3)
            self.assertFalse(comparison["throughput"]["at_most"])

    def test_time_outside_the_device(self):
        comparison = self.compare("--measured", self.trace("kernels.json", self.kernel_level(300, 50, (20, 16, 9))))
        self.assertAlmostEqual(comparison["run"]["wall_s"], 300e-6, places=9)
        self.assertAlmostEqual(comparison["run"]["device_s"], 45e-6, places=9)
        self.assertAlmostEqual(comparison["run"]["outside_s"], 255e-6, places=9)

    def test_told_in_every_format(self):
        files = ("--measured", self.trace("layers.json", self.layer_level(240, 42)),
                 "--trace", self.trace("kernels.json", self.kernel_level(300, 50, (20, 16, 9))))
        for form in ("text", "markdown", "html"):
            result = run("compare", self.model, "--gpu", "v100-sxm2-16gb", *files, "--format", form)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("150.0 us down to the kernel level", result.stdout)
            self.assertIn("+19.0 %", result.stdout)  # 24 of 126
            self.assertIn("prepare", result.stdout)
        result = run("compare", self.model, "--gpu", "v100-sxm2-16gb", *files, "--format", "csv")
        rows = list(csv.DictReader(result.stdout.splitlines()))
        self.assertEqual({None in row or None in row.values() for row in rows}, {False})
        levels = {row["node"]: float(row["measured_s"]) for row in rows if row["kind"] == "level"}
        self.assertAlmostEqual(levels["layer"], 126e-6, places=9)

    def kernels_alone(self, offset=0):
        return [event("kernel", "volta_sgemm_128x64_tn", e["ts"] + offset, e["dur"], thread=7, stream=7, device=0,
                      correlation=e["args"]["correlation"])
                for e in self.kernel_level(300, 50, (20, 16, 9)) if e["cat"] == "kernel"]

    def test_kernels_nest_in_the_operators_of_another_file(self):
        # The clock is one: a kernel lies in the operator that launched it.
        layers = self.trace("layers.json", self.layer_level(240, 42))
        comparison = self.compare("--measured", self.trace("alone.json", self.kernels_alone()), "--measured", layers)
        self.assertTrue(any("9 of 9 kernels were launched by operators of" in note for note in comparison["notes"]))
        self.assertEqual([row["node"] for row in comparison["rows"]], list(self.NODES))
        self.assertTrue(all("name" in row["joined_by"] for row in comparison["rows"]))

    def test_launching_calls_go_before_intervals(self):
        # Kernels run late, each while the host is in the next operator: the calls tell whose they are.
        calls = [e for e in self.kernel_level(240, 42, (1, 1, 1)) if e["cat"] != "kernel"]
        late = self.kernels_alone(offset=60)
        comparison = self.compare("--measured", self.trace("alone.json", late),
                                  "--measured", self.trace("calls.json", calls))
        self.assertEqual([(row["node"], round(row["measured_s"] * 1e6, 3)) for row in comparison["rows"]],
                         [("first", 20), ("second", 16), ("third", 9)])

    def test_another_clock_nests_nothing(self):
        layers = self.trace("layers.json", self.layer_level(240, 42))
        alone = self.trace("alone.json", self.kernels_alone(offset=10 ** 9))
        comparison = self.compare("--measured", alone, "--measured", layers)
        self.assertFalse(any("were launched by" in note for note in comparison["notes"]))

    def test_library_level(self):
        shapes = ("512x512:512x512:512x512", "512x512:512x256:512x256", "512x256:256x128:512x128")
        log = "onednn_verbose,info,oneDNN v3.3.4\n" + "".join(
            "onednn_verbose,exec,cpu,matmul,brg_matmul:avx512_core,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 "
            "dst_f32::blocked:ab:f0,,,%s,%g\n" % line for line in zip(shapes, (0.03, 0.02, 0.01)))
        nodes = [{"cat": "Session", "pid": 1, "tid": 1, "dur": 120, "ts": 0, "ph": "X", "name": "model_run", "args": {}}]
        for k, node in enumerate(self.NODES):
            nodes.append({"cat": "Node", "pid": 1, "tid": 1, "dur": 35 - 10 * k, "ts": 1 + 40 * k, "ph": "X",
                          "name": node + "_kernel_time", "args": {"op_name": "MatMul", "output_size": "1024"}})
        comparison = self.compare("--measured", self.file("ort.json", json.dumps(nodes)),
                                  "--measured", self.file("dnn.log", log))
        levels = {level["level"]: level["measured_s"] for level in comparison["levels"]}
        self.assertAlmostEqual(levels["model"], 120e-6)
        self.assertAlmostEqual(levels["layer"], 75e-6, places=9)
        self.assertAlmostEqual(levels["library"], 60e-6, places=9)
        self.assertEqual([row["allocated_bytes"] for row in comparison["by_layer"]], [1024] * 3)

    def test_runs_alone_are_no_comparison(self):
        result = run("compare", self.model, "--measured", self.trace("model.json", self.model_level(200)))
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("nothing finer", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
