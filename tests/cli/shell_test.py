"""Completion and the manual page, loaded by the shells and by man: shell_test.py PROGRAM SOURCE.

Shells that are not installed are skipped, and said to be.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]


def program(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, check=True, text=True).stdout


def file_of(text):
    file = tempfile.NamedTemporaryFile("w", suffix=".completion")
    file.write(text)
    file.flush()
    return file


class Completion(unittest.TestCase):
    def bash(self, *words):
        """What bash offers for the last word."""
        with file_of(program("completion", "bash")) as script:
            quoted = " ".join(f"'{word}'" for word in words)
            lines = f"source {script.name}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _dlcost; " \
                    "printf '%s\\n' \"${COMPREPLY[@]}\""
            return subprocess.run(["bash", "-c", lines], capture_output=True, check=True, text=True).stdout.split()

    def test_bash(self):
        self.assertEqual(self.bash("dlcost", "swe"), ["sweep"])
        self.assertIn("--gpu", self.bash("dlcost", "model.onnx", "--"))
        self.assertIn("--price", self.bash("dlcost", "sweep", "model.onnx", "--p"))
        self.assertNotIn("--price", self.bash("dlcost", "report", "model.onnx", "--p"))
        self.assertEqual(self.bash("dlcost", "model.onnx", "--gpu", "a100-sxm4-80"), ["a100-sxm4-80gb"])

    def test_every_option_of_help_is_there(self):
        for shell, spell in (("bash", "{}"), ("zsh", "*{}["), ("fish", "-l {}")):
            script = program("completion", shell)
            for option in ("--train", "--after-gpu", "--forbid-new-operators", "--assume"):
                self.assertIn(spell.format(option if shell != "fish" else option[2:]), script, shell)

    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        with file_of(program("completion", "zsh")) as script:
            lines = f"autoload -U compinit; compinit -u -D; source {script.name}; whence -w _dlcost; echo $_comps[dlcost]"
            said = subprocess.run(["zsh", "-f", "-c", lines], capture_output=True, check=True, text=True)
            self.assertEqual((said.stdout.split("\n")[:2], said.stderr), (["_dlcost: function", "_dlcost"], ""))

    def test_zsh_answers_the_first_time(self):
        """A file of $fpath, as packages install it, defines the function and is its first call."""
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "_dlcost"), "w", encoding="utf-8") as file:
                file.write(program("completion", "zsh"))
            lines = f"fpath=({folder} $fpath); autoload -U _dlcost; _describe() {{ print described $1 }}; _files() {{ }}; " \
                    "words=(dlcost swe); CURRENT=2; _dlcost; _dlcost"
            said = subprocess.run(["zsh", "-f", "-c", lines], capture_output=True, check=True, text=True)
            self.assertEqual((said.stdout.split("\n"), said.stderr), (["described command", "described command", ""], ""))

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        with file_of(program("completion", "fish")) as script:
            lines = f"source {script.name}; complete -C 'dlcost sweep m.onnx --pri'; complete -C 'dlcost m.onnx --gpu a100-sxm4-80'"
            said = subprocess.run(["fish", "-N", "-c", lines], capture_output=True, check=True, text=True)
            self.assertIn("--price", said.stdout)
            self.assertIn("a100-sxm4-80gb", said.stdout)
            self.assertEqual(said.stderr, "")

    def test_an_unknown_shell_is_an_error(self):
        said = subprocess.run([PROGRAM, "completion", "bsh"], capture_output=True, check=False, text=True)
        self.assertEqual((said.returncode, said.stdout), (2, ""))
        self.assertIn("did you mean 'bash'?", said.stderr)


class Manual(unittest.TestCase):
    def test_every_command_is_told_of(self):
        page = program("man")
        for command in ("report", "sweep", "completion"):
            self.assertIn(f"\n.SS {command}\n", page)

    def test_man_has_no_warnings(self):
        if not shutil.which("man") or not shutil.which("groff"):
            self.skipTest("no man, or no groff")
        with file_of(program("man")) as page:
            said = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page.name],
                                  capture_output=True, check=True, text=True, env={"MANWIDTH": "80", "PATH": "/usr/bin:/bin"})
            self.assertEqual(said.stderr, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
