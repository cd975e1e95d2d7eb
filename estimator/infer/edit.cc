#include "estimator/infer/edit.h"

#include <numeric>

#include "estimator/infer/infer_once.h"

namespace dlcost {
namespace {

void DeclareShapes(Graph& graph) {
  for (Tensor& tensor : graph.tensors) {
    if (!tensor.declared || !tensor.type.shape || tensor.upper_bound) continue;
    tensor.declared->dims.emplace();
    for (const std::int64_t size : *tensor.type.shape) {
      tensor.declared->dims->push_back({.size = size});
    }
  }
}

}  // namespace

void SortNodes(Graph& graph) {
  std::vector<Node> sorted;
  sorted.reserve(graph.nodes.size());
  for (const std::int32_t n : TopologicalOrder(graph)) {
    sorted.push_back(std::move(graph.nodes[static_cast<std::size_t>(n)]));
  }
  graph.nodes = std::move(sorted);
}

Model EditableCopy(const InferredModel& model) {
  Model copy = *model.model;
  DeclareShapes(copy.graph);
  SortNodes(copy.graph);
  return copy;
}

void BecomeType(Tensor& tensor, DType type) {
  if (tensor.is_initializer && tensor.type.shape) {
    tensor.stored = SizeOf(type, tensor.type.shape->Elements());
  }
  tensor.type.dtype = type;
  if (tensor.declared) tensor.declared->dtype = type;
}

void BecomePart(Tensor& tensor, const Shape& part) {
  const Count whole = tensor.type.shape->Elements();
  if (tensor.is_initializer) {
    if (whole > Count(0)) {
      // In lowest terms: the experts of a layer are more than 2^32 elements, twice over.
      const Count common = std::gcd(part.Elements().value(), whole.value());
      tensor.stored =
          Bytes(CeilDiv(tensor.stored.count() * (part.Elements() / common), whole / common));
    }
    tensor.value = nullptr;
  }
  tensor.type.shape = part;
  if (tensor.declared && tensor.declared->dims) {
    tensor.declared->dims.emplace();
    for (const std::int64_t size : part) tensor.declared->dims->push_back({.size = size});
  }
}

InferredModel InferEdited(Model edited, const InferredModel& original,
                          const InferOptions& options) {
  Forget(edited.graph);
  InferOptions again = options;
  again.bindings = Bindings();
  again.bindings.values = options.bindings.values;
  again.open |= !original.dims.symbols.empty();
  InferredModel result = Infer(std::move(edited), again);
  result.dims = original.dims;
  result.notes = original.notes;
  return result;
}

}  // namespace dlcost
