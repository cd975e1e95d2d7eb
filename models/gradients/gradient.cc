#include "models/gradients/gradient.h"

#include <array>
#include <map>
#include <string>

namespace dlcost {
namespace {

using Rules = std::map<std::pair<std::string_view, std::string_view>, const GradientDef*>;

Rules AllRules() {
  Rules rules;
  for (const std::span<const GradientDef> family : GradientFamilies()) {
    for (const GradientDef& def : family) rules.emplace(std::pair(def.domain, def.name), &def);
  }
  return rules;
}

}  // namespace

GradientContext::GradientContext(NodeWriter& writer, Node& node, int since,
                                 std::vector<bool> wanted, std::vector<TensorId> outputs)
    : writer_(writer),
      node_(node),
      since_(since),
      wanted_(std::move(wanted)),
      outputs_(std::move(outputs)),
      gradients_(node.inputs.size(), kNoTensor) {}

void GradientContext::Set(std::size_t i, TensorId gradient) {
  gradients_[i] = writer_.SumTo(gradient, XShape(i));
}

std::span<const std::span<const GradientDef>> GradientFamilies() {
  static const std::array kFamilies = {
      ConvolutionGradients(), ProductGradients(),       ElementwiseGradients(),
      ActivationGradients(),  NormalizationGradients(), PoolingGradients(),
      ReductionGradients(),   MovementGradients(),      LossGradients(),
      RecurrentGradients(),   AttentionGradients(),     QuantizationGradients(),
      CollectiveGradients(),  ExpertGradients(),        SignalGradients(),
      MatrixGradients(),      GridGradients(),          LinearAttentionGradients()};
  return kFamilies;
}

const GradientDef* FindGradient(std::string_view domain, std::string_view name) {
  static const Rules kRules = AllRules();
  const auto found = kRules.find({domain, name});
  return found == kRules.end() ? nullptr : found->second;
}

}  // namespace dlcost
