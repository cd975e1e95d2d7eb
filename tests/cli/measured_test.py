"""What `dlcost measured` sums up, against the files themselves: each read here again in a few lines.

Run by ctest with the program and the source tree as arguments. The files in tests/profiles/fixtures are always read,
those of real profilers beside a checkout where there are some; without, that test is skipped.
"""

import csv
import gzip
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict

import json_schema  # beside this file

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
FIXTURES = os.path.join(SOURCE, "tests", "profiles", "fixtures")
REAL = os.path.join(SOURCE, "..", "shared", "profiles")
TIME = {"s": 1, "ms": 1e-3, "us": 1e-6, "usecond": 1e-6, "ns": 1e-9, "nsecond": 1e-9, "second": 1, "msecond": 1e-3}


def run(*arguments):
    return subprocess.run([PROGRAM, "measured", *arguments], capture_output=True, timeout=120, check=False)


def measured(path, *options):
    result = run(path, "--format", "json", *options)
    assert result.returncode == 0, (path, result.stderr)
    wrong = json_schema.violations(result.stdout)
    assert not wrong, (path, wrong)
    return json.loads(result.stdout)["profiles"][0]


class Sums:
    """Totals by kind, and of kernels by name."""

    def __init__(self):
        self.totals = defaultdict(lambda: defaultdict(float))
        self.names = defaultdict(float)

    def add(self, kind, name, launches=1, **parts):
        self.totals[kind]["launches"] += launches
        for key, value in parts.items():
            self.totals[kind][key] += value
        if kind in ("kernels", "operators") and "time_s" in parts:
            self.names[name] += parts["time_s"]


def text_of(path):
    with open(path, "rb") as file:
        data = file.read()
    return (gzip.decompress(data) if path.endswith(".gz") else data).decode("utf-8-sig", errors="replace")


def number(text):
    return float(text.replace(",", "").rstrip("%"))


def rows(text, header, delimiter=","):
    """Rows of the tables whose header begins with one of these texts, as dictionaries, up to a banner."""
    table = None
    for line in text.splitlines():
        if line.lstrip('"').startswith(header):
            table = next(csv.reader([line], delimiter=delimiter))
        elif line.startswith("==") or not line.strip():
            table = table if not line.strip() else None
        elif table is not None:
            fields = next(csv.reader([line], delimiter=delimiter))
            if len(fields) == len(table):
                yield dict(zip(table, fields))


def nvprof(text):
    sums = Sums()
    units, counted = None, {}
    for row in rows(text, ("Device", "Type", "Start", "Time(%)")):
        if "Count" in row:
            continue  # sums of pages that the trace has one by one
        if "Metric Name" in row:
            key = row["Kernel"], row["Device"]
            if row["Metric Name"] in counted.get(key, {}):
                key += (len(counted),)  # the same kernel in another process
            counted.setdefault(key, {"launches": int(row["Invocations"])})[row["Metric Name"]] = row["Avg"]
            continue
        if "Correlation_ID" in row and "Kernel" in row:
            parts = {"flops": number(row["flop_count_sp"])} if "flop_count_sp" in row else {}
            sums.add("kernels", row["Kernel"], **parts)
            continue
        time = "Duration" if "Duration" in row else "Avg"
        if row[time] in TIME:  # the row of units
            units = row
            continue
        name = re.sub(r" \[\d+\]$", "", row["Name"])
        launches = int(row.get("Calls", 1))
        kind = "copies" if name.startswith("[") else "kernels"
        if row.get("Type") == "API calls" or ("Duration" in row and "Device" not in row):
            kind = "calls"
        parts = {"time_s": launches * float(row[time]) * TIME[units[time]]} if row[time] else {}
        sums.add(kind, name, launches, **parts)
    for key, metrics in counted.items():
        launches = metrics["launches"]
        parts = {}
        flops = [metrics[f"flop_count_{t}"] for t in ("hp", "sp", "dp") if f"flop_count_{t}" in metrics]
        if flops:
            parts["flops"] = launches * sum(map(float, flops))
        if "dram_read_transactions" in metrics and "dram_write_transactions" in metrics:
            parts["bytes"] = 32 * launches * sum(float(metrics[f"dram_{w}_transactions"]) for w in ("read", "write"))
        sums.add("kernels", key[0], launches, **parts)
    return sums


