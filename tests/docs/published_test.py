#!/usr/bin/env python3
"""The tables of docs/ that programs in bench/ print from measured tables outside the repository: are they still what these print?

The tables lie in $DLCOST_MEASURED, by default ../shared/measured beside the source folder; skipped (77) where they are not there.

usage: published_test.py SOURCE_DIR DLCOST ACCURACY
"""

import os
import subprocess
import sys


def missing(source, document, printed):
    """The printed lines that the document does not show, however they are indented."""
    with open(os.path.join(source, "docs", document), encoding="utf-8") as file:
        shown = {line.strip() for line in file}
    return [line for line in printed.splitlines() if line.strip() and line.strip() not in shown]


def main():
    source, dlcost, accuracy = sys.argv[1:4]
    measured = os.environ.get("DLCOST_MEASURED", os.path.join(source, "..", "shared", "measured"))
    serving = os.path.join(measured, "runs", "serving.csv")
    if not os.path.exists(serving):
        print(f"no measured tables in {measured}: skipped")
        return 77
    tables = [os.path.join(measured, f"{name}.csv") for name in ("gemm", "conv", "attention", "elementwise", "recurrent")]
    bench = os.path.join(source, "bench")
    asked = [
        ("accuracy.md", [accuracy, "--held-out", "0.4", *tables]),
        ("accuracy.md", [accuracy, "--leave-one-out", *tables]),
        ("accuracy.md", [sys.executable, os.path.join(bench, "steps.py"), accuracy, tables[0]]),
        ("accuracy.md", [sys.executable, os.path.join(bench, "networks.py"), dlcost, serving]),
        ("accuracy.md", [sys.executable, os.path.join(bench, "servers.py"), dlcost, serving]),
        ("sweeps.md", [sys.executable, os.path.join(bench, "saturation.py"), dlcost, serving]),
    ]
    wrong = 0
    for document, command in asked:
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for line in missing(source, document, printed):
            wrong += 1
            print(f"docs/{document} does not show: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
