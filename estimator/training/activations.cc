#include "estimator/training/activations.h"

#include <algorithm>

#include "estimator/training/uses.h"

namespace dlcost {
namespace {

class Joiner : Uses {
 public:
  explicit Joiner(Graph& graph) : Uses(graph), graph_(graph), gone_(graph.nodes.size(), false) {}

  void Run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (gone_[n] || !Is(n, "Mul")) continue;
      if (!JoinGelu(n)) JoinSilu(n);
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

  // (x (erf + 1)) c, (x c) (erf + 1), x ((erf + 1) c).
  bool JoinGelu(std::size_t last) {
    for (const std::size_t side : {0U, 1U}) {
      const TensorId a = In(last, side), b = In(last, 1 - side);
      std::vector<std::size_t> nodes;
      TensorId x = kNoTensor;
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