def nvprof_text(text):
    """By patterns of lines instead of columns."""
    sums = Sums()
    value = r"([\d.]+)(s|ms|us|ns)"
    api, kernel, device_time = False, None, re.compile(rf"^{value}\s+{value}\s.*  (\S.*)$")
    seen = set()
    for line in text.splitlines():
        api = "API calls:" in line or (api and not line.startswith("=="))
        summary = re.match(rf"^.*?[\d.]+%\s+{value}\s+(\d+)\s+{value}\s+{value}\s+{value}\s+(\S.*)$", line)
        moved = re.match(rf"^\s+(\d+)\s.*\s([\d.]+)(us|ms)  (Host To Device|Device To Host|GPU Page.*)$", line)
        trace = device_time.match(line)
        metric = re.match(r"^\s+(\d+)\s+(\w+)\s\s.*\s\s(\S+)$", line)
        if line.strip().startswith("Kernel: "):
            kernel = line.strip()[8:]
        elif summary:
            name = summary.group(10)
            kind = "calls" if api else "copies" if name.startswith("[") else "kernels"
            launches = int(summary.group(3))
            sums.add(kind, name, launches, time_s=launches * float(summary.group(4)) * TIME[summary.group(5)])
        elif moved:
            sums.add("copies", moved.group(4), int(moved.group(1)), time_s=float(moved.group(2)) * TIME[moved.group(3)])
        elif trace:
            name = re.sub(r" \[\d+\]$", "", trace.group(5))
            sums.add("copies" if name.startswith("[") else "kernels", name, time_s=float(trace.group(3)) * TIME[trace.group(4)])
        elif line.endswith("page faults]"):
            sums.add("copies", "", 1)
        elif metric and kernel:
            launches = int(metric.group(1))
            if kernel not in seen:
                seen.add(kernel)
                sums.add("kernels", kernel, launches)
            if metric.group(2) == "flop_count_sp":
                sums.totals["kernels"]["flops"] += launches * float(metric.group(3))
    return sums


