"""dlcost's functions: each is a command of the program, with its options as keywords."""

import os

from . import _core
from ._models import load
from ._results import Comparison, Device, Difference, Frozen, Report, Sweep, Verdict


def _list(value):
    if value is None:
        return []
    return [os.fspath(value)] if isinstance(value, (str, os.PathLike)) else [os.fspath(item) for item in value]


def _bindings(batch=None, dims=None, shapes=None, values=None, at=(), trips=(), branches=(), ops=(), assume=None):
    bindings = _core.Bindings()
    bindings.batch = batch
    bindings.dims = dict(dims or {})
    bindings.shapes = {name: list(shape) for name, shape in (shapes or {}).items()}
    bindings.values = {name: list(held) for name, held in (values or {}).items()}
    bindings.at, bindings.trips, bindings.branches = _list(at), [str(t) for t in _some(trips)], _list(branches)
    bindings.custom_operators = _list(ops)
    if assume not in (None, "typical"):
        raise _core.Error(f"assume '{assume}': only 'typical' can be assumed")
    bindings.assume_typical = assume is not None
    return bindings


def _some(value):
    return [value] if isinstance(value, (str, int)) else list(value)


def _options(convention="dlcost", runtime="", fusion="", attention="", conv="auto", math="", cache="cold", launch="",
             dtype="", depth=2, train="", loss="auto", freeze=(), recompute="none", precision=""):
    options = _core.Options()
    options.convention, options.runtime, options.fusion = convention, os.fspath(runtime), fusion
    options.attention, options.convolution = attention, conv
    options.math, options.cache, options.launch, options.dtype = math, cache, launch, dtype
    options.scope_depth, options.optimizer, options.loss, options.frozen = depth, train, loss, _list(freeze)
    options.recompute, options.precision = recompute, precision
    return options


_BINDINGS = {"batch", "dims", "shapes", "values", "at", "trips", "branches", "ops", "assume"}
_OPTIONS = {"convention", "runtime", "fusion", "attention", "conv", "math", "cache", "launch", "dtype", "depth", "train",
            "loss", "freeze", "recompute", "precision"}


def _split(keywords):
    """Bindings and options of keywords; TypeError with the nearest spelling for one that is neither."""
    for name in keywords:
        if name not in _BINDINGS | _OPTIONS:
            import difflib
            near = difflib.get_close_matches(name, _BINDINGS | _OPTIONS, 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"unexpected keyword '{name}'{hint}")
    return (_bindings(**{name: keywords[name] for name in keywords if name in _BINDINGS}),
            _options(**{name: keywords[name] for name in keywords if name in _OPTIONS}))


def _device(gpu, changes=()):
    if gpu is None:
        if _list(changes):
            raise _core.Error("changes need a device: give gpu")
        return None
    if isinstance(gpu, Device):
        if _list(changes):
            raise _core.Error("changes want the device's name, not what dlcost.device() found")
        return gpu._made
    return _core.find_device(os.fspath(gpu), _list(changes))


def report(model, gpu=None, *, changes=(), **keywords):
    """What a model costs: counts, and with a device bounds and expected times.

    gpu: id, alias, YAML file or Device; changes: what-if values of it, as "memory.bandwidth=8TB/s".
    batch, dims={"sequence": 128}, shapes={"x": (1, 3, 224, 224)}, values, at, trips, branches, ops, assume="typical": what
    the file leaves open (docs/dimensions.md). runtime="tensorrt", dtype, precision, math, cache, launch, convention, fusion,
    attention, conv, depth: how it is run and counted. train="adamw", loss, freeze, recompute: a training step instead.
    """
    bindings, options = _split(keywords)
    return Report(_core.count(load(model), _device(gpu, changes), bindings, options))


def read_report(path):
    """A report that was written as JSON, to compare with."""
    return Report(_core.Report.read(os.fspath(path)))


def _report(what, gpu, keywords):
    if isinstance(what, Report):
        return what
    if isinstance(what, Frozen):
        import tempfile
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            file.write(what.to_json())
            file.flush()
            return read_report(file.name)
    if isinstance(what, (str, os.PathLike)) and os.fspath(what).endswith(".json"):
        return read_report(what)
    return report(what, gpu, **keywords)


def diff(before, after=None, *, gpu=None, after_options=None, **keywords):
    """What changed between two models or reports; `after_options`: keywords that differ for the second one."""
    second = {**keywords, "gpu": gpu, **(after_options or {})}
    if after is None:
        if after_options is None:
            raise _core.Error("diff needs a second model or report, or after_options")
        after = before
    a = _report(before, gpu, keywords)
    b = _report(after, second.pop("gpu"), second)
    return Difference(_core.diff(a._made, b._made))


def check(model, baseline=None, *, max=(), fits_on=(), forbid_new_operators=False, strict=False, exact=False,  # noqa: A002
          gpu=None, **keywords):
    """Whether a model or report keeps its limits; without any, nothing may cost more than the baseline."""
    limits = _core.Limits()
    limits.max, limits.fits_on = _list(max), _list(fits_on)
    limits.forbid_new_operators, limits.strict, limits.exact = forbid_new_operators, strict, exact
    made = _report(model, gpu, keywords)
    old = None if baseline is None else _report(baseline, gpu, keywords)
    return Verdict(_core.check(made._made, None if old is None else old._made, limits))


def compare(model, measured=(), *, traces=(), measured_format="", runs=None, force=False, gpu=None, changes=(), **keywords):
    """Predicted against measured, from files of profilers (docs/measuring.md)."""
    measurements = _core.Measurements()
    measurements.measured, measurements.traces = _list(measured), _list(traces)
    measurements.format, measurements.runs, measurements.force = measured_format, runs, force
    made = model if isinstance(model, Report) else report(model, gpu, changes=changes, **keywords)
    return Comparison(_core.compare(made._made, measurements))


def sweep(model, *, batch=None, dims=None, gpu=None, dtypes=(), bounds=False, **keywords):
    """A model over sizes: `batch` and each of `dims` is a size or several; `gpu` one device or several."""
    request = _core.SweepRequest()
    axes, fixed = [], {}
    for name, sizes in [("batch", batch), *(dims or {}).items()]:
        of_batch = name == "batch" and sizes is batch
        if sizes is None:
            continue
        if isinstance(sizes, int) and not of_batch:
            fixed[name] = sizes
            continue
        axis = _core.Axis()
        axis.name, axis.batch = name, of_batch
        axis.sizes = [sizes] if isinstance(sizes, int) else list(sizes)
        axes.append(axis)
    request.axes = axes
    several = gpu if isinstance(gpu, (list, tuple)) else [] if gpu is None else [gpu]
    request.devices = [_device(one) for one in several]
    request.dtypes = _list(dtypes)
    request.bindings, request.options = _split({"dims": fixed, **keywords})
    request.bounds_only = bounds
    return Sweep(_core.sweep(load(model), request))


def train(model, optimizer="sgd", *, loss="auto", freeze=(), **keywords):
    """A training step as the bytes of an ONNX file; report(..., train="adamw") tells what one costs."""
    bindings, options = _split({**keywords, "train": optimizer, "loss": loss, "freeze": freeze})
    return _core.train(load(model), bindings, options)


def device(name, *, changes=()):
    """One device: an id, an alias (case ignored), or a YAML file."""
    return Device(_device(name, changes))


def devices():
    """All devices of the database, ordered by id."""
    return [Device(made) for made in _core.devices()]
