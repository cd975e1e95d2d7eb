"""Multiply-accumulates as PyTorch's dispatcher sees them."""

import contextlib
import math
import unittest.mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class CountProducts(TorchDispatchMode):
    """Counts multiply-accumulates of every convolution and matrix product that torch dispatches."""

    def __init__(self):
        super().__init__()
        self.macs = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name == "convolution":
            transposed = args[6]
            positions = args[0] if transposed else result
            self.macs += positions.numel() * math.prod(args[1].shape[1:])
        elif name == "convolution_backward":
            grad, data, weight, transposed, mask = *args[:3], args[7], args[10]
            positions = data if transposed else grad
            # As many for the data's gradient as for the weight's.
            self.macs += sum(mask[:2]) * positions.numel() * math.prod(weight.shape[1:])
        elif name in ("mm", "bmm"):
            self.macs += args[0].numel() * args[1].shape[-1]
        elif name in ("addmm", "baddbmm"):
            self.macs += args[1].numel() * args[2].shape[-1]
        elif name in ("mv", "dot", "_native_multi_head_attention"):
            raise NotImplementedError(f"a product that is not counted: {name}")
        return result


def dispatched_macs(module, *inputs):
    """Multiply-accumulates of a forward pass; attention is kept off its fused kernel, which hides
    them."""
    module.eval()
    for layer in module.modules():
        if isinstance(layer, torch.nn.MultiheadAttention):
            layer.train()
            layer.dropout = 0.0
    with torch.no_grad(), CountProducts() as counter:
        module(*inputs)
    module.eval()
    return counter.macs


@contextlib.contextmanager
def unset_weights():
    """Modules made inside have unset weights: their values change no count, and drawing them takes
    long."""
    keep = {name: (lambda tensor, *args, **kwargs: tensor)
            for name in ("trunc_normal_", "normal_", "kaiming_normal_", "kaiming_uniform_",
                         "xavier_uniform_")}
    with unittest.mock.patch.multiple(torch.nn.init, **keep):
        yield
