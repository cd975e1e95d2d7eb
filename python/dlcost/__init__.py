"""What an ONNX model costs, what bounds it, and where the time goes, without running it (docs/python.md).

    import dlcost
    report = dlcost.report("resnet50.onnx", gpu="a100", batch=8)
    print(report.totals.macs, report.totals.expected_s)
    report.kernels.to_pandas()
"""

from ._calls import check, compare, device, devices, diff, rank, read_report, report, sweep, train
from ._core import __version__
from ._errors import Error
from ._knowledge import Runtime, calibrate, fit, network, networks, operator, operators, runtime, runtimes
from ._map import map  # noqa: A004: as the builtin, over an executor
from ._models import Model, load
from ._questions import collective, explain, formula, input, measured, page, parallel, scale, system, systems  # noqa: A004
from ._records import Record, Rows
from ._results import (
    Collectives, Comparison, Device, Difference, Explanation, FittedRuns, Formula, InputBounds, Measured, ParallelPlans, Ranking,
    Report, Scaling, Sweep, System, Verdict,
)

__all__ = [
    "Collectives", "Comparison", "Device", "Difference", "Error", "Explanation", "FittedRuns", "Formula", "InputBounds",
    "Measured", "Model", "ParallelPlans", "Ranking", "Record", "Report", "Rows", "Runtime", "Scaling", "Sweep", "System", "Verdict",
    "calibrate", "check", "collective", "compare", "device", "devices", "diff", "explain", "fit", "formula", "input", "load",
    "map", "measured", "network", "networks", "operator", "operators", "page", "parallel", "rank", "read_report", "report",
    "runtime", "runtimes", "scale", "sweep", "system", "systems", "train",
]


def __getattr__(name):
    if name == "torch":  # imported when it is asked for: PyTorch takes seconds
        import importlib
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module 'dlcost' has no attribute '{name}'")
