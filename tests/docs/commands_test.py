"""Runs the commands that README.md and docs/ show with their output, and compares.

An indented block whose first line is "$ scripts/dlcost ..." (or "$ dlcost ...") shows a command and what it prints, up to the
next "$" or the end of the block; a line "..." in it stands for any lines. Run by ctest with the program and the source tree.
"""

import glob
import os
import re
import shlex
import subprocess
import sys
import unittest

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
UPDATE = len(sys.argv) > 3 and sys.argv[3] == "--update"


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
        if not re.match(r"    \$ (scripts/)?dlcost ", lines[first]):
            continue
        at = first
        while at < last:
            end = at + 1
            while end < last and not lines[end].startswith("    $ "):
                end += 1
            yield at, lines[at][6:], [line[4:] for line in lines[at + 1 : end]], end
            at = end


def run(command):
    words = shlex.split(command)
    result = subprocess.run(
        [PROGRAM, *words[1:]], capture_output=True, cwd=SOURCE, timeout=60, check=False
    )
    return (result.stdout + result.stderr).decode().rstrip("\n").split("\n")


def matches(shown, printed):
    pattern = "\n".join("(.*\n)*?.*" if line == "..." else re.escape(line) for line in shown)
    return re.fullmatch(pattern, "\n".join(printed)) is not None


class DocumentedCommands(unittest.TestCase):
    def test_print_what_the_documents_say(self):
        documents = [os.path.join(SOURCE, "README.md")]
        documents += sorted(glob.glob(os.path.join(SOURCE, "docs", "*.md")))
        seen = 0
        for path in documents:
            for line, command, shown, _ in shown_commands(path):
                seen += 1
                printed = run(command)
                with self.subTest(document=os.path.relpath(path, SOURCE), line=line + 1):
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
        for line, command, shown, end in reversed(list(shown_commands(path))):
            if "..." not in shown:
                lines[line + 1 : end] = [("    " + text).rstrip() for text in run(command)]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))


if __name__ == "__main__":
    if UPDATE:
        update()
    else:
        unittest.main(argv=sys.argv[:1], verbosity=1)
