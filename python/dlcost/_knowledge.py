"""What dlcost knows, and what is fitted to measurements: runtimes, operators, networks, fits. Each is a command of the program."""

import json as _json
import os

from . import _core
from ._calls import _list
from ._errors import integer, number
from ._records import Record, Rows
from ._results import FittedRuns


class Runtime(Record):
    """What runs models, and what it decides (docs/timing.md)."""

    __slots__ = ()

    def text(self):
        """As in a terminal: each of its choices, what it means here, and the document that says so."""
        return _core.runtime_text(self.id)

    def __str__(self):
        return self.text()

    def __repr__(self):
        return f"<dlcost.Runtime: {self.id}>"


def _runtimes(name=""):
    return Rows(Runtime(one) for one in _json.loads(_core.runtimes_json(name))["runtimes"])


def runtime(name):
    """One runtime: an id, an alias (case ignored), or a YAML file."""
    return _runtimes(os.fspath(name))[0]


def runtimes():
    """All runtimes of the database, ordered by id."""
    return _runtimes()


def _record(made, *names):
    return Record({name: getattr(made, name) for name in names})


def operators(domain=""):
    """The operators that are counted: versions, the formula of their work, and what a training step knows of their derivative."""
    return Rows(_record(made, "name", "domain", "versions", "removed_in", "formula", "derivative") for made in _core.operators(domain))


def operator(name):
    """One operator ("Conv", "com.microsoft:Attention") as text: formula and worked examples."""
    return _core.operator_text(name)


def networks():
    """The reference networks (docs/networks.md), with their settings."""
    rows = Rows()
    for made in _core.networks():
        settings = [_record(setting, "name", "standard", "description").to_dict() for setting in made.settings]
        rows.append(Record({"name": made.name, "description": made.description, "settings": settings}))
    return rows


def network(name, **settings):
    """The bytes of an ONNX file: network("gpt2", phase="decode", layers=24), or what a config.json describes, by its path."""
    return _core.network(os.fspath(name), {setting: str(value) for setting, value in settings.items()})


def fit(path, x, y, *, terms=(1, 0), expect=None):
    """Slope and baseline of measured runs, against theory.

    path: a table with a header and a row per run; x ("hidden^2" for a square) and y: columns. terms: powers of x, 0 the
    baseline, -1 for 1/x. expect: what theory says of the first term, or {1: 16777216} by power.
    """
    request = _core.FitRequest()
    request.path, request.x, request.y = os.fspath(path), x, y
    request.terms = [integer("terms", term) for term in terms]
    theory = expect if isinstance(expect, dict) else {} if expect is None else {next(iter(request.terms), 0): expect}
    request.expected = {integer("expect", power): number("expect", value) for power, value in theory.items()}
    return FittedRuns(_core.fit(request))


def calibrate(gpu, measured, *, sources=(), keep=(), changes=(), common=False, fit_share=0.4, sample=0, iterations=None, prior=None):
    """The time model's constants of a device, or of several of one architecture, fitted to tables of measured latencies.

    The record has `constants`, the errors `before`, `held_out` and `fitted` (shares of the measured time), and `yaml`, a
    `timing:` section for the device's file.
    """
    request = _core.CalibrationRequest()
    request.devices, request.tables, request.sources = _list(gpu), _list(measured), _list(sources)
    request.fixed, request.changes, request.common = _list(keep), _list(changes), bool(common)
    request.fit_share, request.sample = number("fit_share", fit_share), integer("sample", sample)
    request.iterations = None if iterations is None else integer("iterations", iterations)
    request.prior = number("prior", prior)
    made = _core.calibrate(request)
    score = ("rows", "mean", "median", "bias")
    constants = [_record(one, "name", "start", "value", "relative_error", "refused").to_dict() for one in made.constants]
    return Record({"devices": made.devices, "constants": constants, "yaml": made.yaml,
                   **{name: _record(getattr(made, name), *score).to_dict() for name in ("before", "held_out", "fitted")}})
