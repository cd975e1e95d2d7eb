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


def questions(path: str) -> int:
    formula: dlcost.Formula = dlcost.formula(path, tied={"target": "source"}, batch=1)
    macs: int = formula.at("macs", source=128)
    explained: dlcost.Explanation = dlcost.explain(path, "a100")
    terms: List[Optional[float]] = [term.value for term in explained.terms]
    times: List[float] = [plan.step_s for plan in dlcost.parallel(path, "dgx-h100", global_batch=64, train="adamw").plans]
    points: List[float] = [point.efficiency for point in dlcost.scale(path, "dgx-h100", [1, 8], train="sgd").points]
    sent: List[int] = [row.ring_bytes for row in dlcost.collective("all_reduce", dlcost.system("dgx-1"), bytes=1 << 20).rows]
    measured: dlcost.Measured = dlcost.measured("profile.csv", gpu="a100")
    page: str = dlcost.page([dlcost.report(path, batch="max", gpu="a100")]) + measured.html()
    print(terms, times, points, sent, [profile.file for profile in measured.profiles], page, measured.to_pandas("by_name"))
    return macs


def what_is_known(path: str) -> int:
    best: dlcost.Sweep = dlcost.sweep(path, batch="1:64:x2", dims={"sequence": {128: 3, 512: 1}}, gpu=["a100", "h100"], buckets=[512],
                                      conditions="latency<=10ms", rank="price", price_per_hour={"a100": 1.6}, runtimes=["tensorrt"])
    gate: bool = dlcost.check(path, path, batch=[1, 8], budget="budget.yaml", plan="dp=8", system="dgx-1").passed
    devices: List[str] = [row.id for row in dlcost.rank(path, top=3).devices]
    stages: List[str] = [stage.stage for stage in dlcost.input(150528, storage_bytes_per_s=1e9).stages]
    terms: List[float] = [term.value for term in dlcost.fit("runs.csv", "layers", "flops", expect={1: 2.0}).terms]
    names: List[str] = [one.name for one in dlcost.networks()] + [one.formula for one in dlcost.operators()]
    fitted: float = dlcost.calibrate("t4", ["gemm.csv"]).held_out.median
    runtime: dlcost.Runtime = dlcost.runtime("tensorrt")
    print(best.svg(), gate, devices, stages, terms, names, fitted, runtime.id, dlcost.report(path).view("gemm"))
    return len(dlcost.network("gpt2", layers=2))
