"""What `dlcost measured` sums up, against the files themselves: each read again in a few lines (profile_sums.py).

Run by ctest with the program and the source tree as arguments. The files in tests/profiles/fixtures are always read,
those of real profilers beside a checkout where there are some; without, that test is skipped.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import json_schema  # beside this file
import profile_sums

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
FIXTURES = os.path.join(SOURCE, "tests", "profiles", "fixtures")
REAL = os.path.join(SOURCE, "..", "shared", "profiles")


def run(*arguments):
    return subprocess.run([PROGRAM, "measured", *arguments], capture_output=True, timeout=120, check=False)


def measured(path, *options):
    result = run(path, "--format", "json", *options)
    assert result.returncode == 0, (path, result.stderr)
    wrong = json_schema.violations(result.stdout)
    assert not wrong, (path, wrong)
    return json.loads(result.stdout)["profiles"][0]


class SumsOfFiles(unittest.TestCase):
    def check(self, path):
        sums = profile_sums.reader_of(path)(profile_sums.text_of(path))
        report = measured(path)
        if sums is None:
            return  # a trace without a device
        close = 1e-6 if report["format"] == "onnxruntime" else 1e-9  # which keeps four bytes of each time
        self.assertEqual(sorted(report["totals"]), sorted(sums.totals), path)
        for kind, expected in sums.totals.items():
            total = report["totals"][kind]
            for key in ("launches", "time_s", "flops", "bytes", "instructions"):
                if key == "instructions" and key not in expected:
                    continue
                self.assertEqual(key in total, key in expected, (path, kind, key))
                if key in expected:
                    self.assertLessEqual(abs(total[key] - expected[key]), close * abs(expected[key]), (path, kind, key, total[key], expected[key]))
        named = {group["name"]: group.get("time_s") for group in report.get("by_name", [])}
        for name, time in sums.names.items():
            self.assertIn(name, named, path)
            self.assertLessEqual(abs(named[name] - time), close * abs(time), (path, name))
        # Every table sums to the same, and so do the dots.
        kind = "kernels" if "kernels" in report["totals"] else "operators"
        for table in ("kernels", "by_name", "by_family"):
            if report.get(table) and all("time_s" in group for group in report[table]):
                total = sum(group["time_s"] for group in report[table])
                self.assertLessEqual(abs(total - report["totals"][kind]["time_s"]), 1e-9 * total, (path, table))

    def test_fixtures(self):
        files = 0
        for name in sorted(os.listdir(FIXTURES)):
            if name.startswith("lstm_runs"):
                continue  # tables of runs for `dlcost fit`
            with self.subTest(file=name):
                self.check(os.path.join(FIXTURES, name))
            files += 1
        self.assertGreaterEqual(files, 24)

    def test_files_of_real_profilers(self):
        if not os.path.isdir(REAL):
            self.skipTest("no folder " + REAL + " beside the sources")
        files = 0
        for folder, _, names in sorted(os.walk(REAL)):
            for name in sorted(names):
                with self.subTest(file=name):
                    self.check(os.path.join(folder, name))
                files += 1
        self.assertGreaterEqual(files, 24)


class Idle(unittest.TestCase):
    """Gaps by a sweep over the trace's own numbers."""

    def test_gaps_of_a_trace(self):
        spans = [(0, 10, "a"), (12, 20, "b"), (15, 18, "c"), (20, 25, "d"), (1025, 1030, "e"), (1040, 1044, "f")]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump([{"ph": "X", "cat": "kernel", "name": n, "pid": 0, "tid": 7, "ts": s, "dur": e - s, "args": {"device": 0, "stream": 7}}
                       for s, e, n in spans], file)
            file.flush()
            activity = measured(file.name)["activity"][0]
        self.assertEqual(activity["launches"], 6)
        self.assertAlmostEqual(activity["span_s"], 1044e-6, 12)
        self.assertAlmostEqual(activity["busy_s"], 32e-6, 12)
        self.assertAlmostEqual(activity["idle_s"], 1012e-6, 12)
        self.assertEqual(activity["gaps"], 3)
        self.assertAlmostEqual(activity["median_gap_s"], 10e-6, 12)
        self.assertEqual((activity["before_longest_gap"], activity["after_longest_gap"]), ("d", "e"))
        # 2 and 10 us are launching, 1000 us is not; f takes 4 us behind a gap of 10.
        self.assertEqual((activity["launch_gaps"], activity["launch_bound"]), (2, 1))
        self.assertAlmostEqual(activity["launch_bound_gaps_s"], 10e-6, 12)


