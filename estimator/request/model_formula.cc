#include "estimator/request/model_formula.h"

#include "estimator/core/error.h"
#include "estimator/infer/infer_once.h"

namespace dlcost {
namespace {

void MoveBase(const std::map<std::string, std::int64_t>& around, ModelVariables& variables) {
  for (const auto& [name, size] : around) {
    if (size < 1) throw Error("--around {}={}: a formula is found around sizes from 1", name, size);
    variables.base()[variables.IndexOf(name)] = size;
  }
}

}  // namespace

Formula FormulaOf(const FormulaRequest& request) {
  RequireNothingSought(request.model);
  const ReportOptions report = ReportOptionsOf(request.count, DeviceOptions(), request.model);
  ModelOptions model_options = request.model;
  model_options.plan = report.plan;
  const ModelDerivation derive = DerivationOf(model_options);
  const InferOptions infer = InferOptionsOf(request.model, BindingsOf(request.model));
  const Model model = ModelOf(request.model);
  ModelVariables variables = ModelVariables::Of(model, infer, request.tied);
  MoveBase(request.around, variables);
  const auto at_point = [&](const Point& point, bool advised) {
    if (request.on_counted) request.on_counted();
    InferOptions at = infer;
    at.bindings = variables.At(point);
    InferredModel inferred = advised ? Infer(*Uninferred(model), at) : InferUnadvised(model, at);
    if (derive) inferred = derive(std::move(inferred), at);
    ApplyDType(request.model, inferred);
    return inferred;
  };
  return FindFormula([&](const Point& point) { return at_point(point, false); }, variables.names(),
                     variables.base(),
                     {.convention = report.convention,
                      .plan = report.plan,
                      .scope_depth = request.scope_depth,
                      .may_move = request.around.empty(),
                      .advised_at = [&](const Point& point) { return at_point(point, true); }});
}

}  // namespace dlcost
