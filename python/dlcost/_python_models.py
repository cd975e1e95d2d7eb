"""Models on the command line that a function of a Python file builds: models.py:build."""

import importlib.util
import os
import re
import sys

from ._core import Error

# As the argument of a command, or behind an option: --baseline=models.py:build.
_BUILT = re.compile(r"(?:--[\w-]+=)?(?P<name>(?P<file>[^=]+\.py):(?P<function>[A-Za-z_]\w*))$")


def built_by(arguments):
    """{"models.py:build": the bytes of its ONNX model} for each argument that names a function of a file that exists.

    The function takes nothing and returns a torch.nn.Module with example inputs, (module, inputs), or a dictionary of
    dlcost.torch.load_module's arguments, or anything else that dlcost.load takes as bytes or a ModelProto.
    """
    models = {}
    for argument in arguments:
        found = _BUILT.match(argument)
        if found and os.path.isfile(found["file"]) and found["name"] not in models:
            models[found["name"]] = _bytes_of(found["name"], _call(found["name"], found["file"], found["function"]))
    return models


def _call(name, file, function):
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(file))[0], file)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        return getattr(module, function)()
    except AttributeError as error:
        if hasattr(module, function):
            raise Error(f"{name}: {type(error).__name__}: {_one_line(error)}") from error
        raise Error(f"{name}: the file has no function '{function}'") from error
    except Exception as error:
        raise Error(f"{name}: {type(error).__name__}: {_one_line(error)}") from error


def _bytes_of(name, built):
    if isinstance(built, bytes):
        return built
    if hasattr(built, "SerializeToString"):
        return built.SerializeToString()
    from . import torch as exporter
    if isinstance(built, tuple) and len(built) == 2:
        built = {"module": built[0], "example_inputs": built[1]}
    if not isinstance(built, dict) or not {"module", "example_inputs"} <= built.keys():
        raise Error(f"{name} returned {type(built).__name__}: return (module, example inputs), or a dictionary with "
                    "'module', 'example_inputs' and further arguments of dlcost.torch.load_module")
    try:
        return exporter.export(**built)
    except Error:
        raise
    except Exception as error:
        raise Error(f"{name}: PyTorch cannot export it: {_one_line(error)}") from error


def _one_line(error):
    return " ".join(str(error).split())[:300]
