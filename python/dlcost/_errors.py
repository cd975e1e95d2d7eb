"""Errors as Python says them: C++ names the options of the command line."""

import re

from ._core import Error

# Options whose keywords are called otherwise.
_KEYWORDS = {"set": "changes", "dim": "dims", "shape": "shapes", "value": "values", "branch": "branches", "op": "ops",
             "dtypes": "dtype", "algo": "conv"}
_DIM = re.compile(r"(?<![\w./-])--dim ([A-Za-z_]\w*)=(\d+)")
_NUMBER = re.compile(r"(?<![\w./-])--(batch|depth|runs) (\d+)")
_OPTION = re.compile(r"(?<![\w./-])--([a-z][a-z-]*)")


def in_python(text):
    """'bind them: --dim sequence=128' to 'bind them: dims={'sequence': 128}'."""
    text = _NUMBER.sub(r"\1=\2", _DIM.sub(r"dims={'\1': \2}", text))
    return _OPTION.sub(lambda option: _KEYWORDS.get(option[1], option[1].replace("-", "_")), text)


Error.__str__ = lambda self: in_python(ValueError.__str__(self))
