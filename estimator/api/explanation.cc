#include "dlcost/explanation.h"

#include "estimator/api/state.h"
#include "estimator/report/explain.h"
#include "estimator/request/memory_fit.h"

namespace dlcost::api {

struct Explanation::State {
  dlcost::Explanation explained;
};

Explanation::Explanation(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Explanation Explain(const Model& model, const Device& device, const std::string& node,
                    const Bindings& bindings, const Options& options) {
  return Guarded([&] {
    const dlcost::Device& on = device.state().device;
    ModelOptions asked = ModelOptionsOf(model, bindings, options);
    const ReportOptions report = ReportOptionsOf(options, asked, &on);
    asked.plan = report.plan;
    ResolveFit(asked, on, report);
    return Explanation(std::make_shared<const Explanation::State>(
        Explanation::State{dlcost::Explain(InferModel(asked), on, report, node)}));
  });
}

std::string Explanation::node() const { return state_->explained.node; }
std::string Explanation::kernel_id() const { return state_->explained.kernel; }
std::vector<std::string> Explanation::nodes() const { return state_->explained.nodes; }
std::string Explanation::algorithm() const { return state_->explained.algorithm; }
std::int64_t Explanation::launches() const { return state_->explained.launches.value(); }
std::int64_t Explanation::bytes() const { return state_->explained.bytes.value(); }
std::int64_t Explanation::executed_bytes() const {
  return state_->explained.executed_bytes.value();
}
double Explanation::expected_s() const { return state_->explained.time.expected; }
double Explanation::expected_low_s() const { return state_->explained.time.low; }
double Explanation::expected_high_s() const { return state_->explained.time.high; }
double Explanation::bound_s() const { return state_->explained.bound.value(); }
std::string Explanation::limited_by() const { return state_->explained.limited_by; }
std::vector<std::string> Explanation::advice() const { return state_->explained.advice; }

std::vector<ExplainedTerm> Explanation::terms() const {
  std::vector<ExplainedTerm> terms;
  for (const TimeTerm& from : state_->explained.terms) {
    ExplainedTerm& term = terms.emplace_back();
    term.level = from.level;
    term.what = from.what;
    term.text = from.text;
    term.reason = from.reason;
    if (!from.text.empty()) continue;
    term.value = from.value;
    term.unit = from.unit;
  }
  return terms;
}

std::string Explanation::Text() const {
  return Guarded([&] { return ExplanationText(state_->explained); });
}
std::string Explanation::Json() const {
  return Guarded([&] { return ExplanationJson(state_->explained); });
}

}  // namespace dlcost::api
