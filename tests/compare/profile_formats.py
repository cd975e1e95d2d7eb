"""Writes launches as profilers do. Every writer returns the text and, per line of it, the nodes and their seconds."""

import csv
import io
import json

from synthetic_runs import fold


def table(rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


class Lines:
    """A text that knows which of its lines belong to which nodes: {line: {nodes: seconds}}."""

    def __init__(self, head):
        self.text = head
        self.truth = {}

    def add(self, fields, truth):
        self.truth[self.text.count("\n") + 1] = truth
        self.text += table([fields])


def nvprof_trace(runs, random):
    out = Lines("==7== NVPROF is profiling process 7, command: ./app\n==7== Profiling result:\n" +
                table([["Start", "Duration", "Grid X", "Grid Y", "Grid Z", "Block X", "Block Y", "Block Z",
                        "Registers Per Thread", "Static SMem", "Dynamic SMem", "Size", "Throughput", "Device",
                        "Context", "Stream", "Name"],
                       ["ms", "ms"] + [""] * 7 + ["KB", "B", "MB", "GB/s", "", "", "", ""]]))
    at = 100.0
    for run in runs:
        for launch in run:
            at += random.uniform(0.001, 0.004)
            out.add(["%.6f" % at, "%.6f" % (launch.seconds * 1e3), 80, 1, 1, 128, 1, 1, 32, 0, 0, "", "",
                     "Some GPU (0)", "1", "7", launch.name + " [%d]" % (out.text.count("\n") + 100)],
                    {launch.nodes: launch.seconds})
            at += launch.seconds * 1e3
    return out


def nvprof_metric_trace(runs, _random):
    out = Lines("==7== NVPROF is profiling process 7, command: ./app\n==7== Metric result:\n" +
                table([["Device", "Context", "Stream", "Kernel", "Correlation_ID",
                        "Floating Point Operations(Single Precision)", "flop_count_sp"][:5] + ["flop_count_sp"]]))
    for run in runs:
        for launch in run:
            out.add(["Some GPU (0)", "1", "7", launch.name, out.text.count("\n"), int(launch.flops)],
                    {launch.nodes: launch.seconds})
    return out


def nvprof_metric_summary(runs, _random):
    out = Lines("==7== Metric result:\n" + table([["Device", "Kernel", "Invocations", "Metric Name",
                                                   "Metric Description", "Min", "Max", "Avg"]]))
    for name, row in fold(runs).items():
        mean = int(row["flops"] / row["launches"])
        out.add(["Some GPU (0)", name, row["launches"], "flop_count_sp", "Floating Point Operations(Single Precision)",
                 mean, mean, mean], row["nodes"])
    return out


def nsys_summary(runs, _random):
    out = Lines(table([["Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)",
                        "StdDev (ns)", "Name"]]))
    rows = fold(runs)
    whole = sum(row["seconds"] for row in rows.values())
    for name, row in sorted(rows.items(), key=lambda item: -item[1]["seconds"]):
        total = round(row["seconds"] * 1e9)
        mean = total / row["launches"]
        out.add(["%.1f" % (100 * row["seconds"] / whole), total, row["launches"], "%.1f" % mean, "%.1f" % mean,
                 int(mean), int(mean), "0.0", name], row["nodes"])
    return out


def ncu(runs, _random):
    out = Lines("==PROF== Connected to process 7 (/app)\n" +
                table([["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
                        "Block Size", "Grid Size", "Device", "CC", "Section Name", "Metric Name", "Metric Unit",
                        "Metric Value"]]))
    number = 0
    for run in runs:
        for launch in run:
            head = [number, 7, "app", "host", launch.name, "1", "7", "(128, 1, 1)", "(80, 1, 1)", "0", "8.0",
                    "Command line profiler metrics"]
            number += 1
            out.add(head + ["gpu__time_duration.sum", "ns", "%d" % round(launch.seconds * 1e9)],
                    {launch.nodes: launch.seconds})
            out.text += table([head + ["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst",
                                       "{:,}".format(int(launch.flops / 2))],
                               head + ["smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "inst", "0"],
                               head + ["smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "inst", "0"]])
    return out


def chrome(runs, random, annotated=False):
    """PyTorch's trace: a call on the host, the launch in it, the kernel on the device. Lines are numbers of events."""
    events, truth = [], {}
    host = device = 1000.0
    correlation = 0
    for run in runs:
        previous = None
        begin = len(events)
        for launch in run:
            key = (launch.node, launch.call)
            correlation += 1
            if not launch.call:  # another thread launches it
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2,
                               "ts": host + 4, "dur": 0.5, "args": {"correlation": correlation}})
            elif key != previous:
                host += 5
                if annotated and launch.node:
                    events.append({"ph": "X", "cat": "user_annotation", "name": launch.node, "pid": 1, "tid": 1,
                                   "ts": host, "dur": 3})
                events.append({"ph": "X", "cat": "cpu_op", "name": launch.call, "pid": 1, "tid": 1,
                               "ts": host + 0.5, "dur": 2})
                previous = key
                inside = 0
            if launch.call:
                inside += 1
                step = 1.5 / 64
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                               "ts": host + 0.6 + step * min(inside, 60), "dur": step / 2,
                               "args": {"correlation": correlation}})
            device = max(device, host) + 1
            events.append({"ph": "X", "cat": "kernel", "name": launch.name, "pid": 0, "tid": 7, "ts": device,
                           "dur": launch.seconds * 1e6, "args": {"correlation": correlation, "stream": 7, "device": 0}})
            truth[len(events)] = {launch.nodes: launch.seconds}
            device += launch.seconds * 1e6
        assert begin < len(events)
    out = Lines("")
    out.text = json.dumps({"traceEvents": events})
    out.truth = truth
    return out


def annotated(runs, random):
    return chrome(runs, random, annotated=True)


def onnxruntime(runs, _random):
    """ONNX Runtime's profile of the kernels' nodes on a CPU: names, no kernels."""
    events, truth = [{"cat": "Session", "pid": 1, "tid": 1, "dur": 10, "ts": 1, "ph": "X", "name": "model_loading_uri",
                      "args": {}}], {}
    at = 100
    for run in runs:
        begin = at
        spans = []
        for launch in run:
            if not launch.node:
                continue
            if spans and spans[-1][0] == launch.node:
                spans[-1][1] += launch.seconds
            else:
                spans.append([launch.node, launch.seconds, launch.nodes])
        for node, seconds, nodes in spans:
            duration = max(1, round(seconds * 1e6))
            events.append({"cat": "Node", "pid": 1, "tid": 1, "dur": duration, "ts": at, "ph": "X",
                           "name": node + "_kernel_time", "args": {"op_name": "", "provider": "CUDAExecutionProvider"}})
            truth.setdefault(next((n for n, t in truth.items() if nodes in t), len(events)), {})[nodes] = seconds
            at += duration + 1
        events.append({"cat": "Session", "pid": 1, "tid": 1, "dur": at - begin, "ts": begin, "ph": "X",
                       "name": "model_run", "args": {}})
    out = Lines("")
    out.text = json.dumps(events)
    out.truth = truth
    return out


def plain(runs, _random):
    out = Lines("kernel,time_us,flops\n")
    for run in runs:
        for launch in run:
            out.add([launch.name, "%.3f" % (launch.seconds * 1e6), int(launch.flops)], {launch.nodes: launch.seconds})
    return out


# Name, writer, extension, whether it counts FLOPs, whether it has times.
FORMATS = [
    ("nvprof trace", nvprof_trace, ".csv"),
    ("nvprof metrics per launch", nvprof_metric_trace, ".csv"),
    ("nvprof metrics, folded", nvprof_metric_summary, ".csv"),
    ("nsys summary", nsys_summary, ".csv"),
    ("ncu", ncu, ".csv"),
    ("chrome trace", chrome, ".json"),
    ("chrome trace with ranges", annotated, ".json"),
    ("ONNX Runtime", onnxruntime, ".json"),
    ("plain table", plain, ".csv"),
]
FOLDED = ("nvprof metrics, folded", "nsys summary")
