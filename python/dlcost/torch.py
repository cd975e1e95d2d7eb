"""PyTorch modules, without a file and without their weights.

The module is traced on the meta device by one of PyTorch's exporters: nothing is computed, and no weight is copied or
even has to exist. Rows of the report are named after the user's modules.
"""

import collections.abc
import contextlib
import copy
import functools
import inspect
import io
import warnings

from ._calls import _device, _split
from ._core import Error, Model, count
from ._models import serialize
from ._results import Report

# TensorProto.DataType by the names of PyTorch's types.
_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
          "float64": 11, "complex64": 14, "complex128": 15, "bfloat16": 16}


def report(module, example_inputs, gpu=None, *, changes=(), opset=None, input_names=(), dynamic_axes=None,
           dynamic_shapes=None, exporter=None, **keywords):
    """What a torch.nn.Module costs: dlcost.report of its export.

    example_inputs: a tensor, a tuple of what forward() takes, or a dictionary of its keywords, as tokenizers make them (a
    dictionary at the end of a tuple is one, too); their values do not matter, and they may be on the meta device. gpu, changes and all other keywords are those of dlcost.report. Axes that `dynamic_axes` names, as
    torch.onnx.export takes them ({"ids": {1: "sequence"}}), stay open: bind them with dims={"sequence": 512}; so do
    those of `dynamic_shapes`, as torch.export takes them ({"ids": {1: torch.export.Dim("sequence")}}).

    exporter: "torchscript", which traces, or "export", which is torch.export (PyTorch 2.5 and later; what
    torch.onnx.export does by itself since 2.9). By default torchscript, and export with `dynamic_shapes` and for what
    cannot be traced without values.
    """
    bindings, options = _split(keywords)
    model = load_module(module, example_inputs, opset=opset, input_names=input_names, dynamic_axes=dynamic_axes,
                        dynamic_shapes=dynamic_shapes, exporter=exporter)
    return Report(count(model, _device(gpu, changes), bindings, options))


def load_module(module, example_inputs, *, opset=None, input_names=(), dynamic_axes=None, dynamic_shapes=None,
                exporter=None):
    """The structure of a module, to be counted many times: dlcost.report takes it as a model."""
    exported = export(module, example_inputs, opset=opset, input_names=input_names, dynamic_axes=dynamic_axes,
                      dynamic_shapes=dynamic_shapes, exporter=exporter)
    return Model.from_bytes(exported, type(module).__name__)


def export(module, example_inputs, *, opset=None, input_names=(), dynamic_axes=None, dynamic_shapes=None, exporter=None):
    """The same as the bytes of an ONNX model whose weights are said to be in a file beside it."""
    import torch
    if not isinstance(module, torch.nn.Module):
        raise Error(f"{type(module).__name__} is no torch.nn.Module")
    if exporter not in (None, "torchscript", "export"):
        raise Error(f"exporter '{exporter}' is not one of torchscript, export")
    inputs = _arguments(example_inputs)
    traces, exports = hasattr(torch.onnx.utils, "_export"), hasattr(torch.onnx, "ONNXProgram")
    only_traced = exporter == "torchscript" or dynamic_axes is not None or not exports
    if exporter == "export" or dynamic_shapes is not None or not traces:
        if dynamic_axes is not None:
            raise Error("dynamic_axes are of the exporter torchscript; dynamic_shapes of export")
        if exporter == "torchscript":
            raise Error("dynamic_shapes are of the exporter export; dynamic_axes of torchscript" if traces else
                        f"PyTorch {torch.__version__} has no TorchScript exporter; exporter='export' is the other")
        if not exports:
            raise Error(f"PyTorch {torch.__version__} has no torch.export to ONNX; exporter='torchscript' is the other")
        return _by_torch_export(torch, module, inputs, opset, input_names, dynamic_shapes)
    # Without values first; with values, which are computed on the CPU, only where nothing else is left.
    asked = {"opset_version": opset, "input_names": list(input_names) or None, "dynamic_axes": dynamic_axes}
    try:
        return _export(torch, module, inputs, "meta", asked)
    except Exception:  # an operator without a meta kernel, or values that the export asks for
        if not only_traced:
            with contextlib.suppress(Exception):
                return _by_torch_export(torch, module, inputs, opset, input_names, None)
        return _export(torch, module, inputs, "cpu", asked)


def _export(torch, module, inputs, device, asked):
    light = _without_values(torch, module, device)
    light.train(module.training)
    positional, keywords = _moved(torch, inputs, device)
    given = _take_tensors_alone(torch, light, positional, keywords)
    out = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad(), _weights_kept_apart(torch), _convolutions_recorded(torch, device), \
            _without_log(torch):
        warnings.simplefilter("ignore")
        # Not torch.onnx.export: that infers shapes, for which it wants values; dlcost infers them itself.
        torch.onnx.utils._export(light, given, out, export_params=False, do_constant_folding=False,
                                 training=torch.onnx.TrainingMode.PRESERVE, onnx_shape_inference=device != "meta", **asked)
    return out.getvalue() + _weights(light)


