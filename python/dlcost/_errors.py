"""Errors as Python says them: C++ names the options of the command line."""

import numbers
import operator
import re

from ._core import Error

# Options whose keywords are called otherwise.
_KEYWORDS = {"set": "changes", "dim": "dims", "shape": "shapes", "value": "values", "branch": "branches", "op": "ops",
             "dtypes": "dtype", "algo": "conv", "parallel": "plan", "device": "gpu", "no-overlap": "overlap",
             "bucket": "bucket_bytes", "bandwidth": "bandwidth_bytes_per_s", "item": "input: item_bytes",
             "stored": "input: stored_bytes", "decode": "input: decode_items_per_s", "augment": "input: augment_items_per_s",
             "storage": "input: storage_bytes_per_s", "host-link": "input: host_link_bytes_per_s", "prefetch": "input: prefetch",
             "cores": "input: cores", "price": "price_per_hour", "for": "conditions", "work": "flops_per_item", "compute": "compute_flops_per_s"}
_DIM = re.compile(r"(?<![\w./-])--dim ([A-Za-z_]\w*)=(\d+)")
_NUMBER = re.compile(r"(?<![\w./-])--(batch|depth|runs) (\d+)(?![\d:,])")
_OPTION = re.compile(r"(?<![\w./-])--([a-z][a-z-]*)")


def in_python(text):
    """'bind them: --dim sequence=128' to 'bind them: dims={'sequence': 128}'."""
    text = _NUMBER.sub(r"\1=\2", _DIM.sub(r"dims={'\1': \2}", text))
    return _OPTION.sub(lambda option: _KEYWORDS.get(option[1], option[1].replace("-", "_")), text)


Error.__str__ = lambda self: in_python(ValueError.__str__(self))


def integer(what, value):
    try:
        return operator.index(value)
    except TypeError:
        raise Error(f"{what} {value!r} is no whole number") from None


def number(what, value):
    if value is None:
        return None
    if not isinstance(value, numbers.Real):
        raise Error(f"{what} {value!r} is no number")
    return float(value)
