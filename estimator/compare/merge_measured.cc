#include "estimator/compare/merge_measured.h"

#include <algorithm>
#include <utility>

namespace dlcost {
namespace {

// Kernels by name: what a file adds to those of another. Names that only one file has stay as they
// are: then the other's part of them is not known.
void MergeParts(std::vector<MeasuredPart>& to, const std::vector<MeasuredPart>& from) {
  for (const MeasuredPart& part : from) {
    const auto known = std::find_if(to.begin(), to.end(),
                                    [&](const MeasuredPart& p) { return p.name == part.name; });
    if (known == to.end()) continue;
    Prefer(known->time, part.time);
    Prefer(known->vector_flops, part.vector_flops);
    Prefer(known->tensor_flops, part.tensor_flops);
    Prefer(known->tensor_instructions, part.tensor_instructions);
    Prefer(known->dram_bytes, part.dram_bytes);
    if (!known->occupancy.Value()) known->occupancy = part.occupancy;
  }
}

}  // namespace

void MergeMeasured(Measured& to, const Measured& from, bool finer) {
  if (!from.any()) return;
  Prefer(to.time, from.time);
  std::vector<MeasuredPart> others;
  if (!to.any() || finer || from.names.size() > to.names.size()) {
    to.names = from.names;
    others = std::exchange(to.parts, from.parts);
    to.main = from.main;
    to.launches = from.launches;
    to.joined_by = from.joined_by;
    to.confidence = from.confidence;
    to.by_name = from.by_name;
    to.family_told = from.family_told;
  }
  MergeParts(to.parts, others.empty() ? from.parts : others);
  to.tensor |= from.tensor;
  Prefer(to.vector_flops, from.vector_flops);
  Prefer(to.tensor_flops, from.tensor_flops);
  Prefer(to.tensor_instructions, from.tensor_instructions);
  Prefer(to.dram_bytes, from.dram_bytes);
  Prefer(to.allocated, from.allocated);
  if (!to.occupancy.Value()) to.occupancy = from.occupancy;
}

}  // namespace dlcost