def _by_torch_export(torch, module, inputs, opset, input_names, dynamic_shapes):
    asked = {"opset_version": opset, "input_names": list(input_names) or None, "dynamic_shapes": dynamic_shapes}
    failed = None
    for device in ("meta", "cpu"):  # on the CPU what asks for values finds zeros, whose weights take no memory
        light = _without_values(torch, module, device)
        light.train(module.training)
        positional, keywords = _moved(torch, inputs, device)
        _return_tensors_alone(torch, light)
        try:
            with warnings.catch_warnings(), torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                # Optimizing looks at values, which are not there.
                program = torch.onnx.export(light, positional, kwargs=keywords or None, dynamo=True, optimize=False,
                                            verbose=False, **asked)
            return serialize(program.model)
        except Exception as error:  # noqa: BLE001  any operator may want values, each in its own way
            failed = failed or error
    raise failed


def _arguments(example_inputs):
    """What forward() is called with: positional arguments, and keywords."""
    if isinstance(example_inputs, collections.abc.Mapping):
        return (), dict(example_inputs)
    inputs = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    return (inputs[:-1], inputs[-1]) if inputs and isinstance(inputs[-1], dict) else (inputs, {})


def _take_tensors_alone(torch, module, positional, keywords):
    """Makes forward() take the tensors among its arguments, all by position, and know the others: tracing wants no more.

    Returns those tensors.
    """
    forward = module.forward
    names = list(inspect.signature(forward).parameters)
    places = [i for i, value in enumerate(positional) if _has_tensors(torch, value)]
    named = [name for name, value in keywords.items() if _has_tensors(torch, value)]

    def forward_of_tensors(*tensors):
        values, known = list(positional), dict(keywords)
        for place, tensor in zip(places, tensors):
            values[place] = tensor
        known.update(zip(named, tensors[len(places):]))
        return _tensors_of(torch, forward(*values, **known))

    called = [*(names[i] if i < len(names) else f"input{i}" for i in places), *named]
    forward_of_tensors.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in called])
    module.forward = forward_of_tensors
    return (*(positional[i] for i in places), *(keywords[name] for name in named))


def _return_tensors_alone(torch, module):
    """The same for what forward() returns; its arguments stay, because dynamic shapes are told by them."""
    forward = module.forward
    module.forward = functools.wraps(forward)(lambda *given, **named: _tensors_of(torch, forward(*given, **named)))


def _tensors_of(torch, result):
    """What a module returns, as it is where an exporter knows it; without caches and other objects else."""
    leaves = list(_leaves(result))
    if all(leaf is None or isinstance(leaf, torch.Tensor) for leaf in leaves):
        return result
    tensors = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
    return tensors[0] if len(tensors) == 1 else tensors


def _has_tensors(torch, value):
    return any(isinstance(leaf, torch.Tensor) for leaf in _leaves(value))


