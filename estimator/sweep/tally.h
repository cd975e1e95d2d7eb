#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/core/dtype.h"
#include "estimator/infer/infer.h"
#include "estimator/plan/kernel.h"

namespace dlcost {

// What can change from one size to another, apart from each other: sizes that bend the one may
// leave the others straight.
enum class CountFamily : std::uint8_t {
  kNodes,  // work and parameters of the nodes, and what each moves on its own
  kFused,  // what kernels move as compilers fuse them
  kIdeal,  // compulsory traffic
  kLive,   // bytes that live while each node runs
};
inline constexpr int kCountFamilies = 4;
std::string_view Name(CountFamily family);  // "counts", "live memory", ...

// One counted number of a model.
struct CountSlot {
  enum class What : std::uint8_t {
    kWork,        // of class `op_class` in `dtype`
    kBytes,       // read and written, of a kernel that `node` names, at fusion `fusion`
    kParameters,  // of the whole model, as the next
    kWeightBytes,
    kLiveBytes,  // at one moment; the peak is the largest
  };
  What what = What::kWork;
  CountFamily family = CountFamily::kNodes;
  OpClass op_class = OpClass::kMac;
  DType dtype = DType::kUndefined;
  Fusion fusion = Fusion::kNone;
  std::int32_t node = -1;  // into InferredModel::nodes
};

// Everything that is counted of a model at one size, as a list of integers. Models of one structure
// have lists of one layout.
struct CountTally {
  std::size_t structure = 0;  // hash of all that is no number: nodes, types, which nodes fuse
  std::vector<std::int64_t> values;
};

// Counts without a device, for all three levels of fusion.
CountTally TallyOf(const InferredModel& model, const PlanOptions& plan);
// What the numbers of that list are.
std::vector<CountSlot> LayoutOf(const InferredModel& model, const PlanOptions& plan);

}  // namespace dlcost
