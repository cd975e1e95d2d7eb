#include "estimator/roofline/forced.h"

#include <fmt/ranges.h>

#include <set>

#include "estimator/core/error.h"
#include "estimator/hardware/device.h"
#include "models/algorithms/convolution.h"

namespace dlcost {
namespace {

// The loop nests of a kernel that runs.
template <typename Nest, typename Visit>
void ForEachNest(const Kernel& kernel, Visit visit) {
  if (kernel.repeat == Count(0)) return;
  const auto* nest = std::get_if<Nest>(&kernel.nest);
  if (nest != nullptr && MacsOf(*nest) > Count(0)) visit(*nest);
  for (const CostPart& part : kernel.parts) {
    const auto* each = std::get_if<Nest>(&part.nest);
    if (each != nullptr && MacsOf(*each) > Count(0)) visit(*each);
  }
}

std::size_t Kernels(const InferredModel& model, const PlanOptions& options) {
  std::size_t kernels = 0;
  ForEachKernel(model, options, [&](const Kernel&) { ++kernels; });
  return kernels;
}

}  // namespace

void ForcedChoices::Add(const Kernel& kernel, const KernelRun& run) {
  convolution_runs_so_ |= run.forced;
  ForEachNest<AttentionNest>(kernel, [&](const AttentionNest&) { attention_runs_ = true; });
}

void ForcedChoices::Require(const InferredModel& model) const {
  if (run_.conv && !convolution_runs_so_) RequireConvolution(model);
  if (plan_.attention) RequireAttention(model);
}

void ForcedChoices::RequireConvolution(const InferredModel& model) const {
  const std::string_view name = Name(*run_.conv);
  if (device_ == nullptr) {
    throw Error("--algo conv={} says how a device runs: add --gpu", name);
  }
  std::set<Algorithm> others;
  std::string why;
  bool any = false;
  const auto see = [&](const ConvNest& nest, DType type) {
    any = true;
    if (why.empty()) why = WhyNot(*run_.conv, nest, type).value_or("");
    for (const Algorithm algorithm :
         {Algorithm::kImplicitGemm, Algorithm::kIm2colGemm, Algorithm::kDirect,
          Algorithm::kWinograd, Algorithm::kWinogradNonfused, Algorithm::kFft,
          Algorithm::kDepthwise}) {
      if (!WhyNot(algorithm, nest, type)) others.insert(algorithm);
    }
  };
  ForEachKernel(model, plan_, [&](const Kernel& kernel) {
    ForEachNest<ConvNest>(kernel, [&](const ConvNest& nest) { see(nest, kernel.math); });
  });
  if (!any) throw Error("--algo conv={}: this model has no convolution", name);
  if (device_->systolic) {
    throw Error("--algo conv={}: on {} every convolution runs on the arrays: leave it out", name,
                device_->id);
  }
  std::vector<std::string_view> names;
  for (const Algorithm algorithm : others) names.push_back(Name(algorithm));
  throw Error("--algo conv={}: no convolution of this model can run so on {}{}; can: {}", name,
              device_->id, why.empty() ? "" : " (" + why + ")", fmt::join(names, ", "));
}

// Attention in one kernel changes the plan where it is found among other nodes, and how a device
// runs where it is an operator of its own.
void ForcedChoices::RequireAttention(const InferredModel& model) const {
  const std::string_view name = Name(*plan_.attention);
  if (attention_runs_ && device_ != nullptr) return;
  // A step is derived for the form: its graph is another one.
  const bool derived = model.step != nullptr;
  const bool flash = !Materializes(*plan_.attention, DType::kFloat32);
  if (derived && (attention_runs_ || !flash)) return;
  PlanOptions other = plan_;
  other.attention = flash ? AttentionForm::kMaterialized : AttentionForm::kFlash;
  if (Kernels(model, plan_) != Kernels(model, other)) return;
  if (attention_runs_) {
    throw Error("--attention {} says how a device runs this model's attention: add --gpu", name);
  }
  throw Error("--attention {}: this model has no attention that could run as one kernel{}", name,
              plan_.fusion == Fusion::kNone
                  ? "; --fusion none runs every node alone, default and ideal look for one"
                  : ": leave it out");
}

}  // namespace dlcost
