"""What an ONNX model costs, what bounds it, and where the time goes, without running it (docs/python.md).

    import dlcost
    report = dlcost.report("resnet50.onnx", gpu="a100", batch=8)
    print(report.totals.macs, report.totals.expected_s)
    report.kernels.to_pandas()
"""

from ._calls import check, compare, device, devices, diff, read_report, report, sweep, train
from ._core import __version__
from ._errors import Error
from ._map import map  # noqa: A004: as the builtin, over an executor
from ._models import Model, load
from ._questions import collective, explain, formula, measured, page, parallel, scale, system, systems
from ._records import Record, Rows
from ._results import (
    Collectives, Comparison, Device, Difference, Explanation, Formula, Measured, ParallelPlans, Report, Scaling, Sweep, System,
    Verdict,
)

__all__ = [
    "Collectives", "Comparison", "Device", "Difference", "Error", "Explanation", "Formula", "Measured", "Model",
    "ParallelPlans", "Record", "Report", "Rows", "Scaling", "Sweep", "System", "Verdict",
    "check", "collective", "compare", "device", "devices", "diff", "explain", "formula", "load", "map", "measured", "page",
    "parallel", "read_report", "report", "scale", "sweep", "system", "systems", "train",
]


def __getattr__(name):
    if name == "torch":  # imported when it is asked for: PyTorch takes seconds
        import importlib
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module 'dlcost' has no attribute '{name}'")
