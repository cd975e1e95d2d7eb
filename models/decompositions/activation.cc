#include "models/decompositions/activation.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "estimator/core/error.h"
#include "models/operators/op_context.h"

namespace dlcost {
namespace {

constexpr double kQuickGeluSlope = 1.702;  // sigmoid(1.702 x) is the exact Gelu's to 2 %

std::string Lower(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

}  // namespace

TensorId Activate(NodeWriter& w, TensorId x, std::string_view name,
                  const std::vector<double>& parameters) {
  const std::string lower = Lower(name);
  const DType type = w.TypeOf(x);
  const auto parameter = [&](std::size_t i, double fallback) {
    return i < parameters.size() ? parameters[i] : fallback;
  };
  if (lower.empty() || lower == "none" || lower == "identity") return x;
  if (lower == "relu") return w.Node1("Relu", {x});
  if (lower == "sigmoid") return w.Node1("Sigmoid", {x});
  if (lower == "tanh") return w.Node1("Tanh", {x});
  if (lower == "softplus") return w.Node1("Softplus", {x});
  if (lower == "softsign") return w.Node1("Softsign", {x});
  if (lower == "gelu") return w.Contrib("Gelu", {x});
  if (lower == "fastgelu") return w.Contrib("FastGelu", {x});
  if (lower == "silu" || lower == "swish") {
    return w.Contrib("QuickGelu", {x}, {RealAttribute("alpha", 1)});
  }
  if (lower == "quickgelu") {
    return w.Contrib("QuickGelu", {x}, {RealAttribute("alpha", parameter(0, kQuickGeluSlope))});
  }
  if (lower == "elu") return w.Node1("Elu", {x}, {RealAttribute("alpha", parameter(0, 1))});
  if (lower == "leakyrelu") {
    return w.Node1("LeakyRelu", {x}, {RealAttribute("alpha", parameter(0, 0.01))});
  }
  if (lower == "thresholdedrelu") {
    return w.Node1("ThresholdedRelu", {x}, {RealAttribute("alpha", parameter(0, 1))});
  }
  if (lower == "hardsigmoid") {
    return w.Node1(
        "HardSigmoid", {x},
        {RealAttribute("alpha", parameter(0, 0.2)), RealAttribute("beta", parameter(1, 0.5))});
  }
  if (lower == "affine") {
    return w.Add(w.Scale(x, parameter(0, 1)), w.Scalar(parameter(1, 0), type));
  }
  if (lower == "scaledtanh") {
    return w.Scale(w.Node1("Tanh", {w.Scale(x, parameter(1, 1))}), parameter(0, 1));
  }
  if (lower == "clip" && parameters.size() == 2) {
    return w.Node1("Clip", {x, w.Scalar(parameters[0], type), w.Scalar(parameters[1], type)});
  }
  throw Unresolved("the derivative with the activation '" + Printable(std::string(name)) +
                   "' is not written");
}

}  // namespace dlcost
