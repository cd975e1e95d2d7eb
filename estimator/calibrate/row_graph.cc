#include "estimator/calibrate/row_graph.h"

#include "estimator/infer/infer.h"

namespace dlcost {
namespace {

constexpr int kOpset = 24;  // of ai.onnx

std::vector<std::int64_t> Extents(const RowGraph::Sizes& sizes) {
  std::vector<std::int64_t> extents;
  extents.reserve(sizes.size());
  for (const Count size : sizes) extents.push_back(size.value());
  return extents;
}

}  // namespace

TensorId RowGraph::AddTensor(Role role) {
  std::vector<Tensor>& tensors = model_.graph.tensors;
  Tensor& tensor = tensors.emplace_back();
  tensor.name = fmt::format("t{}", tensors.size());
  tensor.role = role;
  return static_cast<TensorId>(tensors.size() - 1);
}

TensorId RowGraph::Input(DType type, const Sizes& shape) {
  const TensorId id = AddTensor(Role::kInput);
  std::vector<Dim> dims;
  for (const std::int64_t size : Extents(shape)) dims.push_back({.size = size});
  model_.graph.tensors.back().declared = DeclaredType{.dtype = type, .dims = std::move(dims)};
  model_.graph.inputs.push_back(id);
  return id;
}

TensorId RowGraph::Weight(DType type, const Sizes& shape) {
  const TensorId id = AddTensor(Role::kWeight);
  Tensor& tensor = model_.graph.tensors.back();
  tensor.type = {.dtype = type, .shape = Shape(Extents(shape))};
  tensor.stored = SizeOf(type, tensor.type.shape->Elements());
  tensor.is_initializer = tensor.constant = tensor.foldable = true;
  return id;
}

TensorId RowGraph::Add(const std::string& op, std::vector<TensorId> inputs,
                       std::vector<Attribute> attributes) {
  const TensorId output = AddTensor(Role::kActivation);
  model_.graph.nodes.push_back({.name = op,
                                .op = op,
                                .opset = kOpset,
                                .inputs = std::move(inputs),
                                .outputs = {output},
                                .attributes = std::move(attributes)});
  return output;
}

TensorId RowGraph::AddContrib(const std::string& op, std::vector<TensorId> inputs,
                              std::vector<Attribute> attributes, std::size_t output) {
  const TensorId wanted = Add(op, std::move(inputs), std::move(attributes));
  Node& node = model_.graph.nodes.back();
  node.domain = "com.microsoft";
  node.opset = 1;
  node.outputs.insert(node.outputs.begin(), output, kNoTensor);
  return wanted;
}

void RowGraph::AddTraining(const std::string& op, std::vector<TensorId> inputs,
                           std::vector<Attribute> attributes, std::size_t outputs) {
  Add(op, std::move(inputs), std::move(attributes));
  Node& node = model_.graph.nodes.back();
  node.domain = "dlcost.training";
  node.opset = 1;
  while (node.outputs.size() < outputs) node.outputs.push_back(AddTensor(Role::kActivation));
}

std::vector<Kernel> RowGraph::Plan(AttentionForm attention) && {
  Graph& graph = model_.graph;
  for (const TensorId output : graph.nodes.back().outputs) {
    if (output == kNoTensor) continue;
    graph.outputs.push_back(output);
    graph.tensors[static_cast<std::size_t>(output)].role = Role::kOutput;
  }
  model_.path = graph.nodes.front().op;
  model_.opset = {{"", kOpset}, {"com.microsoft", 1}, {"dlcost.training", 1}};
  std::vector<Kernel> kernels;
  ForEachKernel(Infer(std::move(model_), {}),
                {.fusion = Fusion::kDefault, .attention_by_default = attention},
                [&](Kernel kernel) {
                  if (kernel.repeat > Count(0)) kernels.push_back(std::move(kernel));
                });
  return kernels;
}

}  // namespace dlcost
