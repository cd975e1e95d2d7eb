"""What the operators of a training step compute that no installed executor has, for onnx's reference
evaluator. Convolutions and pools go by way of PyTorch's functional gradients, the others are written
from their definitions."""

import numpy as np
import onnx
import torch
import torchvision
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_loop import Loop as _LoopOp
from onnx.reference.ops.op_scan import Scan as _ScanOp

DOMAIN = "com.microsoft"


def _pads(pads, rank):
    """ONNX pads as torch.nn.functional.pad wants them: last axis first."""
    result = []
    for axis in reversed(range(rank)):
        result += [pads[axis], pads[axis + rank]]
    return result


class _Contrib(OpRun):
    op_domain = DOMAIN

    def _run(self, *inputs, **_):
        attributes = {}
        for attribute in self.onnx_node.attribute:
            value = onnx.helper.get_attribute_value(attribute)
            attributes[attribute.name] = value.decode() if isinstance(value, bytes) else value
        return self.compute(*inputs, **attributes)


class ConvGrad(_Contrib):
    def compute(self, dy, x, w, kernel_shape=None, strides=None, dilations=None, pads=None, group=1,
             auto_pad=None):
        rank = x.ndim - 2
        conv = (torch.conv1d, torch.conv2d, torch.conv3d)[rank - 1]
        padded = torch.nn.functional.pad(torch.tensor(x), _pads(pads, rank))
        weight = torch.tensor(w, requires_grad=True)
        y = conv(padded, weight, None, strides, 0, dilations, group)
        y.backward(torch.tensor(dy))
        return (np.zeros(0, x.dtype), weight.grad.numpy())


class ConvTranspose(_Contrib):
    """onnx's own takes no groups whose sizes differ."""
    op_domain = ""

    def compute(self, x, w, b=None, kernel_shape=None, strides=None, dilations=None, pads=None,
                output_padding=None, group=1):
        rank = x.ndim - 2
        ones, zeros = [1] * rank, [0] * rank
        conv = (torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d)[rank - 1]
        y = conv(torch.tensor(x), torch.tensor(w), None if b is None else torch.tensor(b),
                 strides or ones, 0, output_padding or zeros, group, dilations or ones)
        return (torch.nn.functional.pad(y, [-p for p in _pads(pads or 2 * zeros, rank)]).numpy(),)


