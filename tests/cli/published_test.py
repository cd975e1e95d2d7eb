"""Published runs of a network that is here against its bound and its expected time: ResNet-50 under TensorRT, in
bench/published/tensorrt.csv.

Run by ctest with the program and the source tree as arguments; needs nothing but Python's standard library.
"""

import csv
import json
import os
import subprocess
import sys
import unittest

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
RESNET = os.path.join(SOURCE, "models", "networks", "resnet50.onnx")

with open(os.path.join(SOURCE, "bench", "published", "tensorrt.csv"), encoding="utf-8") as table:
    ROWS = [row for row in csv.DictReader(table) if row["network"] == "resnet50"]


def totals(row):
    types = [] if row["type"] == "f32" else ["--dtype", row["type"]]
    command = [PROGRAM, RESNET, "--gpu", row["device"], *types, "--batch", row["batch"], "--runtime", "tensorrt"]
    return json.loads(subprocess.run([*command, "--format", "json"], capture_output=True, check=True).stdout)["totals"]


class Published(unittest.TestCase):
    def test_no_run_takes_less_than_its_bound(self):
        self.assertGreater(len(ROWS), 20)
        for row in ROWS:
            with self.subTest(row["path"], batch=row["batch"]):
                self.assertLess(totals(row)["bound_s"] * 1e3, float(row["ms"]))

    def test_no_run_takes_more_than_twice_or_less_than_half_of_what_is_expected(self):
        for row in ROWS:
            with self.subTest(row["path"], batch=row["batch"]):
                expected = totals(row)["expected_s"] * 1e3
                self.assertLess(expected, 2 * float(row["ms"]))
                self.assertGreater(expected, float(row["ms"]) / 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
