#include "estimator/infer/retype.h"

#include "estimator/core/error.h"
#include "estimator/infer/memory.h"

namespace dlcost {
namespace {

Work Converted(const Work& work, DType dtype) {
  Work converted;
  for (const Work::Entry& entry : work.entries()) {
    for (int c = 0; c < kOpClassCount; ++c) {
      const auto op_class = static_cast<OpClass>(c);
      const bool moves = IsFloat(entry.dtype) && (IsFloat(dtype) || op_class == OpClass::kMac);
      converted.Add(op_class, moves ? dtype : entry.dtype,
                    entry.counts[static_cast<std::size_t>(c)]);
    }
  }
  return converted;
}

Bytes Scaled(Bytes bytes, DType from, DType to) {
  return Bytes(CeilDiv(bytes.count() * Bits(to), Bits(from)));
}

void ScaleAccesses(CountedNode& counted, DType dtype) {
  for (Access& access : counted.cost.accesses) {
    const auto& ids = access.is_output ? counted.node->outputs : counted.node->inputs;
    const auto operand = static_cast<std::size_t>(access.operand);
    if (operand >= ids.size() || ids[operand] == kNoTensor) continue;
    const DType own = counted.graph->tensors[static_cast<std::size_t>(ids[operand])].type.dtype;
    if (IsFloat(own)) access.bytes = Scaled(access.bytes, own, dtype);
  }
}

void RetypeTensors(Graph& graph, DType dtype) {
  for (Tensor& tensor : graph.tensors) {
    if (!IsFloat(tensor.type.dtype)) continue;
    tensor.stored = Scaled(tensor.stored, tensor.type.dtype, dtype);
    tensor.type.dtype = dtype;
  }
}

}  // namespace

void Retype(InferredModel& model, DType dtype) {
  if (!IsFloat(dtype) && !IsInteger(dtype)) {
    throw Error("--dtype {}: a model is computed in a floating-point or an integer type",
                Name(dtype));
  }
  // Weights are told from indices by being floating-point: count them before they may not be.
  model.parameters = Count();
  model.weight_bytes = Bytes();
  CountWeights(model, dtype);
  for (CountedNode& counted : model.nodes) {
    ScaleAccesses(counted, dtype);
    counted.cost.work = Converted(counted.cost.work, dtype);
    for (CostPart& part : counted.cost.parts) {
      if (IsFloat(part.type)) part.type = dtype;
    }
  }
  RetypeTensors(model.model->graph, dtype);
  for (const Subgraph& subgraph : model.subgraphs) RetypeTensors(*subgraph.graph, dtype);
  model.notes.push_back(IsFloat(dtype)
                            ? fmt::format("what if: all floating-point tensors in {}", Name(dtype))
                            : fmt::format("what if: all floating-point tensors and their "
                                          "multiply-accumulates in {}",
                                          Name(dtype)));
}

}  // namespace dlcost
