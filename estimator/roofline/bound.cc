#include "estimator/roofline/bound.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlcost {
namespace {

// Floating-point operations besides multiply-accumulates. A transcendental takes at least one
// instruction.
Count OtherOperations(const Work::Entry& entry) {
  Count sum;
  for (const OpClass op_class : {OpClass::kAdd, OpClass::kMul, OpClass::kDiv, OpClass::kSqrt,
                                 OpClass::kExp, OpClass::kLog, OpClass::kTrig, OpClass::kCompare}) {
    sum += entry.counts[static_cast<std::size_t>(op_class)];
  }
  return sum;
}

void AddUnique(std::vector<std::string>& notes, const std::string& note) {
  if (!note.empty() && std::find(notes.begin(), notes.end(), note) == notes.end()) {
    notes.push_back(note);
  }
}

Bytes Beyond(Bytes bytes, Bytes kept) { return bytes - std::min(bytes, kept); }

// Input that no filter position touches: a convolution whose stride exceeds its kernel skips rows
// and columns (1x1 with stride 2 reads a quarter). The counted traffic holds the whole tensor.
Bytes SkippedBytes(const Kernel& kernel) {
  const auto* conv = std::get_if<ConvNest>(&kernel.nest);
  if (!conv || conv->transposed) return Bytes(0);
  Count all = conv->batch * conv->in_channels, touched = all;
  for (const ConvAxis& axis : conv->axes) {
    all *= Count(axis.in);
    touched *= std::min(Count(axis.in), Count(axis.out) * axis.kernel);
  }
  return SizeOf(kernel.math, all - touched);
}

class Bounder {
 public:
  Bounder(const Device& device, const BoundOptions& options) : device_(device), options_(options) {}

  Bound Run(const Kernel& kernel, const Work& least, WorkKind macs_on, Bytes extra) {
    if (!IsProduct(kernel.nest)) macs_on = WorkKind::kVector;
    for (const Work::Entry& entry : least.entries()) {
      const Count macs = entry.counts[static_cast<std::size_t>(OpClass::kMac)];
      AddCompute(macs_on, FasterOf(kernel, macs_on, entry.dtype), macs * Count(2));
      AddCompute(WorkKind::kVector, entry.dtype, OtherOperations(entry));
    }
    for (const RoofTime& roof : bound_.roofs) Raise(bound_.compute, roof);
    AddMemory(kernel, extra);
    return std::move(bound_);
  }

 private:
  // The type that a product multiplies in: integers where it may and they are faster.
  DType FasterOf(const Kernel& kernel, WorkKind kind, DType type) const {
    if (!options_.int8_blocks || !IsFloat(type) || !StoresNarrow(kernel)) return type;
    const Roof given = FindRoof(device_, kind, type, options_.math),
               narrow = FindRoof(device_, kind, DType::kInt8, options_.math);
    return given.known && narrow.known && narrow.reached > given.reached ? DType::kInt8 : type;
  }

  void AddCompute(WorkKind kind, DType type, Count operations) {
    if (operations == Count(0)) return;
    const Roof roof = FindRoof(device_, kind, type, options_.math);
    AddUnique(bound_.notes, roof.note);
    if (!roof.known) return;
    const Seconds time = Flops(operations) / roof.reached;
    if (roof.reached > roof.peak) {
      AddUnique(bound_.notes,
                fmt::format("{} runs above its rated clock, at up to {:.4g} MHz: bounds "
                            "rest on that",
                            device_.id, device_.max_clock->value() / 1e6));
    }
    // Times of one unit add up, whatever the formats; the roof is named after the format that takes
    // longest.
    Seconds& total = roof.unit == UnitKind::kTensor ? tensor_ : vector_;
    total += time;
    const std::string unit(Name(roof.unit));
    const std::string name = unit + " " + std::string(Name(roof.input));
    for (RoofTime& known : bound_.roofs) {
      if (known.roof.rfind(unit, 0) == 0) {
        known.time = total;
        return;
      }
    }
    bound_.roofs.push_back({name, total});
  }

  // Device memory moves reads and writes over one interface; the levels on the chip have paths of
  // their own for each. A level keeps back what is in it and in those closer to the units.
  void AddMemory(const Kernel& kernel, Bytes extra) {
    const Count runs = std::max(kernel.repeat, Count(1));
    const Bytes skipped = SkippedBytes(kernel) * runs;
    const Bytes read = kernel.bytes_read - std::min(kernel.bytes_read, skipped);
    const Bytes bytes = read + kernel.bytes_written;
    if (bytes == Bytes(0)) return;
    Bytes inside = Inside(kernel, skipped);
    bound_.on_chip = std::min(bytes, inside);
    if (device_.memory.bandwidth) {
      const Bytes through = Beyond(bytes, inside) + extra;
      AddLevel("device memory", through / *device_.memory.bandwidth);
    }
    for (const MemoryLevel& level : device_.caches) {
      inside = Beyond(inside, level.size.value_or(Bytes(0)) * runs);
      if (!level.bandwidth) continue;
      const Bytes crossing = std::max(Beyond(read, inside), Beyond(kernel.bytes_written, inside));
      AddLevel(level.name, crossing / *level.bandwidth);
    }
  }

  // What may be on the chip: as much as fits, in every run of the kernel. What it skips of its
  // input came from the kernels before.
  Bytes Inside(const Kernel& kernel, Bytes skipped) {
    if (options_.cache == CacheState::kCold) return Bytes(0);
    const Bytes room = device_.WarmCapacity() * std::max(kernel.repeat, Count(1));
    if (options_.cache == CacheState::kWarm) return room;
    const Bytes passed =
        Beyond(kernel.bytes_passed, skipped) + KeptWeights(kernel, device_, options_);
    bound_.overflows = passed > room;
    return std::min(room, passed);
  }

  void AddLevel(const std::string& name, Seconds time) {
    bound_.roofs.push_back({name, time});
    Raise(bound_.memory, bound_.roofs.back());
  }

  void Raise(Seconds& group, const RoofTime& roof) {
    group = std::max(group, roof.time);
    if (roof.time > bound_.time || bound_.limiter.empty()) {
      bound_.time = std::max(bound_.time, roof.time);
      bound_.limiter = roof.roof;
    }
  }

  const Device& device_;
  const BoundOptions& options_;
  Bound bound_;
  Seconds tensor_, vector_;
};

}  // namespace

bool StoresNarrow(const Kernel& kernel) {
  constexpr int kMostBits = 10;  // q8_0: 8.5
  const auto* gemm = std::get_if<GemmNest>(&kernel.nest);
  if (gemm == nullptr || !gemm->b_is_weight || kernel.bytes_weights == Bytes(0)) return false;
  const Count weights = gemm->batch * gemm->n * gemm->k * std::max(kernel.repeat, Count(1));
  return 8.0 * kernel.bytes_weights.AsDouble() <= kMostBits * weights.AsDouble();
}

bool WeightsStay(const Device& device, const BoundOptions& options) {
  return options.cache == CacheState::kPassed && !device.systolic && options.weights > Bytes(0) &&
         options.weights <= device.WarmCapacity();
}

Bytes KeptWeights(const Kernel& kernel, const Device& device, const BoundOptions& options) {
  return WeightsStay(device, options) ? kernel.bytes_weights : Bytes(0);
}

Bound BoundKernel(const Kernel& kernel, const Work& least, WorkKind macs_on, Bytes extra,
                  const Device& device, const BoundOptions& options) {
  return Bounder(device, options).Run(kernel, least, macs_on, extra);
}

}  // namespace dlcost
