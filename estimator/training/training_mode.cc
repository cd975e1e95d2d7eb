#include "estimator/training/training_mode.h"

#include <fmt/format.h>

#include <utility>

#include "estimator/training/plane_norms.h"

namespace dlcost {
namespace {

constexpr int kDropoutWithInputs = 12;  // the opset in which ratio and training mode are inputs

void EraseAttribute(Node& node, std::string_view name) {
  std::erase_if(node.attributes, [&](const Attribute& a) { return a.name == name; });
}

// Whether scale and statistics are one number per channel, as every framework has them.
bool IsSpatial(const Node& node) {
  const AttributeValue* spatial = node.FindAttribute("spatial");
  const auto* value = spatial == nullptr ? nullptr : std::get_if<std::int64_t>(spatial);
  return value == nullptr || *value != 0;
}

void TrainBatchNorm(NodeWriter& writer, Node& node) {
  node.op = "BatchNormInternal";
  node.domain = "com.microsoft";
  node.opset = 1;
  EraseAttribute(node, "training_mode");
  EraseAttribute(node, "is_test");
  node.outputs.resize(1);
  // Updated running statistics leave the step; those of the batch stay for the gradient.
  for (const std::size_t output : {1U, 2U}) {
    writer.graph().outputs.push_back(writer.ExtraOutput(node, output));
  }
  for (const std::size_t output : {3U, 4U}) writer.ExtraOutput(node, output);
}

// Whether the file asks for no dropping at all.
bool IsIdle(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || node.inputs[1] == kNoTensor) return false;
  const Tensor& ratio = graph.tensors[static_cast<std::size_t>(node.inputs[1])];
  return ratio.value != nullptr && ratio.value->size() == 1 && ratio.value->Real(0) == 0;
}

void TrainDropout(NodeWriter& writer, Node& node) {
  double ratio = 0.5;
  if (const AttributeValue* given = node.FindAttribute("ratio")) {
    if (const double* value = std::get_if<double>(given)) ratio = *value;
  }
  for (const std::string_view name : {"ratio", "is_test", "seed"}) EraseAttribute(node, name);
  node.opset = std::max(node.opset, kDropoutWithInputs);
  node.inputs.resize(3, kNoTensor);
  if (node.inputs[1] == kNoTensor) node.inputs[1] = writer.Scalar(ratio, DType::kFloat32);
  node.inputs[2] = writer.True();
  if (node.outputs.size() > 1 && node.outputs[1] != kNoTensor) {
    writer.Infer(node);
  } else {
    writer.ExtraOutput(node, 1);
  }
}

}  // namespace

std::vector<std::string> EnterTraining(NodeWriter& writer) {
  std::vector<std::string> notes;
  std::size_t convolutions = 0, normalizations = 0;
  std::vector<Node> nodes = std::exchange(writer.graph().nodes, {});
  for (Node& node : nodes) {
    if (node.op == "Conv" && node.domain.empty() && node.inputs.size() > 2) ++convolutions;
    if (node.op.find("Normalization") != std::string::npos) ++normalizations;
    if (node.op == "BatchNormalization" && node.domain.empty() && node.inputs.size() == 5 &&
        IsSpatial(node)) {
      TrainBatchNorm(writer, node);
    } else if (node.op == "Dropout" && node.domain.empty() && !IsIdle(writer.graph(), node)) {
      TrainDropout(writer, node);
    } else if (node.op == "RMSNormalization" && node.domain.empty()) {
      node.op = "SimplifiedLayerNormalization";  // the same with its deviation as an output
    } else if (TrainPlaneNorm(writer, node)) {
      writer.Take();
      continue;
    }
    writer.graph().nodes.push_back(std::move(node));
  }
  if (convolutions > 0 && normalizations == 0) {
    notes.push_back(fmt::format(
        "{} convolutions have a bias and no normalization is in the model: where an exporter "
        "folded batch normalization, training costs more than this",
        convolutions));
  }
  return notes;
}

}  // namespace dlcost
