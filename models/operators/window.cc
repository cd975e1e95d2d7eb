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

std::string AutoPad(const OpContext& ctx) {
  const std::string auto_pad = ctx.String("auto_pad", "NOTSET");
  if (auto_pad.empty()) return "NOTSET";
  for (const char* known : {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}) {
    if (auto_pad == known) return auto_pad;
  }
  throw Error("auto_pad '{}' is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID",
              Printable(auto_pad));
}

// The sum of floor((step * i + first) / divisor) over i in [0, terms), for non-negative numbers, in
// logarithmic time: whole quotients are taken out, and what is left counts grid points under a
// line, which are as many with the axes exchanged.
Count SumOfFloors(Count terms, Count divisor, Count step, Count first) {
  Count sum;
  while (true) {
    const bool even = terms % Count(2) == Count(0);
    const Count pairs = even ? terms / 2 * (terms - 1) : (terms - 1) / 2 * terms;
    sum += pairs * (step / divisor) + terms * (first / divisor);
    step = step % divisor;
    const Count end = step * terms + first % divisor;
    if (end < divisor) return sum;
    terms = end / divisor;
    first = end % divisor;
    std::swap(divisor, step);
  }
}

// Over all taps j along an axis, how many outputs o have o * stride + j * dilation < limit.
Count OutputsBelow(const Window& window, std::size_t axis, Count limit) {
  const Count stride = window.stride[axis], dilation = window.dilation[axis];
  const Count taps = window.kernel[axis], outputs = window.out[axis];
  // Taps from the first on whose offset leaves at least `room` positions below the limit.
  const auto with_room = [&](Count room) {
    return limit < room ? Count(0) : std::min(taps, (limit - room) / dilation + 1);
  };
  if (outputs == Count(0)) return 0;
  const Count all = with_room((outputs - 1) * stride + 1), some = with_room(1);
  const Count partly = some - all;
  if (partly == Count(0)) return all * outputs;
  // From the last of them, which has the fewest: ceil((limit - j * dilation) / stride) each.
  const Count fewest = limit - (some - 1) * dilation;
  return all * outputs + SumOfFloors(partly, stride, dilation, fewest + stride - 1);
}

}  // namespace

Count Window::KernelElements() const {
  Count product = 1;
  for (const std::int64_t extent : kernel) product *= extent;
  return product;
}

// One tap after another would take seconds for the largest extents that a file can hold.
Count Window::ValidTaps() const {
  Count product = 1;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    // A tap j at output o reads position o * stride + j * dilation - pad, which has to lie in
    // [0, in): outputs that read below `in`, without those that read below 0.
    const Count pad = pad_begin[axis];
    product *= OutputsBelow(*this, axis, pad + in[axis]) - OutputsBelow(*this, axis, pad);
  }
  return product;
}

Window ForwardWindow(const OpContext& ctx, std::vector<std::int64_t> kernel, bool ceil_mode) {
  const Shape& x = ctx.InputShape(0);
  if (x.rank() < 3) throw Error("input 0 has rank {}; a sliding window needs at least 3", x.rank());
  return WindowOver(ctx, {x.begin() + 2, x.end()}, std::move(kernel), ceil_mode);
}

Window WindowOver(const OpContext& ctx, std::vector<std::int64_t> in,
                  std::vector<std::int64_t> kernel, bool ceil_mode) {
  const std::size_t axes = in.size();
  if (kernel.size() != axes) {
    throw Error("the kernel has {} extents for {} spatial axes", kernel.size(), axes);
  }
  Window w;
  w.in = std::move(in);
  w.kernel = std::move(kernel);
  w.stride = PerAxis(ctx, "strides", axes, 1, 1);
  w.dilation = PerAxis(ctx, "dilations", axes, 1, 1);
  const std::vector<std::int64_t> pads =
      PerAxis(ctx, "pads", 2 * axes, 0, -(std::int64_t{1} << 40));
  const std::string auto_pad = AutoPad(ctx);
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
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
    if (auto_pad == "NOTSET") {
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

Window TransposedWindow(const OpContext& ctx, std::vector<std::int64_t> kernel,
                        const std::vector<std::int64_t>* given_pads) {
  const Shape& x = ctx.InputShape(0);
  if (x.rank() != kernel.size() + 2) {
    throw Error("the kernel has {} extents, input 0 {} has rank {}", kernel.size(), ToString(x),
                x.rank());
  }
  const std::size_t axes = kernel.size();
  Window w;
  w.out.assign(x.begin() + 2, x.end());
  w.kernel = std::move(kernel);
  w.stride = PerAxis(ctx, "strides", axes, 1, 1);
  w.dilation = PerAxis(ctx, "dilations", axes, 1, 1);
  const std::vector<std::int64_t> pads =
      given_pads != nullptr ? *given_pads
                            : PerAxis(ctx, "pads", 2 * axes, 0, -(std::int64_t{1} << 40));
  if (pads.size() != 2 * axes) throw Error("{} pads for {} spatial axes", pads.size(), axes);
  const std::vector<std::int64_t> extra = PerAxis(ctx, "output_padding", axes, 0, 0);
  const std::string auto_pad = AutoPad(ctx);
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  // Some exporters give batch and channels too.
  std::vector<std::int64_t> given = ctx.Ints("output_shape");
  if (given.size() == axes + 2) given.erase(given.begin(), given.begin() + 2);
  if (!given.empty() && given.size() != axes) {
    throw Error("output_shape has {} entries for {} spatial axes", given.size(), axes);
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (w.kernel[i] < 1) throw Error("kernel extent {} is not positive", w.kernel[i]);
    const Count span = Count(w.kernel[i] - 1) * w.dilation[i] + Count(1);
    const Count full = (Count(w.out[i]) - Count(1)) * w.stride[i] + extra[i] + span;
    Count out = full;
    if (!given.empty()) {
      out = given[i];
    } else if (same) {
      out = Count(w.out[i]) * w.stride[i];
    } else if (auto_pad == "NOTSET") {
      out = full - Count(pads[i]) - Count(pads[axes + i]);
    }
    if (out < Count(0)) throw Error("the output extent of spatial axis {} would be {}", i, out);
    w.in.push_back(out.value());
    if (given.empty() && !same) {
      w.pad_begin.push_back(auto_pad == "NOTSET" ? pads[i] : 0);
      w.pad_end.push_back(auto_pad == "NOTSET" ? pads[axes + i] : 0);
    } else {
      const std::int64_t total = std::max(full - out, Count(0)).value();
      w.pad_begin.push_back(auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2);
      w.pad_end.push_back(total - w.pad_begin.back());
    }
  }
  return w;
}

}  // namespace dlcost
