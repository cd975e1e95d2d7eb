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
from ._records import Record, Rows
from ._results import Comparison, Device, Difference, Report, Sweep, Verdict

__all__ = [
    "Comparison", "Device", "Difference", "Error", "Model", "Record", "Report", "Rows", "Sweep", "Verdict",
    "check", "compare", "device", "devices", "diff", "load", "map", "read_report", "report", "sweep", "train",
]


def __getattr__(name):
    if name == "torch":  # imported when it is asked for: PyTorch takes seconds
        import importlib
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module 'dlcost' has no attribute '{name}'")
