#include "estimator/training/activations.h"

#include <algorithm>

#include "estimator/training/uses.h"

namespace dlcost {
namespace {

constexpr int kMishOpset = 18;  // the first of ONNX's that has it

class Joiner : Uses {
 public:
  explicit Joiner(Graph& graph) : Uses(graph), graph_(graph), gone_(graph.nodes.size(), false) {}

  void Run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (gone_[n] || !Is(n, "Mul")) continue;
      if (!JoinGelu(n) && !JoinSilu(n)) JoinMish(n);
    }
    std::size_t n = 0;
    std::erase_if(graph_.nodes, [&](const Node&) { return gone_[n++]; });
  }

 private:
  bool IsNumber(TensorId id) const {
    if (id == kNoTensor) return false;
    return tensor(id).constant && ShapeOf(id) != nullptr && ShapeOf(id)->Elements() == Count(1);
  }
  // The node that makes a value which only one node reads.
  std::size_t Inner(TensorId id, std::string_view op) const {
    const std::size_t n = Maker(id);
    return n != kNone && !gone_[n] && Is(n, op) && OnlyReader(id) != kNone ? n : kNone;
  }
  // The other operand of a node that has one number; kNoTensor for others.
  TensorId BesideNumber(std::size_t n) const {
    if (IsNumber(In(n, 1))) return In(n, 0);
    return IsNumber(In(n, 0)) ? In(n, 1) : kNoTensor;
  }

  // erf(x / c) + 1, or kNoTensor where the value is something else; adds its nodes.
  TensorId ErfOf(TensorId id, std::vector<std::size_t>& nodes) const {
    const std::size_t add = Inner(id, "Add");
    if (add == kNone) return kNoTensor;
    const std::size_t erf = Inner(BesideNumber(add), "Erf");
    if (erf == kNone) return kNoTensor;
    std::size_t scale = Inner(In(erf, 0), "Div");
    if (scale == kNone) scale = Inner(In(erf, 0), "Mul");
    if (scale == kNone) return kNoTensor;
    nodes.insert(nodes.end(), {add, erf, scale});
    return BesideNumber(scale);
  }

  // tanh(c (x + c x^3)) + 1, or kNoTensor where the value is something else; adds its nodes.
  TensorId TanhOf(TensorId id, std::vector<std::size_t>& nodes) const {
    const std::size_t add = Inner(id, "Add");
    if (add == kNone) return kNoTensor;
    const std::size_t tanh = Inner(BesideNumber(add), "Tanh");
    if (tanh == kNone) return kNoTensor;
    const std::size_t scale = Inner(In(tanh, 0), "Mul");
    if (scale == kNone) return kNoTensor;
    const std::size_t sum = Inner(BesideNumber(scale), "Add");
    if (sum == kNone) return kNoTensor;
    nodes.insert(nodes.end(), {add, tanh, scale, sum});
    const TensorId x = In(sum, 0);
    const std::size_t part = Inner(In(sum, 1), "Mul");
    if (part == kNone || !IsCube(BesideNumber(part), x, nodes)) return kNoTensor;
    nodes.push_back(part);
    return x;
  }

  // Whether a value is x^3 or x (x x).
  bool IsCube(TensorId id, TensorId x, std::vector<std::size_t>& nodes) const {
    if (const std::size_t power = Inner(id, "Pow"); power != kNone) {
      nodes.push_back(power);
      return In(power, 0) == x && Number(In(power, 1)) == 3.0;
    }
    const std::size_t product = Inner(id, "Mul");
    if (product == kNone || In(product, 0) != x) return false;
    const std::size_t square = Inner(In(product, 1), "Mul");
    nodes.insert(nodes.end(), {product, square});
    return square != kNone && In(square, 0) == x && In(square, 1) == x;
  }

  // (x (erf + 1)) c, (x c) (erf + 1), x ((erf + 1) c). With tanh the first and the last, as
  // exporters write a call of the framework's function; a model's own code (GPT-2, BLOOM)
  // multiplies x c first, and keeps what its operators keep.
  // Source: PyTorch, torch/onnx/symbolic_opset9.py: gelu; onnxscript, torch_lib/ops/nn.py:
  // aten_gelu.
  bool JoinGelu(std::size_t last) {
    for (const std::size_t side : {0U, 1U}) {
      const TensorId a = In(last, side), b = In(last, 1 - side);
      std::vector<std::size_t> nodes;
      TensorId x = kNoTensor;
      if (const std::size_t half = Inner(a, "Mul"); half != kNone) {
        const TensorId sum = IsNumber(b) ? In(half, 1) : BesideNumber(half);
        const TensorId other = IsNumber(b) ? In(half, 0) : b;
        nodes = {half};
        if (sum != kNoTensor && TanhOf(sum, nodes) == other) {
          Become(last, nodes, other, "FastGelu", {});
          return true;
        }
      }
      if (const std::size_t half = Inner(a, "Mul"); half != kNone && IsNumber(b)) {
        nodes = {half};
        x = ErfOf(In(half, 1), nodes);
        if (x == kNoTensor || x != In(half, 0)) continue;
      } else if (half != kNone && BesideNumber(half) != kNoTensor) {
        nodes = {half};
        x = ErfOf(b, nodes);
        const bool scaled_x = x != kNoTensor && BesideNumber(half) == x;
        if (!scaled_x) {
          nodes = {half};
          x = ErfOf(BesideNumber(half), nodes);
          if (x == kNoTensor || x != b) continue;
        }
      } else {
        continue;
      }
      Become(last, nodes, x, "Gelu", {});
      return true;
    }
    return false;
  }

  bool JoinSilu(std::size_t last) {
    for (const std::size_t side : {0U, 1U}) {
      const std::size_t sigmoid = Inner(In(last, side), "Sigmoid");
      if (sigmoid == kNone || In(sigmoid, 0) != In(last, 1 - side)) continue;
      Become(last, {sigmoid}, In(sigmoid, 0), "QuickGelu", {{"alpha", 1.0}});
      return true;
    }
    return false;
  }

  // x tanh(log(1 + e^x)).
  bool JoinMish(std::size_t last) {
    for (const std::size_t side : {0U, 1U}) {
      const std::size_t tanh = Inner(In(last, side), "Tanh");
      const std::size_t plus = tanh == kNone ? kNone : Inner(In(tanh, 0), "Softplus");
      if (plus == kNone || In(plus, 0) != In(last, 1 - side)) continue;
      const int opset = node(last).opset;
      Become(last, {tanh, plus}, In(plus, 0), "Mish", {});
      Node& mish = graph_.nodes[last];
      mish.domain = opset < kMishOpset ? "dlcost.training" : "";
      if (mish.domain.empty()) mish.opset = opset;
      return true;
    }
    return false;
  }

  void Become(std::size_t last, const std::vector<std::size_t>& nodes, TensorId x, const char* op,
              std::vector<Attribute> attributes) {
    for (const std::size_t n : nodes) gone_[n] = true;
    Node& node = graph_.nodes[last];
    node.op = op;
    node.domain = "com.microsoft";
    node.opset = 1;
    node.inputs = {x};
    node.attributes = std::move(attributes);
  }

  Graph& graph_;
  std::vector<bool> gone_;
};

}  // namespace

void JoinActivations(Graph& graph) { Joiner(graph).Run(); }

}  // namespace dlcost
