"""Training graphs that ONNX Runtime's own tools derived (exported/ort_training/, make_ort_training.py), against the step
that dlcost derives from the same network: nothing unknown in either, the same multiply-accumulates.

usage: ort_training_test.py DLCOST
"""

import pathlib
import sys

import harness
from estimator import Estimator, unknown

FOLDER = pathlib.Path(__file__).with_name("exported") / "ort_training"


def main(binary):
    checks = harness.Checks("ONNX Runtime's training graphs")
    estimator = Estimator(binary)
    graphs = sorted(FOLDER.glob("*.training.onnx"))
    checks.check("graphs to compare", [] if graphs else [f"none in {FOLDER}"])
    for graph in graphs:
        name = graph.name.split(".")[0]
        theirs = estimator.report(graph)
        ours = estimator.report(FOLDER / f"{name}.onnx", ["--train", "none", "--loss", "mse"])
        checks.check(f"{name}: nothing unknown in its training graph", unknown(theirs))
        checks.check(f"{name}: nothing unknown in the step", unknown(ours))
        checks.equal(f"{name}: MACs", ours["totals"]["macs"], theirs["totals"]["macs"])
    checks.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
