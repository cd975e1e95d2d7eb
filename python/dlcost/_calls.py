"""dlcost's functions: each is a command of the program, with its options as keywords."""

import os
from collections.abc import Mapping

from . import _core
from ._errors import integer, number
from ._models import load
from ._results import Comparison, Device, Difference, Ranking, Report, Sweep, System, Verdict, find


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


def _options(convention="dlcost", runtime="", fusion="", attention="", conv="auto", math="", cache="passed", launch="",
             layout="", update_form="", dtype="", depth=2, train="", loss="auto", freeze=(), recompute="none", precision="",
             accumulate=1, clip_norm=None, sparse_embeddings=False, fit=False):
    names = {"convention": convention, "runtime": runtime, "fusion": fusion, "attention": attention, "convolution": conv,
             "math": math, "cache": cache, "launch": launch, "layout": layout, "update_form": update_form, "dtype": dtype, "optimizer": train, "loss": loss,
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
_OPTIONS = {"convention", "runtime", "fusion", "attention", "conv", "math", "cache", "launch", "layout", "update_form", "dtype", "depth", "train",
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


def _devices(gpu, changes=()):
    """Devices of one or several, each once for every value that changes name."""
    if isinstance(gpu, (list, tuple)):
        return [made for one in gpu for made in _devices(one, changes)]
    if isinstance(gpu, Device):
        return [_device(gpu, changes)]
    return _core.find_devices(_name_of(gpu), _list(changes))


def _name_of(gpu):
    if isinstance(gpu, (list, tuple)):
        raise _core.Error("gpu is one device here; dlcost.rank and dlcost.sweep take several")
    if not isinstance(gpu, (str, os.PathLike)):
        raise _core.Error(f"gpu {gpu!r} is no device: give an id, an alias, a YAML file or a dlcost.Device")
    return os.fspath(gpu)


def report(model, gpu=None, *, changes=(), **keywords):
    """What a model costs: counts, and with a device bounds and expected times.

    gpu: id, alias, YAML file or Device; changes: what-if values of it, as "memory.bandwidth=8TB/s".
    batch, dims={"sequence": 128}, shapes={"x": (1, 3, 224, 224)}, values, at, trips, branches, ops, assume="typical": what
    the file leaves open (docs/dimensions.md). runtime="tensorrt", dtype, precision, math, cache, launch, layout, update_form, convention, fusion,
    attention, conv, depth: how it is run and counted. train="adamw", loss, freeze, recompute, accumulate, clip_norm,
    sparse_embeddings: a training step instead. batch="max" and fit=True look for what the device's memory suffices for.
    """
    bindings, options = _split(keywords)
    return Report(_core.count(load(model), _device(gpu, changes), bindings, options))


def rank(model, gpu="all", *, changes=(), top=0, **keywords):
    """A model on several devices side by side; on all of the database the fastest first, `top` of them (0: all)."""
    bindings, options = _split(keywords)
    every = isinstance(gpu, str) and gpu == "all"
    return Ranking(_core.rank(load(model), _devices(gpu, changes), bindings, options, every, integer("top", top)))


def read_report(path):
    """A report that was written as JSON, to compare with."""
    return Report(_core.Report.read(os.fspath(path)))


def diff(before, after=None, *, gpu=None, changes=(), after_options=None, **keywords):
    """What changed between two models or reports; `after_options`: keywords that differ for the second one.

    Where one side is a report, what is not given for the other is as there: device, sizes, conventions, training. A dimension
    may be one that only one of two models has.
    """
    if after is None:
        if after_options is None:
            raise _core.Error("diff needs a second model or report, or after_options")
        after = before
    first = {**keywords, "gpu": gpu, "changes": changes}
    return Difference(_core.diff_as(_side(before, **first), _side(after, **{**first, **(after_options or {})}), not after_options))


def _side(what, gpu=None, changes=(), **keywords):
    side = _core.DiffSide()
    side.device = _device(gpu, changes)
    if isinstance(what, Report):
        side.report = what._made
        return side
    side.bindings, side.options = _split(keywords)
    if isinstance(what, (str, os.PathLike)):
        side.path = os.fspath(what)
    else:
        side.model = load(what)
    return side


def check(model, baseline=None, *, max=(), fits_on=(), forbid_new_operators=False, strict=False, exact=False,  # noqa: A002
          budget=None, system=None, plan="", micro_batch=1, global_batch=0, gpu=None, changes=(), batch=None, dims=None, **keywords):
    """Whether a model or report keeps its limits; without any, nothing may cost more than the baseline.

    batch and each of dims: a size or several, as for `sweep`: every limit holds at each combination. baseline: a model or a
    report; several for a budget file (`budget`, docs/ci.md) with as many sets of conditions. system, plan="dp=8", micro_batch,
    global_batch: a job on many devices, for limits of step_s, exposed_s and sent_bytes.
    """
    request = _core.CheckRequest()
    limits = _core.Limits()
    limits.max, limits.fits_on = _list(max), _list(fits_on)
    limits.forbid_new_operators, limits.strict, limits.exact = bool(forbid_new_operators), bool(strict), bool(exact)
    request.limits, request.device, request.plan = limits, _device(gpu, changes), plan
    request.budget_file = "" if budget is None else os.fspath(budget)
    request.system = None if system is None else _system(system)
    request.micro_batch, request.global_batch = integer("micro_batch", micro_batch), integer("global_batch", global_batch)
    several = baseline if isinstance(baseline, (list, tuple)) else [] if baseline is None else [baseline]
    request.baselines = [_baseline(one) for one in several]
    request.sizes, fixed = _one_batch(*_axes(batch, dims))
    if _is_report(model):
        if keywords or fixed:
            raise _core.Error(f"{next(iter({**keywords, 'dims': fixed}))} changes nothing of a finished report; give the model")
        made = model if isinstance(model, Report) else read_report(model)
        return Verdict(_core.check_report(made._made, request))
    request.bindings, request.options = _split({"dims": fixed, **keywords})
    return Verdict(_core.check_model(load(model), request))


def _baseline(what):
    baseline = _core.Baseline()
    if isinstance(what, Report):
        baseline.report = what._made
    elif isinstance(what, (str, os.PathLike)):
        baseline.path = os.fspath(what)
    else:
        baseline.model = load(what)
    return baseline


def _axes(batch, dims):
    """Axes of what names several sizes, and the batch and the dimensions of which there is one."""
    axes, fixed_batch, fixed = [], None, {}
    given = [("batch", batch, True), *((*one, False) for one in _mapping("dims", dims, "{'sequence': [128, 512]}").items())]
    for name, sizes, of_batch in given:
        if sizes is None or (of_batch and sizes == "max"):
            fixed_batch = sizes if of_batch else fixed_batch
        elif isinstance(sizes, str) and any(mark in sizes for mark in ":,@"):
            axes.append(_axis(name, of_batch, list=sizes))
        elif isinstance(sizes, Mapping):
            axes.append(_axis(name, of_batch, sizes=[integer(name, size) for size in sizes],
                              weights=[number(name, weight) for weight in sizes.values()]))
        elif not isinstance(sizes, str) and hasattr(sizes, "__iter__"):
            axes.append(_axis(name, of_batch, sizes=[integer(name, size) for size in sizes]))
        elif of_batch:
            fixed_batch = integer(name, sizes)
        else:
            fixed[name] = sizes
    return axes, fixed_batch, fixed


def _one_batch(axes, batch, dims):
    """The same with an axis of one size for one batch."""
    if batch == "max":
        raise _core.Error("batch max is for dlcost.report and explain alone")
    return axes if batch is None else [_axis("batch", True, sizes=[batch]), *axes], dims


def _axis(name, of_batch, **fields):
    axis = _core.Axis()
    axis.name, axis.batch = name, of_batch
    for field, value in fields.items():
        setattr(axis, field, value)
    return axis


def _is_report(what):
    if not isinstance(what, (str, os.PathLike)):
        return isinstance(what, Report)
    return os.fspath(what).endswith(".json") and _core.Report.is_report_file(os.fspath(what))


def compare(model, measured=(), *, traces=(), measured_format="", runs=None, force=False, gpu=None, changes=(), **keywords):
    """Predicted against measured, from files of profilers (docs/measuring.md)."""
    measurements = _core.Measurements()
    measurements.measured, measurements.traces = _list(measured), _list(traces)
    measurements.format, measurements.force = measured_format, force
    measurements.runs = None if runs is None else integer("runs", runs)
    made = model if isinstance(model, Report) else report(model, gpu, changes=changes, **keywords)
    return Comparison(_core.compare(made._made, measurements))


def sweep(model, *, batch=None, dims=None, gpu=None, changes=(), dtypes=(), runtimes=(), precisions=(), trains=(), bounds=False,
          buckets=(), conditions=(), rank="", price_per_hour=None, **keywords):
    """A model over sizes, ways of running it, and devices.

    batch and each of dims: a size, several, a range as "1:1024:x2", observed sizes as "@lengths.csv" or {128: 30, 512: 4} (how
    often each); buckets: sizes that observed ones are padded up to. gpu: one device, several, or "all"; changes may name several
    values, "memory.bandwidth=1TB/s:8TB/s:x2". conditions=["latency<=10ms"]: what the best points have to meet; rank: best by
    price, latency, throughput or energy; price_per_hour: of every device, or {"a100": 1.6, "h100": 2.5}.
    """
    request = _core.SweepRequest()
    request.axes, fixed = _one_batch(*_axes(batch, dims))
    request.devices = [] if gpu is None else _devices(gpu, changes)
    request.served_alone = isinstance(gpu, str) and gpu == "all"
    if gpu is None and _list(changes):
        raise _core.Error("changes need a device: give gpu")
    request.dtypes, request.runtimes = _list(dtypes), _list(runtimes)
    request.precisions, request.optimizers = _list(precisions), _list(trains)
    request.bindings, request.options = _split({"dims": fixed, **keywords})
    request.bounds_only = bool(bounds)
    request.buckets = [integer("buckets", size) for size in ([buckets] if isinstance(buckets, int) else buckets)]
    request.conditions, request.rank = _list(conditions), rank
    prices = price_per_hour if isinstance(price_per_hour, Mapping) else {} if price_per_hour is None else {"": price_per_hour}
    request.price_per_hour = {device: number("price_per_hour", price) for device, price in prices.items()}
    return Sweep(_core.sweep(load(model), request))


def _system(system):
    return system._made if isinstance(system, System) else _core.find_system(_name_of(system))


def train(model, optimizer="sgd", *, loss="auto", freeze=(), **keywords):
    """A training step as the bytes of an ONNX file; report(..., train="adamw") tells what one costs."""
    bindings, options = _split({**keywords, "train": optimizer, "loss": loss, "freeze": freeze})
    return _core.train(load(model), bindings, options)


def device(name, *, changes=()):
    """One device: an id, an alias (case ignored), or a YAML file."""
    return find(_name_of(name), _list(changes))


def devices(*, vendor="", kind="", year="", sort="id"):
    """The devices of the database. kind: gpu, cpu, tpu or npu; year: "2022", "2020-2023", "2020-" or "-2018"; sort: id, year,
    memory, bandwidth, power or a type ("fp16": the fastest first).
    """
    return [Device(made, (made.id, [])) for made in _core.devices(vendor, kind, str(year), sort)]