def ncu(text):
    sums = Sums()
    table = list(rows(text, ("ID",)))
    if "Metric Name" in table[0]:
        kernels = defaultdict(dict)
        for row in table:
            kernels[row["ID"], row["Process ID"]][row["Metric Name"]] = row["Metric Value"], row["Metric Unit"], row["Kernel Name"]
    else:
        units, kernels = table[0], {}
        for row in table[1:]:
            kernels[row["ID"]] = {key: (value, units[key], row["Kernel Name"]) for key, value in row.items()}
    scale = {**TIME, "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "inst": 1, "": 1}
    for metrics in kernels.values():
        read = lambda name: number(metrics[name][0]) * scale[metrics[name][1]]
        parts = {}
        for names, key in [(("gpu__time_duration.sum",), "time_s"), (("dram__bytes_op_read.sum", "dram__bytes_op_write.sum"), "bytes"),
                           (("dram__bytes_read.sum", "dram__bytes_write.sum"), "bytes"), (("dram__bytes.sum",), "bytes")]:
            if all(name in metrics for name in names):
                parts[key] = sum(read(name) for name in names)
        operations = {f"smsp__sass_thread_inst_executed_op_{p}{o}_pred_on.sum": 2 if o == "fma" else 1
                      for p in "hfd" for o in ("add", "mul", "fma")}
        if any(name in metrics for name in operations):
            parts["flops"] = sum(read(name) * weight for name, weight in operations.items() if name in metrics)
        sums.add("kernels", next(iter(metrics.values()))[2], **parts)
    return sums


def nsys(text):
    sums = Sums()
    table = csv.DictReader(io.StringIO(text))
    for row in table:
        name = row.get("Kernel Name") or row["Name"]
        launches = int(row.get("Kern Inst") or row.get("Instances") or row.get("Num Calls") or 1)
        key = next(k for k in row if k.startswith("Total Time") or k.startswith("Duration"))
        unit = re.search(r"\((\w+)\)", key)
        kind = "calls" if "Num Calls" in row else "copies" if name.startswith("[") else "kernels"
        sums.add(kind, name, launches, time_s=number(row[key]) * TIME[unit.group(1) if unit else "ns"])
    return sums


def chrome(text):
    events = json.loads(text)
    events = events["traceEvents"] if isinstance(events, dict) else events
    sums = Sums()
    devices = {e["pid"] for e in events if e.get("ph") == "M" and "/device:GPU" in str(e["args"].get("name", ""))}
    on_device = [e for e in events if e.get("ph") == "X" and
                 (e.get("cat", "").lower() in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_profiler_range") or e.get("pid") in devices)]
    for e in on_device:
        parts = {"time_s": e.get("dur", 0) * 1e-6}
        if e.get("cat") == "cuda_profiler_range":
            parts["flops"] = sum(v * (2 if "ffma" in k else 1) for k, v in e["args"].items())
        copy = e["name"].startswith("Mem")
        if copy and "bytes" in e["args"]:
            parts["bytes"] = e["args"]["bytes"]
        sums.add("copies" if copy else "kernels", e["name"], **parts)
    return sums if on_device else None


def onnxruntime(text):
    sums = Sums()
    for e in json.loads(text):
        if e["name"].endswith("_kernel_time"):
            sums.add("operators", e["name"].removesuffix("_kernel_time"), time_s=e["dur"] * 1e-6)
    return sums


def onednn(text):
    sums = Sums()
    for line in text.splitlines():
        if re.search(r"_verbose.*,exec,", line):
            sums.add("kernels", "", time_s=float(line.rsplit(",", 1)[1]) * 1e-3)
    sums.names.clear()
    return sums


def vtune(text):
    sums = Sums()
    lines = [line for line in text.splitlines() if not line.startswith("vtune:")]
    for row in csv.DictReader(lines, delimiter="\t" if "\t" in lines[0] else ","):
        parts = {}
        if "CPU Time" in row:
            parts["time_s"] = float(row["CPU Time"])
        packed = "Hardware Event Count:FP_ARITH_INST_RETIRED.256B_PACKED_SINGLE"
        if packed in row:
            parts["flops"] = 8 * float(row[packed])
        cas = [float(v) for k, v in row.items() if "UNC_M_CAS_COUNT" in k]
        if cas:
            parts["bytes"] = 64 * sum(cas)
        instructions = "Hardware Event Count:INST_RETIRED.ANY"
        if instructions in row:
            parts["instructions"] = float(row[instructions])
        sums.add("kernels", next(iter(row.values())), **parts)
    del sums.totals["kernels"]["launches"]  # samples, not launches
    return sums


def rocprof(text):
    sums = Sums()
    dispatches = {}
    for i, row in enumerate(csv.DictReader(io.StringIO(text))):
        name = row.get("KernelName") or row.get("Kernel_Name") or row["Name"]
        name = name.removesuffix(".kd")
        if "Calls" in row:
            sums.add("kernels", name, int(row["Calls"]), time_s=float(row["TotalDurationNs"]) * 1e-9)
            continue
        begin, end = (row.get("BeginNs"), row.get("EndNs")) if "BeginNs" in row else (row["Start_Timestamp"], row["End_Timestamp"])
        parts = dispatches.setdefault(row.get("Dispatch_Id", i), {"name": name, "time_s": (float(end) - float(begin)) * 1e-9})
        if "FETCH_SIZE" in row:
            parts["bytes"] = 1024 * (float(row["FETCH_SIZE"]) + float(row["WRITE_SIZE"]))
        weight = {"SQ_INSTS_VALU_ADD_F32": 64, "SQ_INSTS_VALU_FMA_F32": 128, "SQ_INSTS_VALU_MFMA_MOPS_F16": 512}
        if row.get("Counter_Name") in weight:
            parts["flops"] = parts.get("flops", 0) + weight[row["Counter_Name"]] * float(row["Counter_Value"])
    for parts in dispatches.values():
        sums.add("kernels", parts.pop("name"), **parts)
    return sums


def dlprof(text):
    sums = Sums()
    for row in csv.DictReader(io.StringIO(text)):
        kind, name = ("kernels", row["Kernel Name"]) if "Kernel Name" in row else ("operators", row["Op Name"])
        time = row.get("Total GPU Time (ns)") or row["Total Duration (ns)"]
        sums.add(kind, name, int(row.get("Calls") or row["No. Calls"]), time_s=number(time) * 1e-9)
    return sums


def plain(text):
    sums = Sums()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    table = list(csv.DictReader(lines))
    # CUPTI stamps every kernel with the time of its range.
    stamped = "dur_us" in table[0] and len({row["dur_us"] for row in table}) == 1
    for row in table:
        launches = int(row.get("launches") or 1)
        parts = {}
        for key, scale in (("median_ms", 1e-3), ("time_us", 1e-6)):
            if key in row:
                parts["time_s"] = launches * number(row[key]) * scale
        if "dur_us" in row and not stamped:
            parts["time_s"] = number(row["dur_us"]) * 1e-6
        if row.get("flops"):
            parts["flops"] = launches * number(row["flops"])
        if row.get("dram_bytes"):
            parts["bytes"] = launches * number(row["dram_bytes"])
        if "ffma" in row:
            parts["flops"] = sum(float(row[k]) * (2 if k.endswith("fma") else 1) for k in ("fadd", "fmul", "ffma", "hadd", "hmul", "hfma"))
        sums.add("kernels", row.get("name") or row.get("kernel") or row.get("label"), launches, **parts)
    return sums


def reader_of(path):
    """By the file's name: how it was made is known here."""
    name, folder = os.path.basename(path), os.path.basename(os.path.dirname(path))
    for part, reader in [("nvprof_text", nvprof_text), ("nvprof", nvprof), ("alexnet_p4", nvprof), ("ncu_", ncu), ("nsys", nsys), ("onednn", onednn), ("vtune", vtune),
                         ("rocprof", rocprof), ("dlprof", dlprof), ("plain", plain), ("tensorflow", chrome), ("cupti_ranges", chrome)]:
        if name.startswith(part):
            return reader
    if name in ("timing.csv", "peaks.csv"):
        return plain
    return {"nvprof": nvprof, "ncu": ncu, "nsys": nsys, "onednn": onednn, "vtune": vtune, "cupti": plain, "chrome_trace": chrome,
            "onnxruntime": onnxruntime}.get(folder)


class SumsOfFiles(unittest.TestCase):
    def check(self, path):
        sums = reader_of(path)(text_of(path))
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

    def test_without_a_device_there_are_no_shares(self):
        kernel = self.report('"0","7","gemm","100","10","10","1000","0"\n')["kernels"][0]
        self.assertEqual([key for key in kernel if "share" in key], [])


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
