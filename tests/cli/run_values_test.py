"""Sizes that only the run knows, on models of others: what ONNX Runtime did with the same sizes.

The numbers come from runs of onnxruntime 1.31.1 with random inputs: the shapes of all its intermediate tensors, put into the formulas of
the products. Run by ctest with the program and the source tree as arguments; skipped where the models are not there.
"""

import json
import os
import subprocess
import sys
import unittest

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
REAL = os.path.join(SOURCE, "..", "shared", "models", "real")


def report(name, *options):
    result = subprocess.run(
        [PROGRAM, os.path.join(REAL, name), "--format", "json", *options], capture_output=True, timeout=120, check=True
    )
    return json.loads(result.stdout)


@unittest.skipUnless(os.path.isdir(REAL), "no models beside the source tree")
class RunValues(unittest.TestCase):
    def counts(self, found):
        bounds = sum(node.get("upper_bound", False) for node in found["nodes"])
        return found["totals"]["macs"], found["coverage"].get("unknown", 0), bounds

    def test_experts(self):
        # 16 tokens, each to 2 of 4 experts, in two layers.
        name = "gpt_oss.ts.onnx"
        equal = ("--at", "*/NonZero=100%", "--at", "*/NonZero_*=25%")
        self.assertEqual(self.counts(report(name, *equal)), (2367488, 0, 0))
        self.assertEqual(self.counts(report(name, "--assume", "typical")), (2367488, 0, 0))

    def test_speech(self):
        # 45 frames for 16 tokens.
        frames = report("vits.ts.onnx", "--at", "/m/m/ReduceSum_output_0=[45]")
        self.assertEqual(self.counts(frames)[:2], (15365504, 0))

    def test_what_is_assumed_is_listed(self):
        certainty = report("kokoro.onnx", "--dim", "sequence_length=128", "--assume", "typical")["certainty"]
        assumed = certainty["settled"][0]
        self.assertEqual((assumed["subject"], assumed["assumed"]), ("/encoder/Gather_1", True))
        self.assertTrue(assumed["answer"].startswith("the value [640]"), assumed)
        self.assertEqual(certainty["assumed"]["nodes"], 1713)  # less slices, which move nothing

    def test_distinct_axes_without_names(self):
        # One image of 48 x 192 through the shipped classifier of text direction.
        found = report("rapidocr__ch_ppocr_mobile_v2.0_cls_mobile.onnx", "--dim", "x[2]=48", "--dim", "x[3]=192")
        self.assertEqual(self.counts(found), (16315376, 0, 0))
        self.assertEqual(found["model"]["dims"], {"x[0]": 1, "x[2]": 48, "x[3]": 192})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
