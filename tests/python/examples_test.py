"""Runs the examples of a page, in order, as one program: examples_test.py PAGE.md."""

import re
import sys


def main(path):
    with open(path, encoding="utf-8") as page:
        text = page.read()
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.S | re.M))
    assert blocks, f"{path} has no examples"
    names = {"__name__": "examples"}
    for block in blocks:
        line = text[:block.start()].count("\n") + 1
        # Lines keep their numbers of the page, for tracebacks.
        exec(compile("\n" * line + block.group(1), path, "exec"), names)
    print(f"{len(blocks)} examples of {path} ran")


main(sys.argv[1])
