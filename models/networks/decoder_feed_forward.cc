#include "estimator/core/error.h"
#include "models/networks/decoder.h"
#include "models/networks/layers.h"

namespace dlcost::networks {
namespace {

// down(activation(gate(x)) * up(x))
Value Gated(Builder& b, const Value& x, std::int64_t inner, const DecoderConfig& config) {
  const bool bias = config.feed_forward_bias;
  Value gate, up;
  if (config.joined) {
    const Value both = Linear(b, "gate_up_proj", x, config.width, 2 * inner, bias);
    const std::vector<Value> parts =
        b.Nodes("Split", {both, b.Ints({inner, inner})}, {{"axis", -1}}, 2);
    gate = parts[0];
    up = parts[1];
  } else {
    gate = Linear(b, "gate_proj", x, config.width, inner, bias);
    up = Linear(b, "up_proj", x, config.width, inner, bias);
  }
  const Value product = b.Node("Mul", {Activate(b, gate, config.activation), up});
  return Linear(b, "down_proj", product, inner, config.width, bias);
}

// down(activation(up(x)))
Value Plain(Builder& b, const Value& x, std::int64_t inner, const DecoderConfig& config) {
  const Value up = Linear(b, "up_proj", x, config.width, inner, config.feed_forward_bias);
  return Linear(b, "down_proj", Activate(b, up, config.activation), inner, config.width,
                config.feed_forward_bias);
}

// As ONNX Runtime's operator of experts, whose weights hold gate and value together.
Value RoutedExperts(Builder& b, const Value& x, const DecoderConfig& config) {
  const Experts& experts = *config.experts;
  const Value tokens = b.Node("Reshape", {x, b.Ints({-1, config.width})});
  const Value routes =
      Linear(b, experts.router, tokens, config.width, experts.count, experts.biases);
  Value sum;
  {
    const Builder::Scope scope = b.In("experts");
    const Value gate_up =
        b.Weight("gate_up_proj", {experts.count, 2 * experts.inner, config.width});
    const Value down = b.Weight("down_proj", {experts.count, config.width, experts.inner});
    std::vector<Value> inputs = {tokens, routes, gate_up, "", down};
    if (experts.biases) {
      inputs[3] = b.Weight("gate_up_proj_bias", {experts.count, 2 * experts.inner});
      inputs.push_back(b.Weight("down_proj_bias", {experts.count, config.width}));
    }
    Attributes attributes = {{"activation_type", "swiglu"},
                             {"k", experts.active},
                             {"normalize_routing_weights", experts.normalized ? 1 : 0},
                             {"swiglu_fusion", 1}};
    if (experts.alpha != 1) attributes.emplace_back("activation_alpha", experts.alpha);
    if (experts.beta != 0) attributes.emplace_back("activation_beta", experts.beta);
    if (experts.limit > 0) attributes.emplace_back("swiglu_limit", experts.limit);
    sum = b.ContribNode("MoE", inputs, attributes);
  }
  return b.Node("Reshape", {sum, b.Node("Shape", {x})});
}

Value SharedExpert(Builder& b, const Value& x, const DecoderConfig& config) {
  Value shared;
  {
    const Builder::Scope scope = b.In("shared_experts");
    shared = Gated(b, x, config.experts->shared_inner, config);
  }
  if (!config.experts->gated_share) return shared;
  const Value gate = Linear(b, "shared_expert_gate", x, config.width, 1, false);
  return b.Node("Mul", {b.Node("Sigmoid", {gate}), shared});
}

}  // namespace

Value DecoderFeedForward(Builder& b, const Value& x, std::size_t layer,
                         const DecoderConfig& config) {
  const Builder::Scope scope = b.In("mlp");
  if (!config.layers[layer].experts) {
    return config.gated ? Gated(b, x, config.inner, config) : Plain(b, x, config.inner, config);
  }
  if (config.activation != "silu") {
    throw Error("experts are built with silu gates, not with {}", config.activation);
  }
  const Value routed = RoutedExperts(b, x, config);
  if (config.experts->shared_inner == 0) return routed;
  return b.Node("Add", {routed, SharedExpert(b, x, config)});
}

}  // namespace dlcost::networks
