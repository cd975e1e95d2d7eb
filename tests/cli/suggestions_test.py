"""What the program suggests works when it is pasted into bash.

Every model at hand is run without options. Where dimensions are open, the error's command line is pasted behind the same command
and must be accepted; where notes suggest how to bind what only the run knows, these too. Run by ctest with the program and the
source tree as arguments.
"""

import glob
import os
import re
import shlex
import subprocess
import sys
import unittest

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
SHARED = os.path.join(SOURCE, "..", "shared", "models")
MODELS = sorted(
    path
    for folder in ("models/networks", "tests/**", "docs/**")
    for path in glob.glob(os.path.join(SOURCE, folder, "*.onnx"), recursive=True)
)
REAL = sorted(glob.glob(os.path.join(SHARED, "**", "*.onnx"), recursive=True))
# What follows these words, to the end of the line or the clause.
ADVICE = [r"bind them, for example: (--.*)$", r"bind it with (--.*)$", r"such as (--at .*), or estimate with"]


def bash(command):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, check=False)


def advice(text):
    found = [words for line in text.splitlines() for form in ADVICE for words in re.findall(form, line)]
    return [words for words in found if "=N'" not in words]  # the form of an option, where the number is for the reader


class Suggestions(unittest.TestCase):
    def follow(self, path):
        """The number of suggestions met on the way to a report."""
        command = f"{shlex.quote(PROGRAM)} {shlex.quote(path)}"
        result = bash(command)
        followed = 0
        if result.returncode == 2 and "unbound dimensions" in result.stderr:
            found = advice(result.stderr)
            self.assertEqual(len(found), 1, (path, result.stderr))
            command += " " + found[0]
            result = bash(command)
            followed += 1
        self.assertEqual((result.returncode, result.stderr), (0, ""), command)
        for words in advice(result.stdout):
            command += " " + words  # notes count on those above them
            pasted = bash(command)
            self.assertEqual((pasted.returncode, pasted.stderr), (0, ""), command)
            followed += 1
        return followed

    def test_models_of_this_tree(self):
        self.assertTrue(MODELS)
        self.assertGreater(sum(self.follow(path) for path in MODELS), 0)

    @unittest.skipUnless(REAL, "no models beside the source tree")
    def test_models_of_others(self):
        for path in REAL:
            with self.subTest(os.path.basename(path)):
                self.follow(path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
