"""`dlcost check` of every model that a commit changes: dlcost-check [OPTIONS] MODEL.onnx..."""

import sys

from . import _core


def main():
    words = sys.argv[1:]
    at = _first_model(words)
    options, models = words[:at], words[at:]
    sys.exit(max((_core.main(["dlcost", "check", model, *options], {}) for model in models), default=0))


def _first_model(words):
    """Where the models begin: pre-commit appends them to the hook's own arguments."""
    at = len(words)
    while at > 0 and words[at - 1].endswith(".onnx") and (at == 1 or words[at - 2] not in ("--baseline", "--budget")):
        at -= 1
    return at


if __name__ == "__main__":
    main()
