#include "estimator/compare/stages.h"

#include <algorithm>
#include <array>

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
  Flops neighbours, reduction;
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

// The stage that a kernel ran: of its role, and of what its name says that it transforms.
Predicted* StageOf(std::vector<Predicted>& stages, const KernelName& told) {
  const StageRole role = RoleOf(told);
  Predicted* first = nullptr;
  for (Predicted& stage : stages) {
    if (stage.role != role) continue;
    if (!first) first = &stage;
    constexpr std::array<std::string_view, 3> kWhat = {"filter", "input", "output"};
    for (const std::string_view what : kWhat) {
      if (Contains(told.algorithm, what) && Contains(stage.row.stage, what)) return &stage;
    }
  }
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
