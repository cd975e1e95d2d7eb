#include "estimator/report/execution_json.h"

#include "estimator/report/kernel_views.h"

namespace dlcost {
namespace {

void WriteGemm(JsonWriter& json, const GemmNest& gemm, const Execution* execution, Count units) {
  json.BeginObject();
  json.Member("batch", gemm.batch);
  json.Member("m", gemm.m);
  json.Member("n", gemm.n);
  json.Member("k", gemm.k);
  if (const TileGrid* grid = execution == nullptr ? nullptr : execution->Grid()) {
    json.Key("tile").BeginArray();
    for (const Count extent : {grid->tile_m, grid->tile_n, grid->tile_k}) json.Value(extent);
    json.EndArray();
    json.Member("split_k", grid->split_k);
    json.Member("blocks", grid->Blocks());
    json.Member("waves", grid->Blocks().AsDouble() / units.AsDouble());
    json.Member("padding", execution->PaddingShare());
  }
  json.EndObject();
}

void WriteTerm(JsonWriter& json, const Stage& stage, const Term& term) {
  const Instructions& i = term.instructions;
  json.BeginObject();
  json.Member("stage", stage.name);
  json.Member("what", term.what);
  json.Member("kind", Name(term.kind));
  json.Member("pipe", Name(term.pipe));
  json.Member("dtype", Name(term.type));
  json.Member("fma", i.fma);
  json.Member("add", i.add);
  json.Member("mul", i.mul);
  json.Member("special", i.special);
  json.EndObject();
}

}  // namespace

void WriteExecution(JsonWriter& json, const KernelRow& kernel, Count units) {
  json.Member("label", kernel.label);
  if (!kernel.runner_up.empty()) json.Member("runner_up", kernel.runner_up);
  if (kernel.math != DType::kUndefined) json.Member("math", Name(kernel.math));
  const Execution* execution = kernel.execution.get();
  if (const auto gemm = ProductOf(kernel)) {
    json.Key("gemm");
    WriteGemm(json, *gemm, execution, units);
  }
  if (execution == nullptr) return;
  json.Key("executed").BeginArray();
  for (const Stage& stage : execution->stages) {
    for (const Term& term : stage.terms) WriteTerm(json, stage, term);
  }
  json.EndArray();
  json.Member("extra_read_bytes", execution->ExtraRead());
  json.Member("extra_written_bytes", execution->ExtraWritten());
  json.Member("workspace_bytes", execution->workspace);
}

}  // namespace dlcost
