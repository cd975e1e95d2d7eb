#!/usr/bin/env python3
"""What one more row, position or sequence costs: measured and expected, where a table has neighbouring sizes.

Two rows of a table that differ in one size alone, by at most 30 %, and have no row between them, are neighbours. Their
step is how much longer the larger takes, for each of its items: time ratio over size ratio, 1 where each item takes
what it did before, above 1 where tiles, waves or another kernel make all of them dearer. Expected times are those of
`accuracy --rows`, told nothing. `dearer` is the share of pairs whose expected step is more than a fifth above the
measured one, `cheaper` more than a fifth below.

usage: steps.py ACCURACY table.csv...
"""

import argparse
import csv
import os
import subprocess

SIZES = {"gemm": ("batch", "m", "n", "k"), "attention": ("batch", "q_len", "kv_len"), "elementwise": ("rows", "cols")}
MEASURED = ("latency_us", "kernel", "grid", "kernels")
NEIGHBOURS = 1.3
FEWEST = 20


def expected_times(accuracy, path):
    """{line of the table: (measured, expected) in us}"""
    out = subprocess.run([accuracy, path, "--rows"], capture_output=True, text=True, check=True).stdout
    name = os.path.splitext(os.path.basename(path))[0]
    times = {}
    for line in out.splitlines():
        if line.startswith(name + ":"):
            fields = line.split(",")
            times[int(fields[0].split(":")[1])] = (float(fields[-4]), float(fields[-2]))
    return times


def pairs(rows, size):
    """Neighbours along one size: ((size, measured, expected), the next)."""
    lines = {}
    for row, measured, expected in rows:
        rest = tuple(value for name, value in row.items() if name != size and name not in MEASURED)
        lines.setdefault(rest, []).append((float(row[size]), measured, expected))
    for line in lines.values():
        line.sort()
        for low, high in zip(line, line[1:]):
            if low[0] < high[0] <= NEIGHBOURS * low[0]:
                yield low, high


def share(part, whole):
    return f"{100 * part / whole:.1f}%"


def quantile(values, at):
    return sorted(values)[min(len(values) - 1, int(at * len(values)))]


def quantiles(values):
    return f"{quantile(values, 0.5):>12.2f} {quantile(values, 0.9):>5.2f} {quantile(values, 0.99):>5.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("accuracy")
    parser.add_argument("tables", nargs="+")
    arguments = parser.parse_args()
    print(
        f"{'table':<10} {'device':<15} {'dtype':<5} {'size':<6} {'pairs':>5} |"
        f" {'measured p50':>12} {'p90':>5} {'p99':>5} | {'expected p50':>12} {'p90':>5} {'p99':>5} |"
        f" {'dearer':>6} {'cheaper':>7}"
    )
    for path in arguments.tables:
        table = os.path.splitext(os.path.basename(path))[0]
        times = expected_times(arguments.accuracy, path)
        groups = {}
        with open(path, encoding="utf-8") as file:
            for line, row in enumerate(csv.DictReader(file), 2):
                if line in times:
                    groups.setdefault((row["device"], row["dtype"]), []).append((row, *times[line]))
        for (device, dtype), rows in sorted(groups.items()):
            for size in SIZES[table]:
                steps = [
                    (high[1] / low[1] * low[0] / high[0], high[2] / low[2] * low[0] / high[0])
                    for low, high in pairs(rows, size)
                ]
                if len(steps) < FEWEST:
                    continue
                measured, expected = zip(*steps)
                print(
                    f"{table:<10} {device:<15} {dtype:<5} {size:<6} {len(steps):>5} |"
                    f" {quantiles(measured)} | {quantiles(expected)} |"
                    f" {share(sum(e > 1.2 * m for m, e in steps), len(steps)):>6}"
                    f" {share(sum(m > 1.2 * e for m, e in steps), len(steps)):>7}"
                )


if __name__ == "__main__":
    main()
