#include "estimator/compare/stages.h"

#include <algorithm>

#include "estimator/compare/op_family.h"
#include "estimator/compare/tally.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

enum class StageRole { kTransform, kProduct, kReduction, kNeighbours };

constexpr const char* kNeighbours = "bias and fused neighbours";
constexpr const char* kReductionOfSplit = "reduction of the split";

StageRole RoleOf(const KernelName& kernel) {
  if (IsProduct(kernel.family)) return StageRole::kProduct;
  switch (kernel.family) {
    case KernelFamily::kTransform:
    case KernelFamily::kLayout:
      return StageRole::kTransform;
    case KernelFamily::kEpilogue:
    case KernelFamily::kReduction:
      return StageRole::kReduction;
    case KernelFamily::kUnknown:
      return StageRole::kProduct;
    default:
      return StageRole::kNeighbours;
  }
}

bool Multiplies(const Stage& stage) {
  return std::any_of(stage.terms.begin(), stage.terms.end(),
                     [](const Term& term) { return term.kind == TermKind::kProducts; });
}

struct Predicted {
  StageRow row;
  StageRole role;
};

// The stages that a kernel of its own may run, in order of execution.
std::vector<Predicted> PredictedStages(const Execution& execution) {
  std::vector<Predicted> stages;
  Flops neighbours;
  for (const Stage& stage : execution.stages) {
    Flops flops, aside;
    for (const Term& term : stage.terms) {
      if (term.pipe != Pipe::kVector) continue;
      const Flops issued = term.instructions.flops();
      // What the planner fused in is written as terms of that name.
      (term.what == kNeighbours ? aside : flops) += issued;
    }
    neighbours += aside;
    const bool multiplies = Multiplies(stage);
    StageRow row{.stage = stage.name, .executed = flops};
    stages.push_back({std::move(row), multiplies ? StageRole::kProduct : StageRole::kTransform});
  }
  StageRow row{.stage = kNeighbours, .executed = neighbours};
  stages.push_back({std::move(row), StageRole::kNeighbours});
  return stages;
}

// Transforms before the product that no kernel's name tells apart count as one.
void MergeForward(std::vector<Predicted>& stages, Predicted& first) {
  for (auto stage = stages.begin(); stage != stages.end();) {
    const std::string& name = stage->row.stage;
    const bool behind = Contains(name, Name(TransformedPart::kOutput)) ||
                        Contains(name, Name(TransformedPart::kInverse));
    if (&*stage == &first || stage->role != StageRole::kTransform || behind) {
      ++stage;
      continue;
    }
    first.row.stage += ", " + name;
    Sum(first.row.executed, stage->row.executed);
    stage = stages.erase(stage);
  }
}

// The stage that a kernel ran: of its role, and of what its name says that it transforms.
Predicted* StageOf(std::vector<Predicted>& stages, const KernelName& told) {
  const StageRole role = RoleOf(told);
  const TransformedPart what = TransformedBy(told.algorithm);
  Predicted* first = nullptr;
  for (Predicted& stage : stages) {
    if (stage.role != role) continue;
    if (!first) first = &stage;
    if (what != TransformedPart::kNone && Contains(stage.row.stage, Name(what))) return &stage;
  }
  // The first stands before all that are erased, and stays where it is.
  if (first && role == StageRole::kTransform && what == TransformedPart::kNone)
    MergeForward(stages, *first);
  return first;
}

}  // namespace

std::vector<StageRow> StagesOf(const Execution& execution, const Measured& measured) {
  std::vector<Predicted> stages = PredictedStages(execution);
  for (const MeasuredPart& part : measured.parts) {
    Predicted* stage = StageOf(stages, part.told);
    if (!stage) {
      const StageRole role = RoleOf(part.told);
      StageRow row{.stage = role == StageRole::kReduction ? kReductionOfSplit
                                                          : std::string(Name(part.told.family))};
      stages.push_back({std::move(row), role});
      stage = &stages.back();
    }
    StageRow& row = stage->row;
    row.launches += part.launches;
    row.kernels.push_back(part.name);
    Sum(row.measured_flops, part.vector_flops);
    Sum(row.time, part.time);
  }
  std::vector<StageRow> rows;
  std::size_t ran = 0;
  for (Predicted& stage : stages) {
    StageRow& row = stage.row;
    ran += row.launches > 0;
    const bool nothing = row.launches == 0 && (!row.executed || *row.executed == Flops(0));
    if (nothing) continue;
    if (row.measured_flops && row.executed && *row.executed > Flops(0))
      row.ratio = *row.measured_flops / row.executed->AsDouble();
    rows.push_back(std::move(row));
  }
  if (ran < 2) rows.clear();
  return rows;
}

}  // namespace dlcost
