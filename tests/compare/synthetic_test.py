"""Synthetic runs with known truth, through `dlcost compare` as a user calls it.

A hundred runs of reference networks (device, profiler, folding, number of runs, kernels renamed, reordered, foreign
kernels between: all drawn at random, from a fixed seed) against their own model: none is refused, and at least 99 % of
the joined time is at the operator that computed it. A hundred against a model that they are not of: none is accepted.

Run by ctest with the program and the source tree as arguments; needs nothing but Python's standard library.
    synthetic_test.py PROGRAM SOURCE [SEED [COUNT]]
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

from profile_formats import FOLDED, FORMATS
from synthetic_runs import DEVICES, NETWORKS, Generator, add_foreign, rename

PROGRAM = sys.argv[1]
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 20
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 100


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=300, check=False, text=True)


class Case:
    """One drawn run: the model, how it is called, and what a profiler wrote of it."""

    def __init__(self, folder, number):
        self.random = random.Random("%d/%d" % (SEED, number))
        self.network, self.settings, self.options = self.draw_model()
        self.device = self.random.choice(sorted(DEVICES))
        self.format, self.write, extension = self.random.choice(FORMATS)
        self.folded = self.format in FOLDED
        self.runs = self.random.choice([1, 2, 7, 53, 100]) if self.folded else self.random.choice([1, 1, 2, 4])
        self.renamed = self.random.random() < 0.2 and self.format != "ONNX Runtime"
        self.reordered = self.random.random() < 0.3
        self.foreign = self.random.random() < 0.5
        self.model = self.model_file(folder, self.network, self.settings)
        self.path = os.path.join(folder, "profile%d%s" % (number, extension))

    def draw_model(self):
        name, settings, options = self.random.choice(NETWORKS)
        return name, self.random.choice(settings), self.random.choice(options)

    @staticmethod
    def model_file(folder, network, settings):
        path = os.path.join(folder, "-".join((network, *settings)).replace("=", "_") + ".onnx")
        if not os.path.exists(path):
            result = run("network", network, *settings, "-o", path)
            assert result.returncode == 0, result.stderr
        return path

    def write_profile(self):
        report = run(self.model, "--gpu", self.device, *self.options, "--format", "json")
        assert report.returncode == 0, report.stderr
        generator = Generator(json.loads(report.stdout), self.device, self.random)
        runs = [generator.once(self.reordered)]
        while len(runs) < min(self.runs, 4):  # of more, only the times differ
            again = [launch.__class__(**vars(launch)) for launch in runs[0]]
            for launch in again:
                launch.seconds *= self.random.lognormvariate(0, 0.02)
            runs.append(again)
        runs += [runs[-1]] * (self.runs - len(runs))
        if self.foreign:
            for index in range(min(self.runs, 4)):
                add_foreign(runs[index], self.random)
        if self.renamed:
            rename(runs[:4], self.random, 0.25)
        written = self.write(runs, self.random)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(written.text)
        self.truth = written.truth

    def compare(self, model, options):
        return run("compare", model, "--gpu", self.device, *options, "--measured", self.path, "--format", "json")

    def __str__(self):
        flags = [name for name in ("renamed", "reordered", "foreign") if getattr(self, name)]
        return "%s %s %s on %s, %s, %d runs%s" % (self.network, " ".join(self.settings), " ".join(self.options),
                                                  self.device, self.format, self.runs,
                                                  "".join(", " + flag for flag in flags))


def seconds_at(comparison, truth):
    """Joined seconds, and those of them at the operator that computed them."""
    joined = right = 0.0
    for row in comparison["rows"]:
        nodes = set(row["nodes"])
        for part in row["parts"]:
            for line in part["lines"]:
                for computed, seconds in truth.get(line, {}).items():
                    joined += seconds
                    right += seconds if computed & nodes else 0.0
    return joined, right


class Synthetic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.cases = [Case(cls.folder.name, number) for number in range(COUNT)]
        for case in cls.cases:
            case.write_profile()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_own_runs_join_at_the_right_operator(self):
        shares, refused, few, counted = [], [], [], []
        for case in self.cases:
            result = case.compare(case.model, case.options)
            if result.returncode != 0:
                refused.append("%s: %s" % (case, result.stderr.strip()))
                continue
            comparison = json.loads(result.stdout)
            joined, right = seconds_at(comparison, case.truth)
            self.assertGreater(joined, 0, str(case))
            shares.append(right / joined)
            if right / joined < 0.99:
                few.append("%.4f %s" % (right / joined, case))
            if case.folded and comparison["totals"]["runs"] != case.runs:
                counted.append("%d runs for %d: %s" % (comparison["totals"]["runs"], case.runs, case))
        mean = sum(shares) / max(1, len(shares))
        print("own: %d joined, %d refused, %.3f %% of joined time at the right operator, %d wrong numbers of runs"
              % (len(shares), len(refused), 100 * mean, len(counted)))
        print("\n".join(few + counted + refused))
        self.assertEqual(refused, [])
        self.assertEqual(counted, [])
        self.assertGreaterEqual(mean, 0.99)

    def test_wrong_models_are_refused(self):
        accepted = []
        for case in self.cases:
            other = case
            while other.network == case.network:
                other = self.cases[case.random.randrange(len(self.cases))]
            result = case.compare(other.model, other.options)
            if result.returncode == 0:
                accepted.append("%s as %s %s" % (case, other.network, " ".join(other.options)))
            if result.returncode == 0:
                for belief in json.loads(result.stdout)["belief"]:
                    accepted[-1] += "".join("\n    %+.1f %s" % (c["bits"], c["clue"]) for c in belief["clues"])
            else:
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn("does not look like this model", result.stderr)
        print("wrong: %d of %d accepted" % (len(accepted), len(self.cases)))
        print("\n".join(accepted))
        self.assertEqual(accepted, [])


# The network that ran, and one of its family that all but a few of its operators fit.
SIBLINGS = [(("vgg16", (), ("--batch", "2")), ("vgg19", (), ("--batch", "2"))),
            (("vgg19", (), ("--batch", "2")), ("vgg16", (), ("--batch", "2"))),
            (("resnet34", (), ("--batch", "4")), ("resnet50", (), ("--batch", "4"))),
            (("resnet18", (), ("--batch", "4")), ("resnet34", (), ("--batch", "4"))),
            (("bert-base", ("layers=12",), ("--batch", "1", "--dim", "sequence=128")),
             ("bert-base", ("layers=6",), ("--batch", "1", "--dim", "sequence=128")))]


class Siblings(unittest.TestCase):
    def test_refused(self):
        accepted = []
        with tempfile.TemporaryDirectory() as folder:
            for number in range(3 * len(SIBLINGS)):
                case = Case(folder, number)
                (case.network, case.settings, case.options), (network, settings, options) = SIBLINGS[number % len(SIBLINGS)]
                case.model = case.model_file(folder, case.network, case.settings)
                case.renamed = False
                case.write_profile()
                result = case.compare(case.model_file(folder, network, settings), options)
                if result.returncode != 2:
                    accepted.append("%s as %s %s: %s" % (case, network, settings, result.stderr))
        self.assertEqual(accepted, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
