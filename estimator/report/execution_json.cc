#include "estimator/report/execution_json.h"

#include "estimator/report/kernel_views.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

Json GemmJson(const GemmNest& gemm, const Execution* execution, Count units) {
  Json json = {{"batch", gemm.batch.value()},
               {"m", gemm.m.value()},
               {"n", gemm.n.value()},
               {"k", gemm.k.value()}};
  const TileGrid* grid = execution == nullptr ? nullptr : execution->Grid();
  if (grid == nullptr) return json;
  json["tile"] = {grid->tile_m.value(), grid->tile_n.value(), grid->tile_k.value()};
  json["split_k"] = grid->split_k.value();
  json["blocks"] = grid->Blocks().value();
  json["waves"] = grid->Blocks().AsDouble() / units.AsDouble();
  json["padding"] = execution->PaddingShare();
  return json;
}

Json TermJson(const Stage& stage, const Term& term) {
  const Instructions& i = term.instructions;
  return {{"stage", stage.name},
          {"what", term.what},
          {"kind", std::string(Name(term.kind))},
          {"pipe", std::string(Name(term.pipe))},
          {"dtype", std::string(Name(term.type))},
          {"fma", i.fma.value()},
          {"add", i.add.value()},
          {"mul", i.mul.value()},
          {"special", i.special.value()}};
}

}  // namespace

void AddExecution(Json& json, const KernelRow& kernel, Count units) {
  json["label"] = kernel.label;
  if (!kernel.runner_up.empty()) json["runner_up"] = kernel.runner_up;
  if (kernel.math != DType::kUndefined) json["math"] = std::string(Name(kernel.math));
  const Execution* execution = kernel.execution.get();
  if (const auto gemm = ProductOf(kernel)) json["gemm"] = GemmJson(*gemm, execution, units);
  if (execution == nullptr) return;
  Json& terms = json["executed"] = Json::array();
  for (const Stage& stage : execution->stages) {
    for (const Term& term : stage.terms) terms.push_back(TermJson(stage, term));
  }
  json["extra_read_bytes"] = execution->ExtraRead().value();
  json["extra_written_bytes"] = execution->ExtraWritten().value();
  json["workspace_bytes"] = execution->workspace.value();
}

}  // namespace dlcost