class LRN(_Contrib):
    """onnx's own normalizes as many channels as there are images."""
    op_domain = ""

    def compute(self, x, size, alpha=1e-4, beta=0.75, bias=1.0):
        squares = np.zeros_like(x)
        for c in range(x.shape[1]):
            near = x[:, max(0, c - (size - 1) // 2):c + size // 2 + 1]
            squares[:, c] = (near ** 2).sum(1)
        return (x / (bias + alpha / size * squares) ** beta,)


class MaxPoolGrad(_Contrib):
    def compute(self, dy, indices, x_shape=None, **_):
        shape = tuple(x_shape)
        dx = np.zeros(int(np.prod(shape)), dy.dtype)
        np.add.at(dx, indices.reshape(-1), dy.reshape(-1))
        return (dx.reshape(shape),)


class AveragePoolGrad(_Contrib):
    def compute(self, dy, x_shape=None, kernel_shape=None, strides=None, pads=None, ceil_mode=0,
             count_include_pad=0, dilations=None):
        x = torch.zeros(tuple(x_shape), requires_grad=True)
        rank = len(kernel_shape)
        assert pads[:rank] == pads[rank:], "PyTorch pads alike on both sides"
        pool = (torch.nn.functional.avg_pool1d, torch.nn.functional.avg_pool2d,
                torch.nn.functional.avg_pool3d)[rank - 1]
        y = pool(x, kernel_shape, strides, pads[:rank], bool(ceil_mode), bool(count_include_pad))
        y.backward(torch.tensor(dy))
        return (x.grad.numpy(),)


class ResizeGrad(_Contrib):
    def compute(self, dy, x_shape=None, mode="nearest", resized_axes=2,
                coordinate_transformation_mode="half_pixel"):
        x = torch.zeros(tuple(x_shape), requires_grad=True)
        names = {"nearest": "nearest", "linear": ("linear", "bilinear", "trilinear")[x.ndim - 3],
                 "cubic": "bicubic"}
        corners = {} if mode == "nearest" else {
            "align_corners": coordinate_transformation_mode == "align_corners"}
        y = torch.nn.functional.interpolate(x, dy.shape[2:], mode=names[mode], **corners)
        y.backward(torch.tensor(dy))
        return (x.grad.numpy(),)


class GridSampleGrad(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, dy, x, grid, mode="linear", padding_mode="zeros", align_corners=0):
        leaves = [torch.tensor(t, requires_grad=True) for t in (x, grid)]
        names = {"linear": "bilinear", "cubic": "bicubic"}
        y = torch.nn.functional.grid_sample(*leaves, names.get(mode, mode), padding_mode,
                                            bool(align_corners))
        y.backward(torch.tensor(dy))
        return tuple(leaf.grad.numpy() for leaf in leaves)[:len(self.onnx_node.output)]


class DeformConvGrad(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, x, w, offset, mask, dy, kernel_shape=None, strides=(1, 1), pads=(0, 0, 0, 0),
                dilations=(1, 1), group=1, offset_group=1):
        leaves = [None if t is None else torch.tensor(t, requires_grad=True)
                  for t in (x, w, offset, mask)]
        y = torchvision.ops.deform_conv2d(leaves[0], leaves[2], leaves[1], None, tuple(strides),
                                          tuple(pads[:2]), tuple(dilations), leaves[3])
        y.backward(torch.tensor(dy))
        return tuple(leaf.grad.numpy() for leaf in leaves)[:len(self.onnx_node.output)]


class RoiAlignGrad(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, dy, rois, samples, x_shape=None, output_height=1, output_width=1,
                sampling_ratio=0, spatial_scale=1.0, mode="avg",
                coordinate_transformation_mode="half_pixel"):
        x = torch.zeros(tuple(x_shape), requires_grad=True)
        regions = torch.tensor(np.concatenate([samples[:, None].astype(rois.dtype), rois], 1))
        y = torchvision.ops.roi_align(x, regions, (output_height, output_width), spatial_scale,
                                      sampling_ratio or -1,
                                      coordinate_transformation_mode == "half_pixel")
        y.backward(torch.tensor(dy))
        return (x.grad.numpy(),)


class LpNormalization(_Contrib):
    """onnx's own adds up numbers, and not their sizes, where p is 1."""
    op_domain = ""

    def compute(self, x, axis=-1, p=2):
        return (x / np.linalg.norm(x, p, axis, keepdims=True),)


class GlobalLpPool(_Contrib):
    op_domain = ""

    def compute(self, x, p=2):
        axes = tuple(range(2, x.ndim))
        return ((np.abs(x) ** p).sum(axes, keepdims=True) ** np.float32(1 / p),)


class ReluGrad(_Contrib):
    def compute(self, dy, y):
        return (np.where(y > 0, dy, 0).astype(dy.dtype),)


class SigmoidGrad(_Contrib):
    def compute(self, dy, y):
        return (dy * y * (1 - y),)


class TanhGrad(_Contrib):
    def compute(self, dy, y):
        return (dy * (1 - y * y),)


class LeakyReluGrad(_Contrib):
    def compute(self, dy, y, alpha=0.01):
        return (np.where(y > 0, dy, alpha * dy).astype(dy.dtype),)


def _through(function, dy, x):
    x = torch.tensor(x, requires_grad=True)
    function(x).backward(torch.tensor(dy))
    return (x.grad.numpy(),)


class Gelu(_Contrib):
    def compute(self, x):
        return (torch.nn.functional.gelu(torch.tensor(x)).numpy(),)


class FastGelu(_Contrib):
    def compute(self, x, bias=None):
        x = torch.tensor(x if bias is None else x + bias)
        return (torch.nn.functional.gelu(x, approximate="tanh").numpy(),)


class BiasFastGeluGrad_dX(_Contrib):
    def compute(self, dy, x, bias):
        return _through(lambda v: torch.nn.functional.gelu(v, approximate="tanh"), dy, x + bias)


class SimplifiedLayerNormalization(_Contrib):
    op_domain = ""

    def compute(self, x, scale, axis=-1, epsilon=1e-5):
        axes = tuple(range(axis % x.ndim, x.ndim))
        inverse = 1 / np.sqrt((x * x).mean(axis=axes, keepdims=True) + np.float32(epsilon))
        return (x * inverse * scale, inverse)


class SimplifiedLayerNormalizationGrad(_Contrib):
    def compute(self, dy, x, scale, inverse, axis=-1):
        axes, outer = tuple(range(axis % x.ndim, x.ndim)), tuple(range(axis % x.ndim))
        h, e = x * inverse, dy * scale
        dx = inverse * (e - h * (e * h).mean(axis=axes, keepdims=True))
        return (dx, (dy * h).sum(axis=outer).reshape(scale.shape))


class QuickGelu(_Contrib):
    def compute(self, x, alpha=1.702):
        return (x / (1 + np.exp(-alpha * x)),)


class GeluGrad(_Contrib):
    def compute(self, dy, x):
        return _through(torch.nn.functional.gelu, dy, x)


class FastGeluGrad(_Contrib):
    def compute(self, dy, x):
        return _through(lambda v: torch.nn.functional.gelu(v, approximate="tanh"), dy, x)


class QuickGeluGrad(_Contrib):
    def compute(self, dy, x, alpha=1.702):
        return _through(lambda v: v * torch.sigmoid(alpha * v), dy, x)


class SoftmaxGrad_13(_Contrib):
    def compute(self, dy, y, axis=-1):
        return (y * (dy - np.sum(dy * y, axis=axis, keepdims=True)),)


class LogSoftmaxGrad_13(_Contrib):
    def compute(self, dy, y, axis=-1):
        return (dy - np.exp(y) * np.sum(dy, axis=axis, keepdims=True),)


class LayerNormalizationGrad(_Contrib):
    def compute(self, dy, x, scale, mean, inverse, axis=-1):
        axes = tuple(range(axis % x.ndim, x.ndim))
        outer = tuple(range(axis % x.ndim))
        h = (x - mean) * inverse
        e = dy * scale
        dx = inverse * (e - e.mean(axis=axes, keepdims=True)
                        - h * (e * h).mean(axis=axes, keepdims=True))
        return (dx, (dy * h).sum(axis=outer).reshape(scale.shape),
                dy.sum(axis=outer).reshape(scale.shape))


class BatchNormInternal(_Contrib):
    def compute(self, x, scale, shift, running_mean, running_var, epsilon=1e-5, momentum=0.9):
        axes = (0, *range(2, x.ndim))
        column = (1, -1) + (1,) * (x.ndim - 2)
        mean, var = x.mean(axis=axes), x.var(axis=axes)
        inverse = 1 / np.sqrt(var + epsilon)
        y = (x - mean.reshape(column)) * (inverse * scale).reshape(column) + shift.reshape(column)
        return (y.astype(x.dtype), running_mean * momentum + mean * (1 - momentum),
                running_var * momentum + var * (1 - momentum), mean, inverse.astype(x.dtype))


class BatchNormalizationGrad(_Contrib):
    def compute(self, dy, x, scale, mean, inverse, epsilon=1e-5):
        axes = (0, *range(2, x.ndim))
        column = (1, -1) + (1,) * (x.ndim - 2)
        h = (x - mean.reshape(column)) * inverse.reshape(column)
        e = dy * scale.reshape(column)
        dx = inverse.reshape(column) * (e - e.mean(axis=axes, keepdims=True)
                                        - h * (e * h).mean(axis=axes, keepdims=True))
        return (dx.astype(x.dtype), (dy * h).sum(axis=axes), dy.sum(axis=axes))


class GroupNormInternal(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, x, scale, shift, num_groups=None, epsilon=1e-5, stash_type=1):
        rows, column = x.reshape(x.shape[0], num_groups, -1), (1, -1) + (1,) * (x.ndim - 2)
        mean, inverse = rows.mean(axis=2), 1 / np.sqrt(rows.var(axis=2) + epsilon)
        h = ((rows - mean[..., None]) * inverse[..., None]).reshape(x.shape)
        y = h * scale.reshape(column) + shift.reshape(column)
        return tuple(t.astype(x.dtype) for t in (y, mean, inverse))[:len(self.onnx_node.output)]


class GroupNormGrad(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, dy, x, scale, mean, inverse, num_groups=None):
        column, axes = (1, -1) + (1,) * (x.ndim - 2), (0, *range(2, x.ndim))
        rows = (x.shape[0], num_groups, -1)
        h = (x.reshape(rows) - mean[..., None]) * inverse[..., None]
        e = (dy * scale.reshape(column)).reshape(rows)
        dx = inverse[..., None] * (e - e.mean(axis=2, keepdims=True)
                                   - h * (e * h).mean(axis=2, keepdims=True))
        product = dy * h.reshape(x.shape)
        return tuple(t.astype(x.dtype) for t in (
            dx.reshape(x.shape), product.sum(axis=axes).reshape(scale.shape),
            dy.sum(axis=axes).reshape(scale.shape)))[:len(self.onnx_node.output)]


class Mish(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, x):
        return (x * np.tanh(np.logaddexp(x, 0)),)


class GatherGrad(_Contrib):
    def compute(self, shape, indices, dy, axis=0):
        dx = np.zeros(tuple(shape), dy.dtype)
        rows = np.moveaxis(dx, axis, 0)
        # Axes of the indices first.
        moved = np.moveaxis(dy, tuple(range(axis, axis + indices.ndim)), tuple(range(indices.ndim)))
        np.add.at(rows, indices.reshape(-1), moved.reshape((-1,) + moved.shape[indices.ndim:]))
        return (dx,)


class GatherElementsGrad(_Contrib):
    def compute(self, dy, shape, indices, axis=0):
        dx = torch.zeros(tuple(shape), dtype=torch.tensor(dy).dtype)
        dx.scatter_add_(axis, torch.tensor(indices), torch.tensor(dy))
        return (dx.numpy(),)


class SliceGrad(_Contrib):
    def compute(self, dy, shape, starts, ends, axes, steps):
        dx = np.zeros(tuple(shape), dy.dtype)
        place = [slice(None)] * dx.ndim
        for start, end, axis, step in zip(starts, ends, axes, steps):
            place[axis] = slice(int(start), int(end) if end > -2**31 else None, int(step))
        dx[tuple(place)] = dy
        return (dx,)


class SoftmaxCrossEntropyLossGrad(_Contrib):
    def compute(self, dy, logarithms, labels, reduction="mean", ignore_index=None):
        assert reduction == "mean" and ignore_index is None
        dx = np.exp(logarithms)
        ones = np.expand_dims(labels, 1)
        np.put_along_axis(dx, ones, np.take_along_axis(dx, ones, 1) - 1, 1)
        return ((dx * dy / labels.size).astype(logarithms.dtype),)


class FusedMatMul(_Contrib):
    def compute(self, a, b, transA=0, transB=0, alpha=1.0):
        a = np.swapaxes(a, -1, -2) if transA else a
        b = np.swapaxes(b, -1, -2) if transB else b
        return (np.matmul(a, b) * np.asarray(alpha, a.dtype),)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _steps(direction, d, steps):
    """Steps of a direction in the order in which it takes them."""
    return range(steps - 1, -1, -1) if direction == "reverse" or d == 1 else range(steps)


class LSTMTraining(_Contrib):
    def compute(self, x, w, r, b=None, _lengths=None, h0=None, c0=None, hidden_size=None,
                direction="forward"):
        steps, batch = x.shape[:2]
        directions, _, hidden = r.shape
        y = np.zeros((steps, directions, batch, hidden), x.dtype)
        cells, gates = np.zeros_like(y), np.zeros(y.shape[:3] + (4 * hidden,), x.dtype)
        zero = np.zeros((directions, batch, hidden), x.dtype)
        h, c = (zero if h0 is None else h0).copy(), (zero if c0 is None else c0).copy()
        for d in range(directions):
            bias = 0 if b is None else b[d, :4 * hidden] + b[d, 4 * hidden:]
            for t in _steps(direction, d, steps):
                a = x[t] @ w[d].T + h[d] @ r[d].T + bias
                i, o, f = (_sigmoid(a[:, k * hidden:(k + 1) * hidden]) for k in range(3))
                g = np.tanh(a[:, 3 * hidden:])
                c[d] = f * c[d] + i * g
                h[d] = o * np.tanh(c[d])
                y[t, d], cells[t, d] = h[d], c[d]
                gates[t, d] = np.concatenate([i, o, f, g], 1)
        return (y, h, c, cells, gates)


class GRUTraining(_Contrib):
    """linear_before_reset."""

    def compute(self, x, w, r, b=None, _lengths=None, h0=None, hidden_size=None,
                direction="forward", linear_before_reset=1):
        steps, batch = x.shape[:2]
        directions, _, hidden = r.shape
        y = np.zeros((steps, directions, batch, hidden), x.dtype)
        gates = np.zeros(y.shape[:3] + (4 * hidden,), x.dtype)
        h = (np.zeros((directions, batch, hidden), x.dtype) if h0 is None else h0).copy()
        bias = np.zeros((directions, 6 * hidden), x.dtype) if b is None else b
        for d in range(directions):
            for t in _steps(direction, d, steps):
                own = x[t] @ w[d].T + bias[d, :3 * hidden]
                back = h[d] @ r[d].T + bias[d, 3 * hidden:]
                z = _sigmoid(own[:, :hidden] + back[:, :hidden])
                reset = _sigmoid(own[:, hidden:2 * hidden] + back[:, hidden:2 * hidden])
                n = np.tanh(own[:, 2 * hidden:] + reset * back[:, 2 * hidden:])
                h[d] = (1 - z) * n + z * h[d]
                y[t, d] = h[d]
                gates[t, d] = np.concatenate([z, reset, n, back[:, 2 * hidden:]], 1)
        return (y, h, gates)


class RecurrentGrad(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, r, y, gates=None, cells=None, h0=None, c0=None, dy=None, dh=None, dc=None,
                cell=None, direction="forward"):
        steps, directions, batch, hidden = y.shape
        count = r.shape[1] // hidden
        zero = np.zeros((directions, batch, hidden), y.dtype)
        h0, c0 = zero if h0 is None else h0, zero if c0 is None else c0
        dh, dc = (zero if dh is None else dh).copy(), (zero if dc is None else dc).copy()
        dy = np.zeros_like(y) if dy is None else dy
        own = np.zeros(y.shape[:3] + (count * hidden,), y.dtype)
        back = np.zeros_like(own)
        for d in range(directions):
            order = list(_steps(direction, d, steps))
            for at in range(steps - 1, -1, -1):
                t = order[at]
                before = y[order[at - 1], d] if at else h0[d]
                total = dh[d] + dy[t, d]
                rest = 0
                if cell == "LSTM":
                    i, o, f, g = np.split(gates[t, d], 4, 1)
                    past = cells[order[at - 1], d] if at else c0[d]
                    u = np.tanh(cells[t, d])
                    through = dc[d] + total * o * (1 - u * u)
                    own[t, d] = back[t, d] = np.concatenate(
                        [through * g * i * (1 - i), total * u * o * (1 - o),
                         through * past * f * (1 - f), through * i * (1 - g * g)], 1)
                    dc[d] = through * f
                elif cell == "GRU":
                    z, reset, n, state = np.split(gates[t, d], 4, 1)
                    dn = total * (1 - z) * (1 - n * n)
                    dz = total * (before - n) * z * (1 - z)
                    dr = dn * state * reset * (1 - reset)
                    own[t, d] = np.concatenate([dz, dr, dn], 1)
                    back[t, d] = np.concatenate([dz, dr, dn * reset], 1)
                    rest = total * z
                else:
                    own[t, d] = back[t, d] = total * (1 - y[t, d] ** 2)
                dh[d] = back[t, d] @ r[d] + rest
        return (own, back, dh, dc)


class _Attention(_Contrib):
    """Forward passes, which the step has beside its own."""

    def attend(self, q, k, v, heads, causal, lengths=None):
        def split(x):
            return torch.tensor(x).view(*x.shape[:2], heads, -1).transpose(1, 2)

        scores = split(q) @ split(k).transpose(-1, -2) / (q.shape[-1] / heads) ** 0.5
        if causal:
            ones = torch.ones(scores.shape[-2:])
            scores = scores.masked_fill(ones.triu(1).bool(), float("-inf"))
        if lengths is not None:
            beyond = torch.arange(scores.shape[-1]) >= torch.tensor(lengths).view(-1, 1, 1, 1)
            scores = scores.masked_fill(beyond, float("-inf"))
        y = torch.softmax(scores, -1) @ split(v)
        return (y.transpose(1, 2).reshape(q.shape).numpy(),)


class MultiHeadAttention(_Attention):
    def compute(self, q, k, v, num_heads=1, unidirectional=0):
        return self.attend(q, k, v, num_heads, unidirectional)


class Attention(_Attention):
    def compute(self, x, w, b, lengths=None, num_heads=1, unidirectional=0):
        return self.attend(*np.split(x @ w + b, 3, -1), num_heads, unidirectional, lengths)


class _FusedAttention(_Contrib):
    """From its definition: operands in the order [batch, heads, length, width], then attention."""
    op_domain = "dlcost.training"

    @staticmethod
    def ordered(x, axes):
        """[batch, heads, length, width] of an operand, an axis that it does not have being 1."""
        lacking = [a for a in range(4) if a not in axes]
        x = x.permute([axes.index(a) for a in sorted(axes)])
        for axis in lacking:
            x = x.unsqueeze(axis)
        return x

    @staticmethod
    def laid_out(x, axes):
        lacking = [a for a in range(4) if a not in axes]
        x = x.squeeze(tuple(lacking)[0]) if lacking else x
        kept = sorted(axes)
        return x.permute([kept.index(a) for a in axes])

    def attend(self, operands, masks, a):
        same = [0, 1, 2, 3]
        axes = [a.get(f"{n}_axes", same) for n in "qkv"]
        q = self.ordered(operands[0], axes[0])
        if len(operands) == 1:
            shared = a["kv_heads"]
            q, k, v = torch.split(q, [q.shape[1] - 2 * shared, shared, shared], 1)
        else:
            k, v = (self.ordered(x, o) for x, o in zip(operands[1:], axes[1:]))
        group = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(group, 1) for x in (k, v))
        scores = q @ k.transpose(-1, -2) * a.get("scale", 1.0)
        if a.get("softcap"):
            scores = torch.tanh(scores / a["softcap"]) * a["softcap"]
        ones = torch.ones(scores.shape[-2:], dtype=torch.bool)
        hidden = ones.triu(1) if a.get("causal") else torch.zeros_like(ones)
        if a.get("left_window_size", -1) >= 0:
            hidden |= ones.tril(-a["left_window_size"] - 1)
        if a.get("right_window_size", -1) >= 0:
            hidden |= ones.triu(a["right_window_size"] + 1)
        for mask, kind in zip(masks, a.get("masks", [])):
            mask = torch.tensor(mask)
            if kind == "add":
                scores = scores + mask
            else:
                scores = scores.masked_fill(mask if kind == "drop" else ~mask, float("-inf"))
        scores = scores.masked_fill(hidden, float("-inf"))
        assert not a.get("dropout"), "what is dropped is nobody's to foresee"
        sums = torch.logsumexp(scores, -1)
        return self.laid_out(torch.softmax(scores, -1) @ v, a.get("y_axes", same)), sums

    @staticmethod
    def decoded(attributes):
        return {n: [v.decode() for v in value] if n == "masks" else value
                for n, value in attributes.items()}


class FusedAttention(_FusedAttention):
    def compute(self, q, k=None, v=None, *masks, **attributes):
        operands = [torch.tensor(x) for x in (q, k, v) if x is not None]
        y, sums = self.attend(operands, masks, self.decoded(attributes))
        return (y.numpy(), sums.numpy())


class FusedAttentionGrad(_FusedAttention):
    def compute(self, dy, q, k, v, y, sums, *masks, **attributes):
        a = self.decoded(attributes)
        leaves = [torch.tensor(x, requires_grad=True) for x in (q, k, v) if x is not None]
        again, rows = self.attend(leaves, masks, a)
        assert np.allclose(again.detach().numpy(), y, atol=1e-5), "the result that the way back reads"
        assert np.allclose(rows.detach().numpy(), sums, atol=1e-5), "the sums that it reads"
        again.backward(torch.tensor(dy))
        if len(leaves) > 1:
            return tuple(x.grad.numpy() for x in leaves)
        heads = a.get("q_axes", [0, 1, 2, 3]).index(1)
        shared = a["kv_heads"]
        own = q.shape[heads] - 2 * shared
        return tuple(np.split(leaves[0].grad.numpy(), [own, own + shared], heads))


def routed(indices, experts):
    """(token, choice, expert, row) of every token's choices, in order."""
    filled = [0] * experts
    for token, choices in enumerate(indices):
        for choice, expert in enumerate(choices):
            yield token, choice, expert, filled[expert]
            filled[expert] += 1


class DispatchTokens(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, x, indices, experts=0, rows=0):
        y = np.zeros((experts, rows, x.shape[1]), x.dtype)
        for token, _, expert, row in routed(indices, experts):
            y[expert, row] = x[token]
        return (y,)


class CombineTokens(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, y, indices, weights=None):
        x = np.zeros((indices.shape[0], y.shape[2]), y.dtype)
        for token, choice, expert, row in routed(indices, y.shape[0]):
            x[token] += y[expert, row] * (1 if weights is None else weights[token, choice])
        return (x,)


class CombineTokensGrad(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, dx, y, indices, weights):
        dy, dweights = np.zeros_like(y), np.zeros_like(weights)
        for token, choice, expert, row in routed(indices, y.shape[0]):
            dy[expert, row] = dx[token] * weights[token, choice]
            dweights[token, choice] = dx[token] @ y[expert, row]
        return dy, dweights


class Inverse(_Contrib):
    def compute(self, x):
        return (np.linalg.inv(x),)


def recurrence(q, k, v, state, decay, beta, a):
    """LinearAttention from its definition, token by token, on torch tensors."""
    heads, shared, rule = a["q_num_heads"], a["kv_num_heads"], a.get("update_rule", "gated_delta")
    batch, length, _ = q.shape
    q = q.view(batch, length, heads, -1)
    k, v = (x.view(batch, length, shared, -1) for x in (k, v))
    scale = a.get("scale", 0.0) or q.shape[-1] ** -0.5
    if state is None:
        state = torch.zeros(batch, shared, k.shape[-1], v.shape[-1])
    outputs = []
    for t in range(length):
        if "gated" in rule:
            state = state * torch.exp(decay[:, t].view(batch, shared, -1, 1))
        update = v[:, t]
        if "delta" in rule:
            read = (state * k[:, t, :, :, None]).sum(2)
            update = beta[:, t].view(batch, shared, 1) * (update - read)
        state = state + k[:, t, :, :, None] * update[:, :, None]
        wide = state.repeat_interleave(heads // shared, 1)
        outputs.append((wide * q[:, t, :, :, None]).sum(2) * scale)
    return torch.stack(outputs, 1).reshape(batch, length, -1), state


class LinearAttention(_Contrib):
    op_domain = ""

    def compute(self, *inputs, **a):
        operands = [None if x is None else torch.tensor(x) for x in inputs] + [None] * (6 - len(inputs))
        y, state = recurrence(*operands, a)
        return y.numpy(), state.numpy()


class LinearAttentionGrad(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, *inputs, **a):
        leaves = [None if x is None else torch.tensor(x, requires_grad=True) for x in inputs[:6]]
        outputs = recurrence(*leaves, a)
        pairs = [(y, torch.tensor(dy)) for y, dy in zip(outputs, inputs[6:]) if dy is not None]
        torch.autograd.backward(*zip(*pairs))
        gradients = [None if x is None else x.grad.numpy() for x in leaves]
        return tuple(np.zeros(0, np.float32) if g is None else g
                     for g in gradients)[:len(self.onnx_node.output)]


class MuonMomentum(_Contrib):
    op_domain = "dlcost.training"
    MIX = 0.95

    def compute(self, *operands):
        count = len(operands) // 2
        updates, momenta = [], []
        for gradient, momentum in zip(operands[:count], operands[count:]):
            momenta.append(momentum + np.float32(1 - self.MIX) * (gradient - momentum))
            update = gradient + np.float32(self.MIX) * (momenta[-1] - gradient)
            # In float32, which the products that follow then have too.
            updates.append(update / np.linalg.norm(update))
        return (*updates, *momenta)


class MuonUpdate(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, rate, *operands):
        count = len(operands) // 2
        return tuple(w - rate * np.float32(max(1, w.shape[0] / w.shape[1]) ** 0.5) * x
                     for w, x in zip(operands[:count], operands[count:]))


def dequantized(stored, scales, columns, block_size):
    """A weight [N, K] of 4 bits in blocks along K, the low half of a byte first; 8 is zero."""
    halves = np.stack([stored & 15, stored >> 4], -1).reshape(*stored.shape[:2], block_size)
    numbers = (halves.astype(np.float32) - 8) * scales.reshape(*stored.shape[:2], 1)
    return numbers.reshape(len(stored), -1)[:, :columns].astype(np.float32)


class MatMulNBits(_Contrib):
    def compute(self, x, stored, scales, K=0, N=0, bits=4, block_size=32):
        return (x @ dequantized(stored, scales, K, block_size).T,)


class DequantizeWeight(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, stored, scales, K=0, N=0, bits=4, block_size=32, dtype=1):
        return (dequantized(stored, scales, K, block_size),)


class RotaryEmbedding(_Contrib):
    def compute(self, x, first, cosine, sine, interleaved=0, num_heads=0, rotary_embedding_dim=0):
        assert not interleaved and not rotary_embedding_dim and first.size == 1
        rows = slice(int(first.reshape(-1)[0]), int(first.reshape(-1)[0]) + x.shape[1])
        heads = x.reshape(*x.shape[:2], num_heads, -1)
        a, b = np.split(heads, 2, -1)
        cosine, sine = cosine[rows][:, None], sine[rows][:, None]
        return (np.concatenate([a * cosine - b * sine, b * cosine + a * sine],
                               -1).reshape(x.shape),)


class Pad(_Contrib):
    """onnx's own does not cut."""
    op_domain = ""

    def compute(self, x, pads, value=None, axes=None, mode="constant"):
        axes = list(range(x.ndim)) if axes is None else [int(a) % x.ndim for a in axes]
        around = [(0, 0)] * x.ndim
        for axis, first, last in zip(axes, pads[:len(axes)], pads[len(axes):]):
            inside = slice(max(0, -int(first)), x.shape[axis] - max(0, -int(last)))
            x = x[(slice(None),) * axis + (inside,)]
            around[axis] = (max(0, int(first)), max(0, int(last)))
        fill = {"constant_values": 0 if value is None else value} if mode == "constant" else {}
        return (np.pad(x, around, mode, **fill).astype(x.dtype),)


class PadGrad(_Contrib):
    op_domain = "dlcost.training"

    def compute(self, dy, pads, mode="constant"):
        around = list(zip(pads[:dy.ndim], pads[dy.ndim:]))
        shape = [size - first - last for size, (first, last) in zip(dy.shape, around)]
        taken = np.pad(np.arange(np.prod(shape)).reshape(shape), around, mode)
        dx = np.zeros(int(np.prod(shape)), dy.dtype)
        np.add.at(dx, taken.reshape(-1), dy.reshape(-1))
        return (dx.reshape(shape),)


class Scan(_ScanOp):
    """onnx's own goes forwards along first axes alone."""
    op_domain = ""

    def __init__(self, onnx_node, run_params):
        OpRun.__init__(self, onnx_node, run_params)
        self.input_names, self.output_names = self.body.input_names, self.body.output_names

    def _run(self, *args, context=None, body=None, num_scan_inputs=None, scan_input_axes=None,
             scan_input_directions=None, scan_output_axes=None, scan_output_directions=None,
             attributes=None, bindings=None):
        states = list(args[:len(args) - num_scan_inputs])
        count = len(states)
        scanned = [np.moveaxis(x, axis, 0)[::-1 if backwards else 1] for x, axis, backwards in zip(
            args[count:], scan_input_axes or num_scan_inputs * [0],
            scan_input_directions or num_scan_inputs * [0])]
        results = [[] for _ in self.output_names[count:]]
        for step in range(len(scanned[0])):
            inputs = dict(context or {})
            inputs.update(zip(self.input_names, states + [x[step] for x in scanned]))
            outputs = self._run_body(inputs, bindings=bindings)
            states = outputs[:count]
            for all_steps, output in zip(results, outputs[count:]):
                all_steps.append(output)
        axes = scan_output_axes or len(results) * [0]
        directions = scan_output_directions or len(results) * [0]
        return tuple(states) + tuple(np.stack(r[::-1 if d else 1], a)
                                     for r, a, d in zip(results, axes, directions))


class Loop(_LoopOp):
    """onnx's own does not run without a condition, and joins what the specification stacks."""
    op_domain = ""

    def _run(self, trips, condition, *states, context=None, body=None, attributes=None,
             bindings=None):
        names, count = self.body.input_names, len(states)
        states, results = list(states), [[] for _ in self.body.output_names[1 + count:]]
        step = 0
        while (condition is None or condition) and (trips is None or step < trips):
            inputs = dict(context or {})
            inputs.update(zip(names, [np.array(step), np.array(True), *states]))
            condition, *outputs = self._run_body(inputs, attributes=attributes, bindings=bindings)
            states = outputs[:count]
            for all_steps, output in zip(results, outputs[count:]):
                all_steps.append(output)
            step += 1
        return tuple(states) + tuple(np.stack(r) for r in results)


def prepare(model):
    """Tells the gradients of pools and resizes how large the input was, which only types say, and
    names outputs that are left out: the evaluator would give them to inputs that are."""
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
              for v in model.graph.value_info}
    for node in model.graph.node:
        for i, name in enumerate(node.output):
            node.output[i] = name or f"{node.name}:unused{i}"
        if node.op_type in ("MaxPoolGrad", "AveragePoolGrad", "ResizeGrad", "RoiAlignGrad"):
            node.attribute.append(onnx.helper.make_attribute("x_shape", shapes[node.output[0]]))
    return model


OPERATORS = [ConvGrad, ConvTranspose, LRN, ResizeGrad, MaxPoolGrad, AveragePoolGrad, ReluGrad, SigmoidGrad, TanhGrad, LeakyReluGrad,
             Gelu, QuickGelu, GeluGrad, FastGeluGrad, QuickGeluGrad, SoftmaxGrad_13, LogSoftmaxGrad_13,
             LayerNormalizationGrad, BatchNormInternal, BatchNormalizationGrad, GroupNormInternal, GroupNormGrad, Mish, GatherGrad,
             GatherElementsGrad, SliceGrad, SoftmaxCrossEntropyLossGrad, FusedMatMul, LSTMTraining, GRUTraining, RecurrentGrad,
             MultiHeadAttention, Attention, FusedAttention, FusedAttentionGrad, DispatchTokens, CombineTokens, CombineTokensGrad, GlobalLpPool, LpNormalization, GridSampleGrad, RoiAlignGrad,
             MuonMomentum, MuonUpdate, Scan, Loop, MatMulNBits, DequantizeWeight,
             RotaryEmbedding, DeformConvGrad, Pad, PadGrad, Inverse, LinearAttention, LinearAttentionGrad,
             FastGelu, BiasFastGeluGrad_dX, SimplifiedLayerNormalization, SimplifiedLayerNormalizationGrad]
