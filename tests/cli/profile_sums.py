"""Files of profilers read in a few lines each, by nothing that dlcost shares: what their kernels sum up to."""

import csv
import gzip
import io
import json
import os
import re
from collections import defaultdict

TIME = {"s": 1, "ms": 1e-3, "us": 1e-6, "usecond": 1e-6, "ns": 1e-9, "nsecond": 1e-9, "second": 1, "msecond": 1e-3}


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
