#include "estimator/training/loss.h"

#include <fmt/format.h>

#include <optional>

#include "estimator/core/error.h"
#include "estimator/graph/eager_scope.h"
#include "estimator/precision/precision.h"

namespace dlcost {
namespace {

const Tensor& TensorAt(const NodeWriter& writer, TensorId id) {
  return writer.graph().tensors[static_cast<std::size_t>(id)];
}

// Whether [batch, position, C] are scores of words: as many as a table of embeddings has rows.
bool ScoresWords(const NodeWriter& writer, const Shape& shape) {
  if (shape.rank() != 3) return false;
  for (const Node& node : writer.graph().nodes) {
    if (node.op != "Gather" || !node.domain.empty() || node.inputs.size() != 2) continue;
    if (node.inputs[0] == kNoTensor || node.inputs[1] == kNoTensor) continue;
    const std::optional<Shape>& table = TensorAt(writer, node.inputs[0]).type.shape;
    const bool words = !TensorAt(writer, node.inputs[1]).constant;
    if (words && table && table->rank() == 2 && (*table)[0] == shape[2]) return true;
  }
  return false;
}

// What a single output is trained towards, when nobody says: class scores have several classes.
bool ScoresClasses(const NodeWriter& writer, TensorId output) {
  const Shape shape = writer.ShapeOf(output);
  return (shape.rank() == 2 && shape[1] > 1) || ScoresWords(writer, shape);
}

// The scores that a softmax at the end of the model reads: a loss takes those.
TensorId BeforeSoftmax(NodeWriter& writer, TensorId output) {
  for (const Node& node : writer.graph().nodes) {
    if (node.op == "Softmax" && node.domain.empty() && node.outputs.size() == 1 &&
        node.inputs.size() == 1 && node.outputs[0] == output) {
      return node.inputs[0];
    }
  }
  return output;
}

// `apart`: logarithms and likelihood are operators of their own, as PyTorch's eager mode runs them.
TensorId CrossEntropy(NodeWriter& writer, TensorId output, bool apart) {
  const std::string name = TensorAt(writer, output).name;
  TensorId scores = InFloat32(writer, BeforeSoftmax(writer, output));
  const Shape shape = writer.ShapeOf(scores);
  if (shape.rank() < 2) {
    throw Error("--loss cross_entropy and nll need class scores [N, C, ...]; output '{}' is {}",
                Printable(name), ToString(shape));
  }
  // Tokens have their classes last: [batch, position, class] as so many rows.
  if (shape.rank() == 3) {
    scores = writer.Reshape(scores, {shape.Product(0, 2).value(), shape[2]});
  }
  const Shape rows = writer.ShapeOf(scores);
  std::vector<std::int64_t> labels = rows.dims();
  labels.erase(labels.begin() + 1);
  const TensorId target = writer.Input(name + ".labels", DType::kInt64, Shape(labels));
  const std::vector<Attribute> mean = {TextAttribute("reduction", "mean")};
  if (apart) {
    const TensorId logarithms = writer.Node1("LogSoftmax", {scores}, {IntAttribute("axis", 1)});
    return writer.Node1("NegativeLogLikelihoodLoss", {logarithms, target}, mean);
  }
  return writer.Nodes("SoftmaxCrossEntropyLoss", "", {scores, target}, mean, 2)[0];
}

TensorId SumOfAll(NodeWriter& writer, TensorId x) {
  return writer.Node1("ReduceSum", {InFloat32(writer, x)}, {IntAttribute("keepdims", 0)});
}

// The sum of two losses: of a float32 and a float64 one in float64, as frameworks promote.
TensorId Together(NodeWriter& writer, TensorId total, TensorId one) {
  const auto wide = [&](TensorId id) {
    if (writer.TypeOf(total) == writer.TypeOf(one)) return id;
    return writer.Node1("Cast", {id},
                        {IntAttribute("to", static_cast<std::int64_t>(DType::kFloat64))});
  };
  const TensorId left = wide(total), right = wide(one);
  return writer.Add(left, right);
}

TensorId MeanSquare(NodeWriter& writer, TensorId output) {
  const std::string name = TensorAt(writer, output).name;
  output = InFloat32(writer, output);
  const TensorId target =
      writer.Input(name + ".target", writer.TypeOf(output), writer.ShapeOf(output));
  const TensorId difference = writer.Sub(output, target);
  const Count elements = writer.ShapeOf(output).Elements();
  const double share = elements > Count(0) ? 1 / elements.AsDouble() : 0;
  return writer.Scale(SumOfAll(writer, writer.Mul(difference, difference)), share);
}

}  // namespace

const Tensor* OpenOutput(const Graph& graph) {
  const Tensor* open = nullptr;
  for (const TensorId id : graph.outputs) {
    const Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    const bool real = IsFloat(tensor.type.dtype) || tensor.type.dtype == DType::kUndefined;
    if (!real || tensor.type.kind != ValueKind::kTensor || tensor.constant) continue;
    if (tensor.type.shape) return nullptr;
    if (open == nullptr) open = &tensor;
  }
  return open;
}

Seeds WriteLoss(NodeWriter& writer, const std::string& loss, const std::vector<TensorId>& outputs,
                bool apart_by_default, bool scaled) {
  Seeds seeds{.loss = loss};
  std::vector<TensorId> floats;
  for (const TensorId id : outputs) {
    const Tensor& tensor = TensorAt(writer, id);
    if (IsFloat(tensor.type.dtype) && tensor.type.kind == ValueKind::kTensor && tensor.type.shape &&
        !tensor.constant) {
      floats.push_back(id);
    }
  }
  if (floats.empty()) {
    if (const Tensor* open = OpenOutput(writer.graph())) {
      throw Error("--train: the shape of output '{}' is not known", Printable(open->name));
    }
    throw Error("--train: the model has no floating-point output to train towards");
  }
  if (loss == "auto") {
    const bool classes = floats.size() == 1 && ScoresClasses(writer, floats[0]);
    seeds.loss = !classes ? "mse" : apart_by_default ? "nll" : "cross_entropy";
  }
  TensorId total = kNoTensor;
  for (const TensorId output : floats) {
    const std::string name = TensorAt(writer, output).name;
    const bool apart = seeds.loss == "nll";
    writer.Place(name + "/loss", std::string(apart ? kEagerScope : "loss"), Phase::kLoss);
    if (loss == "none") {
      seeds.values.push_back(output);
      seeds.gradients.push_back(
          writer.Input(name + ".grad", writer.TypeOf(output), writer.ShapeOf(output)));
      continue;
    }
    const TensorId one = apart || seeds.loss == "cross_entropy"
                             ? CrossEntropy(writer, output, apart)
                         : seeds.loss == "mse" ? MeanSquare(writer, output)
                                               : SumOfAll(writer, output);
    total = total == kNoTensor ? one : Together(writer, total, one);
  }
  if (total != kNoTensor) {
    const TensorId reported = total;
    if (scaled) {
      seeds.scale = writer.Input("loss_scale", writer.TypeOf(total), {});
      total = writer.Mul(total, seeds.scale);
    }
    seeds.values.push_back(total);
    seeds.gradients.push_back(writer.Scalar(1, writer.TypeOf(total)));
    writer.graph().outputs.push_back(reported);
  }
  return seeds;
}

}  // namespace dlcost
