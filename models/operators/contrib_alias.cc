#include <vector>

#include "estimator/core/error.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// ONNX Runtime's operators that are those of the standard domain under another name, as of the
// version given.
struct Alias {
  std::span<const OpDef> (*family)();
  std::string_view of;
  int version;
  std::string_view domain;
  std::string_view name;
  int removed_in = 0;
};

constexpr std::string_view kOrt = "com.microsoft";
constexpr std::string_view kNchwc = "com.microsoft.nchwc";

constexpr Alias kAliases[] = {
    {PoolingOps, "MaxPool", 12, kNchwc, "MaxPool"},
    {PoolingOps, "AveragePool", 11, kNchwc, "AveragePool"},
    {PoolingOps, "GlobalMaxPool", 1, kNchwc, "GlobalMaxPool"},
    {PoolingOps, "GlobalAveragePool", 1, kNchwc, "GlobalAveragePool"},
    {PoolingOps, "MaxPool", 12, kOrt, "MaxpoolWithMask"},
    {ConcatOps, "Concat", 13, kOrt, "ConcatTraining"},
    {ConcatOps, "Split", 13, kOrt, "SplitTraining"},
    {GatherOps, "GatherND", 13, kOrt, "GatherND"},
    {GatherOps, "Gather", 13, kOrt, "TorchEmbedding"},
    {ConstantOps, "Range", 11, kOrt, "Range"},
    {PadOps, "Pad", 13, kOrt, "Pad"},
    {TransposeOps, "Trilu", 14, kOrt, "Trilu"},
    {ViewOps, "Unsqueeze", 13, kOrt, "ExpandDims"},
    {ViewOps, "Identity", 13, kOrt, "SampleOp"},
    {SamplingOps, "GridSample", 16, kOrt, "GridSample"},
    // With channels last its sizes and scales are in that order too.
    {ResizeOps, "Resize", 19, "com.ms.internal.nhwc", "Resize"},
    {ReductionOps, "ReduceSum", 13, kOrt, "ReduceSumTraining"},
    // Experimental in the first opsets: a slice along axes given as inputs, as Slice came to be.
    {SliceOps, "Slice", 10, "", "DynamicSlice", 10},
};

const OpDef& Original(const Alias& alias) {
  for (const OpDef& def : alias.family()) {
    if (def.name == alias.of && def.domain.empty()) return def;
  }
  throw Error("there is no operator {} to stand for {}", alias.of, alias.name);
}

}  // namespace

std::span<const OpDef> ContribAliasOps() {
  static const std::vector<OpDef> defs = [] {
    std::vector<OpDef> made;
    for (const Alias& alias : kAliases) {
      OpDef def = Original(alias);
      def.name = alias.name;
      def.domain = alias.domain;
      def.since = {alias.removed_in > 0 ? 1 : alias.version};
      def.removed_in = alias.removed_in;
      def.cases = def.cases.first(1);
      made.push_back(def);
    }
    return made;
  }();
  return defs;
}

}  // namespace dlcost
