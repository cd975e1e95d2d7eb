#include "estimator/roofline/bound.h"

#include <algorithm>

namespace dlcost {
namespace {

bool RunsOnMatrixUnits(const LoopNest& nest) {
  return std::holds_alternative<GemmNest>(nest) || std::holds_alternative<ConvNest>(nest) ||
         std::holds_alternative<AttentionNest>(nest) || std::holds_alternative<RecurrentNest>(nest);
}

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

class Bounder {
 public:
  Bounder(const Device& device, const BoundOptions& options) : device_(device), options_(options) {}

  Bound Run(const Kernel& kernel) {
    const WorkKind macs_on = RunsOnMatrixUnits(kernel.nest) ? WorkKind::kMatrix : WorkKind::kVector;
    for (const Work::Entry& entry : kernel.least.entries()) {
      const Count macs = entry.counts[static_cast<std::size_t>(OpClass::kMac)];
      AddCompute(macs_on, entry.dtype, macs * Count(2));
      AddCompute(WorkKind::kVector, entry.dtype, OtherOperations(entry));
    }
    for (const RoofTime& roof : bound_.roofs) Raise(bound_.compute, roof);
    AddMemory(kernel.bytes());
    return std::move(bound_);
  }

 private:
  void AddCompute(WorkKind kind, DType type, Count operations) {
    if (operations == Count(0)) return;
    const Roof roof = FindRoof(device_, kind, type, options_.math);
    AddUnique(bound_.notes, roof.note);
    if (!roof.known) return;
    const Seconds time = Flops(operations) / roof.peak;
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

  void AddMemory(Bytes bytes) {
    if (bytes == Bytes(0)) return;
    if (device_.memory.bandwidth) {
      Bytes crossing = bytes;
      if (options_.cache == CacheState::kWarm) {
        crossing = bytes - std::min(bytes, device_.WarmCapacity());
      }
      AddLevel("device memory", crossing / *device_.memory.bandwidth);
    }
    for (const MemoryLevel& level : device_.caches) {
      if (level.bandwidth) AddLevel(level.name, bytes / *level.bandwidth);
    }
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

Bound BoundKernel(const Kernel& kernel, const Device& device, const BoundOptions& options) {
  return Bounder(device, options).Run(kernel);
}

}  // namespace dlcost