def _leaves(value):
    if isinstance(value, collections.abc.Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


@contextlib.contextmanager
def _without_log(torch):
    """Where an export fails, the exporter logs the whole graph to the standard output, and turns its log on for that."""
    core = torch._C
    log, is_enabled = getattr(core, "_jit_onnx_log", None), getattr(core, "_jit_is_onnx_log_enabled", None)
    enabled = is_enabled() if is_enabled else None
    if log:
        core._jit_onnx_log = lambda *_: None
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        if log:
            core._jit_onnx_log = log
        if enabled is not None:
            core._jit_set_onnx_log_enabled(enabled)


@contextlib.contextmanager
def _weights_kept_apart(torch):
    """The exporter merges weights at the same address, which all weights without values have."""
    merge = getattr(torch._C, "_jit_pass_onnx_deduplicate_initializers", None)
    if merge is None:
        yield
        return
    torch._C._jit_pass_onnx_deduplicate_initializers = lambda graph, weights, *_: weights
    try:
        yield
    finally:
        torch._C._jit_pass_onnx_deduplicate_initializers = merge


@contextlib.contextmanager
def _convolutions_recorded(torch, device):
    """A convolution is recorded by what carries it out, which for tensors without values is nothing: here it is."""
    if device != "meta":
        yield
        return
    _shapes_of_convolutions(torch)
    functions, one = torch.nn.functional, {name: getattr(torch.nn.functional, name) for name in _CONVOLUTIONS}

    def plain(rank):
        def convolve(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):  # noqa: A002
            stride, dilation = _each(stride, rank), _each(dilation, rank)
            if padding == "valid":
                padding = 0
            if padding == "same":
                reach = [d * (size - 1) for d, size in zip(dilation, weight.shape[2:])]
                if any(each % 2 for each in reach):  # one more behind than in front
                    pads = [side for each in reversed(reach) for side in (each // 2, each - each // 2)]
                    input, padding = functions.pad(input, pads), 0  # noqa: A001
                else:
                    padding = [each // 2 for each in reach]
            return torch._convolution(input, weight, bias, stride, _each(padding, rank), dilation, False, [0] * rank, groups,
                                      False, False, True, True)
        return convolve

    def transposed(rank):
        def convolve(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):  # noqa: A002
            return torch._convolution(input, weight, bias, _each(stride, rank), _each(padding, rank), _each(dilation, rank),
                                      True, _each(output_padding, rank), groups, False, False, True, True)
        return convolve

    for rank in (1, 2, 3):
        setattr(functions, f"conv{rank}d", plain(rank))
        setattr(functions, f"conv_transpose{rank}d", transposed(rank))
    attention = getattr(functions, "scaled_dot_product_attention", None)

    # A scale that is told is exported in double precision, which only inferred shapes would mend: the one that attention
    # has by itself need not be told.
    def attend(query, *rest, scale=None, **named):
        default = scale is not None and abs(scale * query.shape[-1] ** 0.5 - 1) < 1e-9
        return attention(query, *rest, **named) if scale is None or default else attention(query, *rest, scale=scale, **named)

    if attention is not None:
        one["scaled_dot_product_attention"] = attention
        functions.scaled_dot_product_attention = attend
    try:
        yield
    finally:
        for name, function in one.items():
            setattr(functions, name, function)


_CONVOLUTIONS = [f"conv{kind}{rank}d" for kind in ("", "_transpose") for rank in (1, 2, 3)]
_registered = []


def _each(value, rank):
    values = [value] * rank if isinstance(value, int) else list(value)
    return values * rank if len(values) == 1 else values


def _shapes_of_convolutions(torch):
    """Gives PyTorch the shape of a convolution's result on the meta device, where it has none; once in a process."""
    if _registered:
        return

    def result(input, weight, bias, stride, padding, dilation, is_transposed, output_padding, groups):  # noqa: A002
        sizes = []
        for i, size in enumerate(input.shape[2:]):
            reach = dilation[i] * (weight.shape[2 + i] - 1) + 1
            if is_transposed:
                sizes.append((size - 1) * stride[i] - 2 * padding[i] + reach + output_padding[i])
            else:
                sizes.append((size + 2 * padding[i] - reach) // stride[i] + 1)
        channels = weight.shape[1] * groups if is_transposed else weight.shape[0]
        return torch.empty([input.shape[0], channels, *sizes], dtype=input.dtype, device="meta")

    library = torch.library.Library("aten", "IMPL", "Meta")
    library.impl("convolution_overrideable", result)
    _registered.append(library)  # for as long as it is kept


def _without_values(torch, module, device):
    """A copy of the module whose parameters and buffers have shapes, and no memory behind them."""
    memo = {}
    with torch.no_grad():
        for tensor in [*module.parameters(), *module.buffers()]:
            if device == "meta":
                light = torch.empty_like(tensor, device="meta")
            else:
                light = torch.zeros((), dtype=tensor.dtype).expand(tensor.shape)
            if isinstance(tensor, torch.nn.Parameter):
                light = torch.nn.Parameter(light, requires_grad=tensor.requires_grad)
            memo[id(tensor)] = light
    return copy.deepcopy(module, memo)


def _moved(torch, value, device):
    if isinstance(value, torch.Tensor):
        if value.is_meta and device != "meta":
            return torch.zeros(value.shape, dtype=value.dtype)
        return value.detach().to(device)
    if isinstance(value, (tuple, list)):
        return type(value)(_moved(torch, item, device) for item in value)
    if isinstance(value, dict):
        return {key: _moved(torch, item, device) for key, item in value.items()}
    return value


def _weights(module):
    """The parameters and buffers, which the export declares as inputs, as initializers whose data is elsewhere.

    A serialized ModelProto with nothing but those: behind another one, it adds to it (protobuf's merging of messages).
    """
    tied, tensors = set(), []
    for name, tensor in module.state_dict(keep_vars=True).items():
        if id(tensor) not in tied:  # the first name is the one that the exporter keeps
            tied.add(id(tensor))
            tensors.append(_field(5, _tensor(name, tensor)))
    return _field(7, b"".join(tensors))


def _tensor(name, tensor):
    kind = str(tensor.dtype).replace("torch.", "")
    if kind not in _TYPES:
        raise Error(f"weight '{name}': ONNX has no type for {tensor.dtype}")
    shape = b"".join(_varint(1 << 3) + _varint(size) for size in tensor.shape)
    external = _field(13, _field(1, b"location") + _field(2, b"weights"))
    return shape + _varint(2 << 3) + _varint(_TYPES[kind]) + _field(8, name.encode()) + external + _varint(14 << 3) + _varint(1)


def _field(number, content):
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
