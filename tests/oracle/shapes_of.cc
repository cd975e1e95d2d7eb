// Many small models in one process: what dlcost infers of each, as a line of JSON.
//
// Reads models from stdin, each behind its size (8 bytes, little-endian), and answers each with a
// line
// {"tensors": {name: {"kind", "dtype", "shape", "value", "upper_bound"}}, "nodes": [{"name", "op",
// "status", "macs", "upper_bound", "why"}]}, or {"error": line}. Tensors are those of the outermost
// graph.

#include <array>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "estimator/core/error.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"

namespace dlcost {
namespace {

using Json = nlohmann::json;

Json ValueJson(const Tensor& tensor) {
  if (!tensor.value) return nullptr;
  return tensor.value->is_integer() ? Json(tensor.value->ints()) : Json(tensor.value->reals());
}

Json TensorJson(const Tensor& tensor) {
  Json shape = nullptr;
  if (tensor.type.shape) {
    shape = std::vector<std::int64_t>(tensor.type.shape->begin(), tensor.type.shape->end());
  }
  Json elements = nullptr;
  if (tensor.type.elements) elements = tensor.type.elements->size();
  return {{"kind", static_cast<int>(tensor.type.kind)},
          {"dtype", Name(tensor.type.dtype)},
          {"shape", std::move(shape)},
          {"elements", std::move(elements)},
          {"value", ValueJson(tensor)},
          {"upper_bound", tensor.upper_bound}};
}

Json Answer(const std::string& bytes) {
  try {
    const InferredModel model = Infer(ReadModelFromBytes(bytes, "model"), InferOptions());
    Json tensors = Json::object(), nodes = Json::array();
    for (const Tensor& tensor : model.model->graph.tensors) {
      if (!tensor.name.empty()) tensors[tensor.name] = TensorJson(tensor);
    }
    for (const CountedNode& node : model.nodes) {
      nodes.push_back({{"name", node.name},
                       {"op", node.node->op},
                       {"status", Name(node.status)},
                       {"macs", node.cost.work.macs().value()},
                       {"upper_bound", node.upper_bound},
                       {"why", node.why}});
    }
    return {{"tensors", std::move(tensors)}, {"nodes", std::move(nodes)}};
  } catch (const Error& error) {
    return {{"error", error.what()}};
  }
}

bool ReadOne(std::string& bytes) {
  std::array<char, 8> header{};
  if (!std::cin.read(header.data(), header.size())) return false;
  std::uint64_t size = 0;
  for (std::size_t i = header.size(); i-- > 0;) {
    size = size << 8 | static_cast<unsigned char>(header[i]);
  }
  bytes.resize(size);
  return static_cast<bool>(std::cin.read(bytes.data(), static_cast<std::streamsize>(size)));
}

}  // namespace
}  // namespace dlcost

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string bytes; dlcost::ReadOne(bytes);) {
    // Names come from the models: what is no UTF-8 is replaced, not thrown at.
    std::cout << dlcost::Answer(bytes).dump(-1, ' ', false,
                                            nlohmann::json::error_handler_t::replace)
              << std::endl;
  }
}
