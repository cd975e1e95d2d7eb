"""Runs the notebook of docs/examples/notebook in a real kernel, as a reader would: every cell runs, and the report shows
itself as its page: notebook_test.py [EXECUTED.ipynb], which is written for those who want to look at it."""

import sys

import nbclient
import nbformat

notebook = nbformat.read("docs/examples/notebook/tour.ipynb", as_version=4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
numbers, page, table, curve, difference = shown
assert numbers["text/plain"].startswith("(32713474048, 0.00"), numbers
assert page["text/html"].count("<iframe srcdoc=") == 1, page["text/html"][:200]
assert "Conv" in table["text/html"], table
assert len(eval(curve["text/plain"])) == 5, curve  # noqa: S307
assert "precision" in difference["text/markdown"], difference
if len(sys.argv) > 1:
    nbformat.write(notebook, sys.argv[1])
print(f"{len(shown)} outputs of the notebook")
