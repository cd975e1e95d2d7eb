#include "estimator/training/group_norms.h"

#include <algorithm>

#include "estimator/training/uses.h"

namespace dlcost {
namespace {

class GroupNormJoiner : Uses {
 public:
  explicit GroupNormJoiner(Graph& graph)
      : Uses(graph), graph_(graph), gone_(graph.nodes.size(), false) {}

  void Run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (Is(n, "InstanceNormalization")) Join(n);
    }
    std::size_t n = 0;
    std::erase_if(graph_.nodes, [&](const Node&) { return gone_[n++]; });
  }

 private:
  // The one node that reads the result of another; kNone where it is no such operator.
  std::size_t Behind(std::size_t n, std::string_view op) const {
    const std::size_t reader = OnlyReader(node(n).outputs[0]);
    return Is(reader, op) ? reader : kNone;
  }

  // The stored operand beside the result of node `n` that has a number per channel of the data.
  TensorId PerChannel(std::size_t reader, std::size_t n, const Shape& data) const {
    const std::size_t side = In(reader, 0) == node(n).outputs[0] ? 1 : 0;
    const TensorId id = In(reader, side);
    const Shape* shape = ShapeOf(id);
    if (shape == nullptr || !tensor(id).foldable || shape->rank() > data.rank()) return kNoTensor;
    const std::size_t front = data.rank() - shape->rank();
    for (std::size_t axis = 0; axis < shape->rank(); ++axis) {
      if ((*shape)[axis] != (front + axis == 1 ? data[1] : 1)) return kNoTensor;
    }
    return front <= 1 ? id : kNoTensor;
  }

  void Join(std::size_t n) {
    const std::size_t groups = Maker(In(n, 0)), back = Behind(n, "Reshape");
    if (!Is(groups, "Reshape") || OnlyReader(In(n, 0)) != n || back == kNone) return;
    const std::size_t scale = Behind(back, "Mul");
    const std::size_t shift = scale == kNone ? kNone : Behind(scale, "Add");
    if (shift == kNone) return;
    const TensorId x = In(groups, 0);
    const Shape *data = ShapeOf(x), *rows = ShapeOf(In(n, 0)),
                *result = ShapeOf(node(back).outputs[0]);
    if (data == nullptr || rows == nullptr || result == nullptr || *result != *data ||
        data->rank() < 2 || rows->rank() != 3 || (*rows)[0] != (*data)[0] || (*rows)[1] < 1 ||
        (*data)[1] % (*rows)[1] != 0) {
      return;
    }
    const TensorId factors = PerChannel(scale, back, *data),
                   added = PerChannel(shift, scale, *data);
    if (factors == kNoTensor || added == kNoTensor) return;
    const double epsilon = ContextOf(n).Float("epsilon", 1e-5);
    for (const std::size_t inner : {groups, n, back, scale}) gone_[inner] = true;
    Node& joined = graph_.nodes[shift];
    joined.op = "GroupNormInternal";
    joined.domain = "dlcost.training";
    joined.opset = 1;
    joined.attributes = {{"num_groups", (*rows)[1]}, {"epsilon", epsilon}};
    joined.inputs = {x, factors, added};
  }

  Graph& graph_;
  std::vector<bool> gone_;
};

}  // namespace

void JoinGroupNorms(Graph& graph) { GroupNormJoiner(graph).Run(); }

}  // namespace dlcost
