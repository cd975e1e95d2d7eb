#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/profiles/kernel_name.h"
#include "estimator/report/report.h"

namespace dlcost {

// A kernel that the model should launch, in execution order.
struct Slot {
  std::string op;  // ONNX operator that names it
  KernelFamily family = KernelFamily::kUnknown;
  bool follows = false;           // has a bias or fused neighbours, which other kernels may compute
  std::optional<double> flops;    // predicted, executed as the library would choose
  std::optional<double> seconds;  // expected time, or the bound where nothing is expected
  std::optional<double> least;    // seconds below which the device cannot come
  std::size_t kernel = 0;         // index into Report::kernels
  // What the mathematics needs, where that is another number: the other thing that a counter may
  // come close to. Winograd executes half of it.
  std::optional<double> algorithmic;
  // Launches of products that it may own: 1, or more for recurrent cells (one per step, and one per
  // part of the cell) and for attention (scores and values).
  bool several = false;
  bool depthwise = false;          // a convolution of every channel by itself
  double products = 1;             // of its launches that multiply, as planned; 0 without any
  double most = 1;                 // that a library may launch
  std::vector<std::size_t> after;  // slots whose results it reads; sorted
};

// Launches of products that one run of the model should make: as planned, and at most.
struct ExpectedProducts {
  double planned = 0, least = 0, most = 0;
  double markers = 0;  // launches of pooling, softmax, normalization and gathers
};
// Families that networks differ in and whose kernels say what they are.
bool IsMarker(KernelFamily family);
ExpectedProducts ProductsOf(const std::vector<Slot>& slots);

// The kernels of a plan that launch something.
std::vector<Slot> SlotsOf(const Report& report);

// Whether something whose name tells nothing took too little time for one of the slot's products:
// less than half of what the device needs at least. `may_be_tensor`: it may have run on the matrix
// pipe, where that bound need not hold.
bool TooFastFor(const Slot& slot, std::optional<double> seconds, bool may_be_tensor);

// log2 of measured over the closest number of FLOPs that the slot may execute; nothing where
// nothing is predicted or nothing was measured.
std::optional<double> FlopDistance(const Slot& slot, std::optional<double> measured);

}  // namespace dlcost
