#include "models/operators/window.h"

#include <algorithm>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

std::vector<std::int64_t> PerAxis(const OpContext& ctx, std::string_view name, std::size_t axes,
                                  std::int64_t fallback, std::int64_t least) {
  std::vector<std::int64_t> values = ctx.Ints(name);
  if (values.empty()) values.assign(axes, fallback);
  if (values.size() != axes) {
    throw Error("attribute '{}' has {} entries for {} spatial axes", name, values.size(), axes);
  }
  for (const std::int64_t value : values) {
    if (value < least) throw Error("attribute '{}' has the value {}", name, value);
  }
  return values;
}

}  // namespace

Count Window::KernelElements() const {
  Count product = 1;
  for (const std::int64_t extent : kernel) product *= extent;
  return product;
}

Count Window::ValidTaps() const {
  Count product = 1;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    // A tap j at output o reads position o * stride - pad + j * dilation; count those inside [0,
    // in), tap by tap.
    Count sum;
    for (std::int64_t j = 0; j < kernel[axis]; ++j) {
      const Count offset = Count(j) * dilation[axis] - Count(pad_begin[axis]);
      // Outputs o with 0 <= o * stride + offset < in.
      const Count first = offset < Count(0) ? CeilDiv(Count(0) - offset, stride[axis]) : Count(0);
      const Count room = Count(in[axis]) - offset;
      const Count last = room > Count(0) ? CeilDiv(room, stride[axis]) : Count(0);
      const Count end = std::min(last, Count(out[axis]));
      if (end > first) sum += end - first;
    }
    product *= sum;
  }
  return product;
}

Window ForwardWindow(const OpContext& ctx, std::vector<std::int64_t> kernel, bool ceil_mode) {
  const Shape& x = ctx.InputShape(0);
  if (x.rank() < 3) throw Error("input 0 has rank {}; a sliding window needs at least 3", x.rank());
  const std::size_t axes = x.rank() - 2;
  if (kernel.size() != axes) {
    throw Error("the kernel has {} extents for {} spatial axes", kernel.size(), axes);
  }
  Window w;
  w.in.assign(x.begin() + 2, x.end());
  w.kernel = std::move(kernel);
  w.stride = PerAxis(ctx, "strides", axes, 1, 1);
  w.dilation = PerAxis(ctx, "dilations", axes, 1, 1);
  const std::vector<std::int64_t> pads =
      PerAxis(ctx, "pads", 2 * axes, 0, -(std::int64_t{1} << 40));
  const std::string auto_pad = ctx.String("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID" && !auto_pad.empty()) {
    throw Error("auto_pad '{}' is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID", auto_pad);
  }
  w.pad_begin.assign(axes, 0);
  w.pad_end.assign(axes, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    if (w.kernel[i] < 1) throw Error("kernel extent {} is not positive", w.kernel[i]);
    const Count span = Count(w.kernel[i] - 1) * w.dilation[i] + Count(1);
    if (same) {
      const Count out = CeilDiv(w.in[i], w.stride[i]);
      const Count needed = (out - Count(1)) * w.stride[i] + span - Count(w.in[i]);
      const std::int64_t total = std::max(needed, Count(0)).value();
      w.pad_begin[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.pad_end[i] = total - w.pad_begin[i];
      w.out.push_back(out.value());
      continue;
    }
    if (auto_pad == "NOTSET" || auto_pad.empty()) {
      w.pad_begin[i] = pads[i];
      w.pad_end[i] = pads[axes + i];
    }
    const Count room = Count(w.in[i]) + Count(w.pad_begin[i]) + Count(w.pad_end[i]) - span;
    if (room < Count(0)) {
      throw Error("the window of {} does not fit in the padded extent {} of spatial axis {}", span,
                  room + span, i);
    }
    Count out = (ceil_mode ? CeilDiv(room, w.stride[i]) : room / w.stride[i]) + Count(1);
    // A window that would start in the padding behind the data is dropped (ONNX pooling,
    // ceil_mode).
    if (ceil_mode && (out - Count(1)) * w.stride[i] >= Count(w.in[i]) + Count(w.pad_begin[i])) {
      out -= Count(1);
    }
    w.out.push_back(out.value());
  }
  return w;
}

}  // namespace dlcost
