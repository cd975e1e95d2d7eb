#include "estimator/compare/evidence.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "estimator/compare/op_family.h"
#include "estimator/core/integer.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

using enum KernelFamily;

// An annotation that names the slot's node outweighs everything that is inferred.
constexpr int kNamed = 200;

int FlopScore(const Slot& slot, const Item& item) {
  if (item.tensor) return 0;
  if (slot.several) {
    // What one of its products does, at least.
    const bool little = item.flops && slot.flops && *item.flops < *slot.flops / (8 * slot.most);
    return item.family == kUnknown && little && !item.may_be_tensor ? kImpossible : 0;
  }
  const std::optional<double> distance = FlopDistance(slot, item.flops);
  if (!distance) return 0;
  if (item.family == kUnknown && *distance < -3) {
    // Perhaps on the matrix pipe, which is in no FLOP counter.
    return item.may_be_tensor || !IsProduct(slot.family) ? 0 : kImpossible;
  }
  const double off = std::abs(*distance);
  return off > 2 ? -30 : RoundToInteger<int>(40 * (1 - off));
}

// Expected times err by a fifth, by more for kernels that a model does not know, and for kernels of
// a shape all the same way: a factor of two is no evidence either way, and many weak ones together
// must not outweigh one operator that would have to be missing.
int TimeScore(const Slot& slot, const Item& item, std::optional<double> pace) {
  if (!pace || slot.several || !slot.seconds || !item.seconds) return 0;
  if (*slot.seconds <= 0 || *item.seconds <= 0) return 0;
  const double off = std::abs(std::log2(*item.seconds / *slot.seconds) - *pace);
  // A kernel whose name tells nothing has but its time to be taken for a product.
  if (item.family == kUnknown && IsProduct(slot.family) && off > 3) return kImpossible;
  return RoundToInteger<int>(6 * (1 - std::min(off, 3.0)));
}

}  // namespace

bool MayUseMatrixPipe(const Report& report, const std::optional<Device>& device) {
  if (!device) return true;
  const auto& work = report.totals.work.entries();
  const bool narrow = std::any_of(work.begin(), work.end(), [](const Work::Entry& entry) {
    return entry.dtype != DType::kFloat32 && Bits(entry.dtype) <= 16;
  });
  return std::any_of(device->rates.begin(), device->rates.end(), [&](const Rate& rate) {
    const bool single = rate.input == NumberFormat::kTf32 || rate.input == NumberFormat::kFp32;
    return rate.unit == UnitKind::kTensor && (narrow || single);
  });
}

bool SameKindOfPool(const Slot& slot, std::string_view kernel) {
  constexpr std::array<std::string_view, 4> kMax = {"MaxPool", "GlobalMaxPool", "MaxRoiPool",
                                                    "MaxUnpool"};
  const std::string name = Lower(std::string(kernel));
  const bool average = Contains(name, "aver") || Contains(name, "avg");
  const bool max = Contains(name, "max");
  if (std::find(kMax.begin(), kMax.end(), slot.op) != kMax.end()) return !average;
  return !max || average;
}

int MainScore(const Slot& slot, const Item& item, std::optional<double> pace) {
  if (item.learnt && *item.learnt != (IsProduct(slot.family) ? kGemm : slot.family)) {
    return kImpossible;
  }
  const int flops = FlopScore(slot, item);
  if (flops == kImpossible) return kImpossible;
  if (item.family == kUnknown && TooFastFor(slot, item.seconds, item.may_be_tensor)) {
    return kImpossible;
  }
  const int fit = flops + TimeScore(slot, item, pace);
  if (item.depthwise && !slot.depthwise) return kImpossible;
  if (item.family == slot.family) {
    if (item.family == kPooling && !SameKindOfPool(slot, item.name)) return kImpossible;
    return (IsProduct(item.family) ? 100 : 80) + fit;
  }
  // A recurrent cell adds and multiplies gates: no product.
  if (item.family == kRecurrent) return kImpossible;
  // A 1x1 convolution is a matrix product, and libraries run it as one; recurrent cells are built
  // of products; fused attention may come as its products.
  if (IsProduct(item.family) && IsProduct(slot.family)) return 50 + fit;
  if (item.family == kUnknown) return fit < kImpossible / 2 ? kImpossible : 5 + fit;
  // Normalization at inference, casts and the like run as plain elementwise kernels or reductions.
  const bool simple = slot.family == kNormalization || slot.family == kQuantize ||
                      slot.family == kLayout || slot.family == kReduction ||
                      slot.family == kSoftmax || slot.family == kEmbedding;
  if (simple &&
      (item.family == kElementwise || item.family == kReduction || item.family == kLayout)) {
    return 20;
  }
  return kImpossible;
}

int HelperScore(const Slot& slot, const Item& item, bool main_seen) {
  if (!IsProduct(slot.family)) return kImpossible;
  if (slot.several && main_seen) {
    if (item.family == kRecurrent && slot.family == kRecurrent) return 40;
    if (IsProduct(item.family) && item.family != kConvolution) return 35;
    if (item.family == kSoftmax && slot.family == kAttention) return 40;
  }
  switch (item.family) {
    case kTransform:
    case kLayout:
      return 30;
    case kEpilogue:
      return main_seen ? 40 : kImpossible;
    case kElementwise:
      return main_seen && slot.follows ? 30 : kImpossible;
    case kReduction:
      return main_seen ? 5 : kImpossible;
    default:
      return kImpossible;
  }
}

int SkipItemScore(const Item& item) {
  if (item.named >= 0) return -kNamed;
  if (IsProduct(item.family)) return -60;
  const bool foreign = item.family == kRandom || item.family == kFill || item.family == kDropout ||
                       item.family == kCommunication;
  return foreign ? 0 : -10;
}

int SkipSlotScore(const Slot& slot) { return IsProduct(slot.family) ? -80 : -20; }

}  // namespace dlcost
