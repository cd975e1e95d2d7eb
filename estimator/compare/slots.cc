#include "estimator/compare/slots.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "estimator/compare/op_family.h"

namespace dlcost {
namespace {

// Slots that write what this one reads, by the names of tensors.
class Producers {
 public:
  explicit Producers(const Report& report) : report_(report) {
    std::unordered_map<std::string, std::size_t> by_id;
    for (std::size_t k = 0; k < report.kernels.size(); ++k) by_id.emplace(report.kernels[k].id, k);
    for (const NodeRow& node : report.nodes) {
      const auto kernel = by_id.find(node.kernel);
      kernel_of_.push_back(kernel == by_id.end() ? report.kernels.size() : kernel->second);
    }
  }

  // Per kernel, the kernels it depends on directly. Kernels without a launch pass theirs on.
  std::vector<std::vector<std::size_t>> Run() {
    std::unordered_map<std::string, std::size_t> writer;
    std::vector<std::vector<std::size_t>> from(report_.kernels.size());
    for (std::size_t n = 0; n < report_.nodes.size(); ++n) {
      const std::size_t k = kernel_of_[n];
      if (k == report_.kernels.size()) continue;
      for (const Operand& input : report_.nodes[n].inputs) {
        const auto found = writer.find(input.name);
        if (found == writer.end() || found->second == k) continue;
        if (report_.kernels[found->second].launches > Count(0)) {
          from[k].push_back(found->second);
        } else {
          from[k].insert(from[k].end(), from[found->second].begin(), from[found->second].end());
        }
      }
      for (const Operand& output : report_.nodes[n].outputs) {
        if (!output.name.empty()) writer[output.name] = k;
      }
    }
    for (auto& list : from) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return from;
  }

 private:
  const Report& report_;
  std::vector<std::size_t> kernel_of_;
};

}  // namespace

std::vector<Slot> SlotsOf(const Report& report) {
  std::vector<Slot> slots;
  std::vector<std::size_t> slot_of(report.kernels.size(), report.kernels.size());
  const std::vector<std::vector<std::size_t>> from = Producers(report).Run();
  for (std::size_t k = 0; k < report.kernels.size(); ++k) {
    const KernelRow& kernel = report.kernels[k];
    if (kernel.launches == Count(0)) continue;
    Slot slot;
    slot.op = kernel.op;
    slot.family = FamilyOf(report, kernel);
    slot.follows = true;
    slot.kernel = k;
    slot.several =
        slot.family == KernelFamily::kRecurrent || slot.family == KernelFamily::kAttention;
    if (const auto* conv = std::get_if<ConvNest>(&kernel.nest))
      slot.depthwise = conv->groups > Count(1) && conv->groups == conv->in_channels;
    const double launches = kernel.launches.AsDouble();
    slot.products = slot.most = IsProduct(slot.family) ? 1 : 0;
    if (slot.family == KernelFamily::kRecurrent) {
      // A product for all inputs, then a product and a cell per step.
      slot.products = (launches + 1) / 2;
      const auto* nest = std::get_if<RecurrentNest>(&kernel.nest);
      const double cells =
          nest ? (nest->directions * nest->steps * nest->gates * kernel.repeat).AsDouble()
               : launches;
      slot.most = 2 * std::max(launches, cells);  // input and hidden half of every gate apart
    } else if (slot.family == KernelFamily::kAttention) {
      slot.most = 2;  // scores and values
    }
    if (kernel.executed != Flops()) slot.flops = kernel.executed.AsDouble();
    if (kernel.sums.macs > Macs(0)) {
      slot.algorithmic = Flops(kernel.sums.macs.count() * 2).AsDouble();
    }
    if (report.device) {
      slot.seconds = kernel.on_device.value_or(kernel.sums.bound).value();
      slot.least = kernel.sums.bound.value();
    }
    for (const std::size_t producer : from[k]) {
      if (slot_of[producer] < slots.size()) slot.after.push_back(slot_of[producer]);
    }
    std::sort(slot.after.begin(), slot.after.end());
    slot_of[k] = slots.size();
    slots.push_back(std::move(slot));
  }
  return slots;
}

bool IsMarker(KernelFamily family) {
  return family == KernelFamily::kPooling || family == KernelFamily::kSoftmax ||
         family == KernelFamily::kNormalization || family == KernelFamily::kEmbedding;
}

ExpectedProducts ProductsOf(const std::vector<Slot>& slots) {
  ExpectedProducts expected;
  for (const Slot& slot : slots) {
    expected.planned += slot.products;
    expected.least += slot.products > 0 ? 1 : 0;
    expected.most += slot.most;
    // Attention has a softmax of its own where it is not one kernel.
    const bool attention = slot.family == KernelFamily::kAttention;
    expected.markers += IsMarker(slot.family) || attention ? 1 : 0;
  }
  return expected;
}

bool TooFastFor(const Slot& slot, std::optional<double> seconds, bool may_be_tensor) {
  // Matrix pipes multiply up to 16 times as fast: A100, 312 TFLOP/s dense in 16 bits, 19.5 in fp32.
  constexpr double kMatrix = 16;
  if (!seconds || !slot.least || !IsProduct(slot.family)) return false;
  const double least = *slot.least / (2 * std::max(1.0, slot.most));
  return *seconds < (may_be_tensor ? least / kMatrix : least);
}

std::optional<double> FlopDistance(const Slot& slot, std::optional<double> measured) {
  if (!measured || *measured <= 0) return std::nullopt;
  std::optional<double> best;
  for (const std::optional<double>& predicted : {slot.flops, slot.algorithmic}) {
    if (!predicted || *predicted <= 0) continue;
    const double distance = std::log2(*measured / *predicted);
    if (!best || std::abs(distance) < std::abs(*best)) best = distance;
  }
  return best;
}

}  // namespace dlcost