class CountersOfAnotherRun(unittest.TestCase):
    """The trace gives times, gaps and operators; Nsight Compute's table FLOPs and bytes of the same launches."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        events, at = [], 0
        for number, (op, kernel, us) in enumerate(2 * [("aten::mm", "void ns::sgemm<float>(int)", 100),
                                                       ("aten::relu", "void relu<4>(int, float*)", 20)]):
            events += [{"ph": "X", "cat": "cpu_op", "name": op, "pid": 1, "tid": 1, "ts": at, "dur": 9},
                       {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 1, "dur": 2,
                        "args": {"correlation": number}},
                       {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": at + 5, "dur": us,
                        "args": {"correlation": number, "device": 0, "stream": 7}}]
            at += us + 15
        self.trace = self.file("trace.json", json.dumps(events))
        head = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"\n'
        rows = [(0, "sgemm", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst", "1,000,000"),
                (0, "sgemm", "dram__bytes_read.sum", "byte", "300,000"), (0, "sgemm", "dram__bytes_write.sum", "byte", "100,000"),
                (1, "relu", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst", "0"),
                (1, "relu", "dram__bytes_read.sum", "byte", "50,000"), (1, "relu", "dram__bytes_write.sum", "byte", "50,000")]
        self.counters = self.file("ncu.csv", head + "".join('"%d","7","app","host","%s","1","7","s","%s","%s","%s"\n' % row for row in rows))

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_join(self):
        profile = measured(self.trace, "--counters", self.counters)
        total = profile["totals"]["kernels"]
        self.assertEqual((total["launches"], total["flops"], total["bytes"]), (4, 4e6, 1e6))
        self.assertAlmostEqual(total["time_s"], 240e-6)
        self.assertAlmostEqual(total["flop_rate"], 4e6 / 240e-6, 0)
        by_op = {group["name"]: group for group in profile["by_op_type"]}
        self.assertAlmostEqual(by_op["aten::mm"]["intensity"], 5)
        self.assertEqual(by_op["aten::relu"]["bytes"], 2e5)
        self.assertEqual(profile["activity"][0]["gaps"], 3)
        self.assertTrue(any(note.startswith("counters of 4 of 4 launches") for note in profile["notes"]))

    def test_levels_of_one_run(self):
        # The same launches without their calls, and the operators around them in a file of their own.
        with open(self.trace, encoding="utf-8") as file:
            events = json.load(file)
        events = events["traceEvents"] if isinstance(events, dict) else events
        kernels = [dict(e, args={"device": 0, "stream": 7}) for e in events if e["cat"] == "kernel"]
        layers = [dict(e, cat="cpu_op", tid=1, ts=e["ts"] - 5, dur=e["dur"] + 9, name="layer%d" % i) for i, e in enumerate(kernels)]
        kernel_file, layer_file = self.file("kernels.json", json.dumps(kernels)), self.file("layers.json", json.dumps(layers))
        for order in ((kernel_file, layer_file), (layer_file, kernel_file)):
            profile = measured(*order, "--counters", self.counters)
            self.assertEqual(profile["totals"]["kernels"]["flops"], 4e6)
            self.assertEqual(sorted(group["name"] for group in profile["by_op_type"]), ["layer0", "layer1", "layer2", "layer3"])
            self.assertTrue(any(note.startswith("4 of 4 kernels were launched by operators of") for note in profile["notes"]))
        result = run(kernel_file, kernel_file, "--counters", self.counters)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"both at the kernel level", result.stderr)

    def test_memory_of_pytorch(self):
        with open(self.trace, encoding="utf-8") as file:
            events = json.load(file)
        events = events["traceEvents"] if isinstance(events, dict) else events
        for at, total in ((1, 4096), (50, 3000000), (90, 8192)):
            events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": at,
                           "args": {"Total Reserved": 9 * total, "Total Allocated": total, "Bytes": 4096, "Addr": 1,
                                    "Device Id": 0, "Device Type": 1}})
        notes = measured(self.file("memory.json", json.dumps(events)))["notes"]
        self.assertIn("memory: at most 3.0 MB allocated on device 0, by 3 allocations and frees; they are not split by operator", notes)

    def test_of_another_program(self):
        other = self.file("other.csv", "kernel,flops\nnothing_alike,5\n")
        result = run(self.trace, "--counters", other)
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.assertEqual(result.stderr.count(b"\n"), 1)
        result = run(self.trace, self.trace, "--counters", self.counters)
        self.assertEqual(result.returncode, 2)


class Modules(unittest.TestCase):
    def test_modules_of_pytorch(self):
        def event(name, cat, ts, dur, tid=1, **args):
            return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}

        events = [event("nn.Module: Net_0", "python_function", 0, 100), event("nn.Module: Conv2d_0", "python_function", 10, 20),
                  event("nn.Module: Conv2d_1", "python_function", 40, 20), event("forward", "python_function", 10, 19),
                  event("aten::conv2d", "cpu_op", 12, 10), event("cudaLaunchKernel", "cuda_runtime", 14, 2, correlation=5),
                  event("aten::conv2d", "cpu_op", 42, 10), event("cudaLaunchKernel", "cuda_runtime", 44, 2, correlation=6),
                  event("conv_kernel", "kernel", 200, 7, 9, correlation=5), event("conv_kernel", "kernel", 210, 9, 9, correlation=6)]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"traceEvents": events}, file)
            file.flush()
            report = measured(file.name)
        self.assertEqual([(g["name"], round(g["time_s"] * 1e6)) for g in report["by_module"]], [("Net_0/Conv2d_1", 9), ("Net_0/Conv2d_0", 7)])
        self.assertEqual([(g["name"], g["launches"]) for g in report["by_op_type"]], [("aten::conv2d", 2)])


    def test_modules_of_operators_on_the_host(self):
        def event(name, cat, ts, dur):
            return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": {}}

        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump([event("nn.Module: Net_0", "python_function", 0, 100), event("nn.Module: Linear_0", "python_function", 10, 20),
                       event("aten::linear", "cpu_op", 12, 10), event("aten::addmm", "cpu_op", 13, 8), event("aten::relu", "cpu_op", 50, 5)], file)
            file.flush()
            report = measured(file.name)
        self.assertEqual({g["name"]: round(g["time_s"] * 1e6) for g in report["by_module"]}, {"Net_0/Linear_0": 10, "Net_0": 5})
        self.assertEqual(report["totals"]["operators"]["launches"], 2)


class Databases(unittest.TestCase):
    """Exports of Nsight Systems and of nvprof, made here: kernels in ranges of layers."""

    KERNELS = [("gemm", 100, 400, 1), ("relu", 450, 470, 2), ("gemm", 500, 900, 3)]  # name, start and end in ns, launch
    RANGES = [("step", 0, 90), ("layer1", 5, 40), ("layer2", 50, 80)]
    CALLS = [(10, 12, 1), (20, 22, 2), (60, 62, 3)]

    def check(self, statements, form):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile")
            database = sqlite3.connect(path)
            for statement, rows_ in statements:
                database.executemany(statement, rows_) if rows_ else database.execute(statement)
            database.commit()
            database.close()
            report = measured(path)
        self.assertEqual(report["format"], form)
        self.assertEqual({g["name"]: (g["launches"], round(g["time_s"] * 1e9)) for g in report["by_name"]}, {"gemm": (2, 700), "relu": (1, 20)})
        self.assertEqual({g["name"]: round(g["time_s"] * 1e9) for g in report["by_op"]}, {"layer1": 320, "layer2": 400})
        self.assertEqual({g["name"]: g["launches"] for g in report["by_module"]}, {"step": 3})
        activity = report["activity"][0]
        self.assertEqual([round(activity[key] * 1e9) for key in ("span_s", "busy_s", "idle_s")], [800, 720, 80])

    def test_nsight_systems(self):
        self.check([("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)", None),
                    ("INSERT INTO StringIds VALUES (?, ?)", [(1, "gemm"), (2, "relu"), (3, "launch")]),
                    ("CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT)", None),
                    ("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, 7)", [(s, e, n) for n, s, e in self.RANGES]),
                    ("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT)", None),
                    ("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 7, ?, 3)", self.CALLS),
                    ("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT,"
                     " demangledName INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT)", None),
                    ("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, ?, 1, 1, 1, 32, 1, 1)",
                     [(s, e, c, 1 if n == "gemm" else 2) for n, s, e, c in self.KERNELS])], "nsys-sqlite")

    def test_nvprof(self):
        names = {"step": 1, "layer1": 2, "layer2": 3, "gemm": 4, "relu": 5}
        marks = [mark for i, (n, s, e) in enumerate(self.RANGES) for mark in ((s, i + 1, names[n]), (e, i + 1, 0))]
        self.check([("CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT)", None),
                    ("INSERT INTO StringTable VALUES (?, ?)", [(i, n) for n, i in names.items()]),
                    ("CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (timestamp INT, id INT, name INT, objectId BLOB)", None),
                    ("INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (?, ?, ?, x'0500000009000000')", marks),
                    ("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, threadId INT, correlationId INT)", None),
                    ("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 9, ?)", self.CALLS),
                    ("CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT,"
                     " name INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT)", None),
                    ("INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (?, ?, 0, 7, ?, ?, 1, 1, 1, 32, 1, 1)",
                     [(s, e, c, names[n]) for n, s, e, c in self.KERNELS])], "nvvp")


NCU = ('"ID","Process ID","Kernel Name","gpu__time_duration.sum","dram__bytes_read.sum","dram__bytes_write.sum",'
       '"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","sm__inst_executed_pipe_tensor.sum"\n'
       '"","","","usecond","Mbyte","Mbyte","inst","inst"\n')


class AgainstADevice(unittest.TestCase):
    def report(self, rows, *options):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write(NCU + rows)
            file.flush()
            return measured(file.name, *options)

    def test_shares_of_peak(self):
        # A100 SXM4 80 GB: 19.5 TFLOP/s in fp32, 2039 GB/s (data sheet).
        report = self.report('"0","7","gemm","100","10","10.39","487500000","0"\n', "--gpu", "a100")
        kernel = report["kernels"][0]
        self.assertEqual(kernel["flops"], 975000000)
        self.assertAlmostEqual(kernel["flop_rate"], 9.75e12, delta=1e3)
        self.assertAlmostEqual(kernel["compute_share"], 0.5, 12)
        self.assertAlmostEqual(kernel["memory_share"], 0.1, 12)
        self.assertNotIn("limited_by", kernel)  # neither is high, and other pipes were not watched
        report = self.report('"0","7","gemm","100","10","10.39","780000000","0"\n', "--gpu", "a100")
        self.assertEqual(report["kernels"][0]["limited_by"], "compute")

    def test_the_matrix_pipe_hides_work(self):
        report = self.report('"0","7","gemm","100","10","10","1000","64"\n', "--gpu", "a100")
        kernel = report["kernels"][0]
        self.assertEqual(kernel["at_least"], ["flops"])
        for key in ("flop_rate", "intensity", "compute_share", "limited_by"):
            self.assertNotIn(key, kernel)
        self.assertIn("matrix pipe", report["notes"][0])

    def test_a_profile_of_another_device_is_told(self):
        table = os.path.join(FIXTURES, "alexnet_p4_nvprof_metrics.csv")
        self.assertEqual(measured(table, "--gpu", "p4")["notes"], [])
        self.assertIn("measured on 'Tesla P4 (0)', held against NVIDIA A100", measured(table, "--gpu", "a100")["notes"][0])

    def test_without_a_device_there_are_no_shares(self):
        kernel = self.report('"0","7","gemm","100","10","10","1000","0"\n')["kernels"][0]
        self.assertEqual([key for key in kernel if "share" in key], [])


class WhatLimits(unittest.TestCase):
    """Only where counters say so; a share below which nothing is busy is 60 % (Nsight Compute's guide)."""

    def limit(self, counters):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write('"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"\n')
            for name, value in counters.items():
                file.write(f'"Tesla P4 (0)","gemm(float*)",1,"{name}","",{value},{value},{value}\n')
            file.flush()
            kernel = measured(file.name)["kernels"][0]
        return kernel.get("limited_by")

    def test_by_levels_of_nvprof(self):
        pipes = {"single_precision_fu_utilization": "Low (2)", "double_precision_fu_utilization": "Idle (0)", "special_fu_utilization": "Low (1)"}
        memory = {"dram_utilization": "Low (3)", "l2_utilization": "Low (2)"}
        self.assertEqual(self.limit({**pipes, **memory}), "latency")
        self.assertEqual(self.limit({**pipes, **memory, "dram_utilization": "High (9)"}), "memory")
        self.assertEqual(self.limit({**pipes, **memory, "l2_utilization": "Max (10)"}), "memory")
        self.assertEqual(self.limit({**pipes, **memory, "single_precision_fu_utilization": "High (8)"}), "compute")

    def test_what_was_not_watched_may_be_busy(self):
        self.assertIsNone(self.limit({"single_precision_fu_utilization": "Low (2)", "dram_utilization": "Low (3)", "l2_utilization": "Low (2)"}))
        self.assertIsNone(self.limit({"flop_sp_efficiency": "2.5%", "dram_utilization": "Low (3)"}))
        self.assertIsNone(self.limit({"dram_utilization": "High (9)"}))
        self.assertEqual(self.limit({"flop_sp_efficiency": "2.5%", "dram_utilization": "High (9)"}), "memory")


class EveryFormat(unittest.TestCase):
    FILE = os.path.join(FIXTURES, "ncu_details.csv")

    def test_formats(self):
        for form, begins in (("text", b"measured "), ("csv", b"file,table,name"), ("markdown", b"## "), ("html", b"<!DOCTYPE html>"), ("json", b"{")):
            first, second = run(self.FILE, "--gpu", "a100", "--format", form), run(self.FILE, "--gpu", "a100", "--format", form)
            self.assertEqual(first.returncode, 0, first.stderr)
            self.assertTrue(first.stdout.startswith(begins), form)
            self.assertEqual(first.stdout, second.stdout, form)

    def test_unknown_counters_are_told_once(self):
        report = measured(os.path.join(FIXTURES, "nvprof_text_metrics.log"))
        self.assertEqual(report["unknown_counters"], ["warps_launched", "inst_per_warp"])
        self.assertIn(b"2 counters without a meaning here: warps_launched, inst_per_warp", run(os.path.join(FIXTURES, "nvprof_text_metrics.log")).stdout)

    def test_wrong_input_is_one_line(self):
        with tempfile.NamedTemporaryFile("wb", suffix=".csv") as file:
            file.write(b"\x00\x01 nothing that a profiler wrote\n")
            file.flush()
            for arguments in ([file.name], ["/nonexistent"], [self.FILE, "--gpu", "a1oo"], [self.FILE, "--format", "jsn"], [self.FILE, "--dtype", "float"[::-1]], []):
                result = run(*arguments)
                self.assertEqual((result.returncode, result.stdout, result.stderr.count(b"\n")), (2, b"", 1), (arguments, result.stderr))
                self.assertTrue(result.stderr.startswith(b"dlcost: "), result.stderr)

    def test_names_cannot_inject_anything(self):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write("name,time_us,flops,dram_bytes\n\"</script><script>alert(1)</script>\",1,10,10\n")
            file.flush()
            self.assertEqual(run(file.name, "--format", "html").stdout.count(b"</script>"), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
