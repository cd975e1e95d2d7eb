#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "estimator/compare/slots.h"
#include "estimator/profiles/kernel_name.h"

namespace dlcost {

// Something that ran, in order: a kernel, or all kernels of one call of a framework.
struct Item {
  std::string name;
  KernelFamily family = KernelFamily::kUnknown;
  bool tensor = false;  // its FLOPs are not in the counters of the vector pipe
  std::optional<double> flops;
  std::optional<double> seconds;
  bool depthwise = false;      // its name says so
  int named = -1;              // the slot that an annotation around it names; -1: none
  bool may_be_tensor = false;  // its name does not tell
  // Where its name tells nothing: the family of the slots that most launches of that name fit best,
  // products as kGemm; kUnknown where that is none.
  std::optional<KernelFamily> learnt = {};
};

// Whether products of the model may run on a matrix pipe of the device, for all that is known.
bool MayUseMatrixPipe(const Report& report, const std::optional<Device>& device);

// Whether a pooling kernel of this name may run the slot: pooling by maximum is not pooling by
// average.
bool SameKindOfPool(const Slot& slot, std::string_view kernel);

// What speaks for and against an item belonging to a slot, in one scale: tenths of what a certain
// match of a convolution with a convolution is worth.
inline constexpr int kImpossible = -1'000'000'000;

// The item does the slot's work. `pace` is log2 of how much slower this run is than expected times
// say, where that is known: only then do times count.
int MainScore(const Slot& slot, const Item& item, std::optional<double> pace);
// The item prepares or finishes it: layout changes and transforms around a convolution, split-k
// epilogues behind a product, bias and activation behind either, the further products of recurrent
// cells and attention.
int HelperScore(const Slot& slot, const Item& item, bool main_seen);
// The item is nobody's; the slot has nothing.
int SkipItemScore(const Item& item);
int SkipSlotScore(const Slot& slot);

}  // namespace dlcost
