"""Runs the commands that README.md and docs/ show with their output, and compares.

An indented block whose first line is "$ scripts/dlcost ..." (or dlcost, accuracy in any folder) shows a command and what it
prints, up to the next "$" or the end of the block; a line "..." in it stands for any lines. They run in a folder that looks like the
source tree: a command may read what one before it has written. Run by ctest with the source tree and the programs; commands of a program that was not built are left out, visibly.
"""

import contextlib
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

UPDATE = "--update" in sys.argv
SOURCE, *PATHS = [word for word in sys.argv[1:] if word != "--update"]
PROGRAMS = {os.path.basename(path): path for path in PATHS}


def blocks(lines):
    """Yields (first, last) line numbers of indented blocks; blank lines inside belong to them."""
    start = None
    for i, line in enumerate(lines + ["end"]):
        if line.startswith("    "):
            start = i if start is None else start
        elif line.strip() and start is not None:
            last = i
            while not lines[last - 1].strip():
                last -= 1
            yield start, last
            start = None


def shown_commands(path):
    """Yields (line number of the command, command, output lines, number of the line behind)."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for first, last in blocks(lines):
        if not re.match(r"    \$ (\S*/)?(dlcost|accuracy) ", lines[first]):
            continue
        at = first
        while at < last:
            end = at + 1
            while end < last and not lines[end].startswith("    $ "):
                end += 1
            yield at, lines[at][6:], [line[4:] for line in lines[at + 1 : end]], end
            at = end


def program_of(command):
    """The path of the program; None where it was not built."""
    return PROGRAMS.get(os.path.basename(command.split()[0]))


@contextlib.contextmanager
def like_the_source():
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(SOURCE):
            os.symlink(os.path.join(os.path.abspath(SOURCE), name), os.path.join(folder, name))
        yield folder


def run(command, folder):
    words = shlex.split(command)
    result = subprocess.run(
        [os.path.abspath(program_of(command)), *words[1:]], capture_output=True, cwd=folder, timeout=60, check=False
    )
    text = (result.stdout + result.stderr).decode().rstrip("\n")
    return text.split("\n") if text else []


def matches(shown, printed):
    pattern = "\n".join("(.*\n)*?.*" if line == "..." else re.escape(line) for line in shown)
    return re.fullmatch(pattern, "\n".join(printed)) is not None


class DocumentedCommands(unittest.TestCase):
    def test_print_what_the_documents_say(self):
        documents = [os.path.join(SOURCE, "README.md")]
        documents += sorted(glob.glob(os.path.join(SOURCE, "docs", "*.md")))
        seen = 0
        folder = self.enterContext(like_the_source())
        for path in documents:
            for line, command, shown, _ in shown_commands(path):
                seen += 1
                with self.subTest(document=os.path.relpath(path, SOURCE), line=line + 1):
                    if program_of(command) is None:
                        self.skipTest("not built: " + command)
                    printed = run(command, folder)
                    while shown and not shown[-1].strip():
                        shown.pop()
                    self.assertTrue(
                        matches([text.rstrip() for text in shown], printed),
                        command + "\n" + "\n".join(printed),
                    )
        self.assertGreater(seen, 0)


def update():
    """Rewrites the outputs in place, leaving those with "..." alone."""
    for path in [os.path.join(SOURCE, "README.md"), *glob.glob(os.path.join(SOURCE, "docs", "*.md"))]:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        with like_the_source() as folder:
            printed = [
                (line, end, shown, run(command, folder))
                for line, command, shown, end in shown_commands(path)
                if program_of(command) is not None
            ]
        for line, end, shown, texts in reversed(printed):
            if "..." not in shown:
                lines[line + 1 : end] = [("    " + text).rstrip() for text in texts]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))


if __name__ == "__main__":
    if UPDATE:
        update()
    else:
        unittest.main(argv=sys.argv[:1], verbosity=1)
