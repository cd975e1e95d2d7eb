"""What else can be asked: formulas, explanations, jobs on many devices, profiles, pages. Each is a command of the program."""

from . import _core
from ._calls import _device, _list, _mapping, _name_of, _split, _system
from ._errors import integer, number
from ._models import load
from ._results import Collectives, Explanation, Formula, InputBounds, Measured, ParallelPlans, Report, Scaling, System, find_system


def formula(model, *, tied=None, around=None, **keywords):
    """Counts, bytes and memory as exact functions of the sizes that the model leaves open.

    tied={"target": "source", "total": "past + sequence"}: sizes that follow others. around={"past": 1024}: where structure
    depends on a size, the formula that holds around this one. What batch and dims bind is no variable.
    """
    request = _core.FormulaRequest()
    request.bindings, request.options = _split(keywords)
    request.tied = {name: str(text) for name, text in _mapping("tied", tied, "{'target': 'source'}").items()}
    request.around = {name: integer(f"around: {name}", size)
                      for name, size in _mapping("around", around, "{'past': 1024}").items()}
    return Formula(_core.formula(load(model), request))


def explain(model, gpu, node="", *, changes=(), **keywords):
    """The expected time of one kernel, step by step: of the one that runs `node`, else of the longest."""
    bindings, options = _split(keywords)
    device = _device(gpu, changes)
    if device is None:
        raise _core.Error("explain needs a device: gpu='a100'")
    return Explanation(_core.explain(load(model), device, str(node), bindings, options))


def _integers(what, value):
    """Those of one or several."""
    several = hasattr(value, "__iter__") and not isinstance(value, str)
    return [integer(what, one) for one in (value if several else [value])]


def parallel(model, system, plan="auto", *, micro_batch=1, global_batch=0, schedule="1f1b", devices=0, spread=None, expert_load=1.0,
             overlap="", bucket_bytes=None, overlaps_gradients=True, gradients="", sums="", fuses_sums=False, gpu=None, changes=(),
             **keywords):
    """A model laid out on the devices of a system: a training step with train="adamw", else the forward pass.

    plan: "dp=4,tp=2,pp=2,zero=1"; "auto": all plans of `devices` (a node's), the best first; "annotated": as the file says.
    spread: standard deviation of the devices' speeds, as a share. expert_load: tokens of the busiest device's experts over the mean.
    overlap: exchanges that run beside computation, of "tp,cp,ep,dp". bucket_bytes, overlaps_gradients, gradients: how replicas send
    gradients (together so many, beside the backward pass, in another type), where there is no pipeline. sums, fuses_sums: the type that
    gradients of micro-batches add up in, and whether products add up themselves.
    """
    request = _core.ParallelRequest()
    request.bindings, request.options = _split(keywords)
    request.device = _device(gpu, changes)
    request.plan, request.schedule = plan, schedule
    request.micro_batch, request.global_batch = integer("micro_batch", micro_batch), integer("global_batch", global_batch)
    request.devices, request.spread = integer("devices", devices), number("spread", spread)
    request.expert_load, request.overlap = number("expert_load", expert_load), overlap
    request.bucket_bytes = None if bucket_bytes is None else integer("bucket_bytes", bucket_bytes)
    request.overlaps_gradients, request.gradients = bool(overlaps_gradients), gradients
    request.sums, request.fuses_sums = sums, bool(fuses_sums)
    return ParallelPlans(_core.parallel(load(model), _system(system), request))


_INPUT = ("item_bytes", "stored_bytes", "storage_bytes_per_s", "host_link_bytes_per_s", "decode_items_per_s",
          "augment_items_per_s", "cores", "prefetch")


def _input(given):
    pipeline = _core.InputPipeline()
    for name, value in _mapping("input", given, "{'item_bytes': 150528}").items():
        if name not in _INPUT:
            raise _core.Error(f"input: '{name}' is not one of {', '.join(_INPUT)}")
        whole = name in ("cores", "prefetch")
        setattr(pipeline, name, (integer if whole else number)(f"input: {name}", value))
    return pipeline


