"""dlcost's functions: each is a command of the program, with its options as keywords."""

import os
from collections.abc import Mapping

from . import _core
from ._errors import integer, number
from ._models import load
from ._results import Comparison, Device, Difference, Report, Sweep, Verdict, find


def _list(value):
    if value is None:
        return []
    return [os.fspath(value)] if isinstance(value, (str, os.PathLike)) else [os.fspath(item) for item in value]


def _mapping(what, value, example):
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _core.Error(f"{what} {value!r} is no dictionary, such as {example}")
    return value


def _integers(what, value, example):
    return {name: [integer(f"{what}: {name}", item) for item in items]
            for name, items in _mapping(what, value, example).items()}


def _bindings(batch=None, dims=None, shapes=None, values=None, at=(), trips=(), branches=(), ops=(), assume=None):
    bindings = _core.Bindings()
    bindings.largest_batch = isinstance(batch, str) and batch == "max"
    bindings.batch = None if batch is None or bindings.largest_batch else integer("batch", batch)
    bindings.dims = {name: integer(f"dims: {name}", size)
                     for name, size in _mapping("dims", dims, "{'sequence': 128}").items()}
    bindings.shapes = _integers("shapes", shapes, "{'x': (1, 3, 224, 224)}")
    bindings.values = _integers("values", values, "{'sizes': [1, 3, 448, 448]}")
    bindings.at, bindings.trips, bindings.branches = _list(at), [str(t) for t in _some(trips)], _list(branches)
    bindings.custom_operators = _list(ops)
    if assume not in (None, "typical"):
        raise _core.Error(f"assume '{assume}': only 'typical' can be assumed")
    bindings.assume_typical = assume is not None
    return bindings


def _some(value):
    return [value] if isinstance(value, (str, int)) else list(value)


def _options(convention="dlcost", runtime="", fusion="", attention="", conv="auto", math="", cache="cold", launch="",
             update="", dtype="", depth=2, train="", loss="auto", freeze=(), recompute="none", precision="",
             accumulate=1, clip_norm=None, sparse_embeddings=False, fit=False):
    names = {"convention": convention, "runtime": runtime, "fusion": fusion, "attention": attention, "convolution": conv,
             "math": math, "cache": cache, "launch": launch, "update": update, "dtype": dtype, "optimizer": train, "loss": loss,
             "recompute": recompute, "precision": precision}
    options = _core.Options()
    for name, value in names.items():
        if not isinstance(value, (str, os.PathLike)):
            raise _core.Error(f"{name} {value!r} is no name")
        setattr(options, name, os.fspath(value))
    options.scope_depth, options.frozen = integer("depth", depth), _list(freeze)
    options.micro_batches, options.clip_norm = integer("accumulate", accumulate), number("clip_norm", clip_norm)
    options.sparse_embeddings, options.fit = bool(sparse_embeddings), bool(fit)
    return options


_BINDINGS = {"batch", "dims", "shapes", "values", "at", "trips", "branches", "ops", "assume"}
_OPTIONS = {"convention", "runtime", "fusion", "attention", "conv", "math", "cache", "launch", "update", "dtype", "depth", "train",
            "loss", "freeze", "recompute", "precision", "accumulate", "clip_norm", "sparse_embeddings", "fit"}


def _split(keywords):
    """Bindings and options of keywords; TypeError with the nearest spelling for one that is neither."""
    for name in keywords:
        if name not in _BINDINGS | _OPTIONS:
            import difflib
            near = difflib.get_close_matches(name, _BINDINGS | _OPTIONS | {"gpu", "changes"}, 1)
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
    return _core.find_device(_name_of(gpu), _list(changes))


def _name_of(gpu):
    if isinstance(gpu, (list, tuple)):
        raise _core.Error("gpu is one device here; dlcost.sweep takes several")
    if not isinstance(gpu, (str, os.PathLike)):
        raise _core.Error(f"gpu {gpu!r} is no device: give an id, an alias, a YAML file or a dlcost.Device")
    return os.fspath(gpu)


def report(model, gpu=None, *, changes=(), **keywords):
    """What a model costs: counts, and with a device bounds and expected times.

    gpu: id, alias, YAML file or Device; changes: what-if values of it, as "memory.bandwidth=8TB/s".
    batch, dims={"sequence": 128}, shapes={"x": (1, 3, 224, 224)}, values, at, trips, branches, ops, assume="typical": what
    the file leaves open (docs/dimensions.md). runtime="tensorrt", dtype, precision, math, cache, launch, update, convention, fusion,
    attention, conv, depth: how it is run and counted. train="adamw", loss, freeze, recompute, accumulate, clip_norm,
    sparse_embeddings: a training step instead. batch="max" and fit=True look for what the device's memory suffices for.
    """
    bindings, options = _split(keywords)
    return Report(_core.count(load(model), _device(gpu, changes), bindings, options))


def read_report(path):
    """A report that was written as JSON, to compare with."""
    return Report(_core.Report.read(os.fspath(path)))


def _report(what, gpu, keywords):
    if isinstance(what, Report):
        return what
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
    measurements.format, measurements.force = measured_format, force
    measurements.runs = None if runs is None else integer("runs", runs)
    made = model if isinstance(model, Report) else report(model, gpu, changes=changes, **keywords)
    return Comparison(_core.compare(made._made, measurements))


def sweep(model, *, batch=None, dims=None, gpu=None, dtypes=(), bounds=False, **keywords):
    """A model over sizes: `batch` and each of `dims` is a size or several; `gpu` one device or several."""
    request = _core.SweepRequest()
    axes, fixed = [], {}
    for name, sizes in [("batch", batch), *_mapping("dims", dims, "{'sequence': [128, 512]}").items()]:
        of_batch = name == "batch" and sizes is batch
        if sizes is None:
            continue
        one = isinstance(sizes, str) or not hasattr(sizes, "__iter__")
        if one and not of_batch:
            fixed[name] = sizes
            continue
        axis = _core.Axis()
        axis.name, axis.batch = name, of_batch
        axis.sizes = [integer(name, size) for size in ([sizes] if one else sizes)]
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
    return find(_name_of(name), _list(changes))


def devices():
    """All devices of the database, ordered by id."""
    return [Device(made, (made.id, [])) for made in _core.devices()]
