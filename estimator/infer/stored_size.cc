#include "estimator/infer/stored_size.h"

#include <fmt/format.h>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

// The operand's size at `axis`, counted from the last one as broadcasting does; 1 beyond its rank.
std::int64_t SizeFromEnd(const Shape& shape, std::size_t axis) {
  return axis < shape.rank() ? shape[shape.rank() - 1 - axis] : 1;
}

}  // namespace

std::string StoredSizeHint(const Graph& graph, const Node& node, const BoundDims& dims) {
  const auto known = [&](TensorId id) -> const Tensor* {
    if (id == kNoTensor) return nullptr;
    const Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    return tensor.type.shape ? &tensor : nullptr;
  };
  for (const TensorId a : node.inputs) {
    const Tensor* stored = known(a);
    if (stored == nullptr || !(stored->constant || stored->foldable)) continue;
    for (const TensorId b : node.inputs) {
      const Tensor* open = known(b);
      if (open == nullptr || open->constant || open->foldable) continue;
      for (std::size_t axis = 0; axis < stored->type.shape->rank(); ++axis) {
        const std::int64_t has = SizeFromEnd(*stored->type.shape, axis);
        const std::int64_t wants = SizeFromEnd(*open->type.shape, axis);
        if (has == wants || has <= 1 || wants <= 1) continue;
        for (const auto& [name, size] : dims.symbols) {
          if (size != wants) continue;
          return fmt::format("; {0} = {1}, but what the file stores has {2} there: {3} {0} = {2}",
                             Printable(name), wants, has, has < wants ? "at most" : "it wants");
        }
      }
    }
  }
  return "";
}

}  // namespace dlcost