def scale(model, system, devices, *, train, strong=False, zero=0, bucket_bytes=None, overlap=True, gradients="", spread=None,
          input=None, samples=None, price_per_hour=None, gpu=None, changes=(), **keywords):  # noqa: A002
    """A training on several numbers of devices: step time, efficiency, memory, price.

    batch is that of one device; with `strong` that of all together. input={"item_bytes": 150528, "storage_bytes_per_s": 2e9,
    "decode_items_per_s": 250}: how items come to the devices. samples: to train on in all.
    """
    request = _core.ScaleRequest()
    request.devices = _integers("devices", devices)
    request.bindings, request.options = _split({**keywords, "train": train})
    request.device = _device(gpu, changes)
    request.strong, request.overlap, request.zero = bool(strong), bool(overlap), integer("zero", zero)
    request.bucket_bytes = None if bucket_bytes is None else integer("bucket_bytes", bucket_bytes)
    request.gradients, request.spread, request.input = gradients, number("spread", spread), _input(input)
    request.samples, request.price_per_hour = number("samples", samples), number("price_per_hour", price_per_hour)
    return Scaling(_core.scale(load(model), _system(system), request))


def input(item_bytes, *, system=None, devices=1, stored_bytes=None, storage_bytes_per_s=None, host_link_bytes_per_s=None,  # noqa: A001
          decode_items_per_s=None, augment_items_per_s=None, cores=0, compute_items_per_s=None, compute_flops_per_s=None,
          flops_per_item=None):
    """Which stage bounds a training on a node: storage, decoding, copies or the devices.

    item_bytes: of an item on the device. Rates of decoding and augmenting are those of one core; what one device computes is
    compute_items_per_s, or compute_flops_per_s with flops_per_item. What is not given is the system's.
    """
    request = _core.InputRequest()
    given = {"item_bytes": item_bytes, "stored_bytes": stored_bytes, "storage_bytes_per_s": storage_bytes_per_s,
             "host_link_bytes_per_s": host_link_bytes_per_s, "decode_items_per_s": decode_items_per_s,
             "augment_items_per_s": augment_items_per_s, "cores": cores}
    request.input = _input(given)
    request.system = None if system is None else _system(system)
    request.devices = integer("devices", devices)
    request.compute_items_per_s = number("compute_items_per_s", compute_items_per_s)
    request.compute_flops_per_s = number("compute_flops_per_s", compute_flops_per_s)
    request.flops_per_item = number("flops_per_item", flops_per_item)
    return InputBounds(_core.input(request))


def collective(op="all_reduce", system=None, *, bandwidth_bytes_per_s=None, devices=(), bytes=100_000_000, stride=1,  # noqa: A002
               algorithm="", protocol=""):
    """How long devices of a system take to exchange data; `devices` and `bytes` (of the buffer): one or several."""
    request = _core.CollectiveRequest()
    request.op, request.algorithm, request.protocol = op, algorithm, protocol
    request.system = None if system is None else _system(system)
    request.bandwidth_bytes_per_s = number("bandwidth_bytes_per_s", bandwidth_bytes_per_s)
    request.devices, request.bytes = _integers("devices", devices), _integers("bytes", bytes)
    request.stride = integer("stride", stride)
    return Collectives(_core.collective(request))


def measured(files, *, counters=(), gpu=None, changes=(), read_as="", dtype=""):
    """What profilers' files alone tell, without a model: rates, roofline, idle time, sums (docs/measuring.md).

    counters: of the same launches, taken in another run; `files` are levels of one run, then. dtype: of FLOPs whose type the
    files do not tell.
    """
    request = _core.MeasuredRequest()
    request.files, request.counters, request.format, request.dtype = _list(files), _list(counters), read_as, dtype
    request.device = _device(gpu, changes)
    return Measured(_core.measured(request))


def page(reports, *, title=""):
    """One page of several reports: models, releases or devices side by side."""
    made = list(reports)
    for report in made:
        if not isinstance(report, Report):
            raise _core.Error(f"{type(report).__name__} is no report: dlcost.report makes one")
    return _core.page([report._made for report in made], title)


def system(name):
    """Many devices and what joins them: an id, an alias (case ignored), or a YAML file."""
    return find_system(_name_of(name))


def systems():
    """All systems of the database, ordered by id."""
    return [System(made, made.id) for made in _core.systems()]
