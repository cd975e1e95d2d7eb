"""What mypy --strict accepts of the stubs; not run."""

from typing import Dict, List, Optional

import dlcost


def totals(path: str) -> int:
    report: dlcost.Report = dlcost.report(path, gpu="a100", batch=8, dims={"sequence": 128})
    macs: int = report.totals.macs
    bound: Optional[float] = report.totals.bound_s
    names: List[str] = [kernel.id for kernel in report.kernels]
    columns: Dict[str, List[object]] = report.kernels.columns()
    print(bound, names, len(columns), report.model.path, report.text(by="op"))
    return macs


def gate(old: dlcost.Report, new: dlcost.Report) -> bool:
    verdict = dlcost.check(new, old, max=["macs=+2%"])
    print(dlcost.diff(old, new).text())
    return bool(verdict)


def several(paths: List[str]) -> List[dlcost.Report]:
    return dlcost.map(dlcost.report, paths)
