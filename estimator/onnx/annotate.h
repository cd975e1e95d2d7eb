#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlcost {

// Key and value, as ONNX keeps remarks on models and nodes (metadata_props).
using Remarks = std::vector<std::pair<std::string, std::string>>;

// A node of a file's main graph.
struct NodeInFile {
  std::string op, first_output;  // "" where it has none
};

// Writes the serialized ModelProto `model` to `sink` with remarks on its nodes (of the main graph,
// in the file's order) and on itself. Everything else stays byte by byte, weights included, and is
// not copied. Throws Error for what is not valid protobuf, or has no graph.
void Annotate(std::string_view model, const std::function<Remarks(const NodeInFile&)>& of_node,
              const Remarks& of_model, const std::function<void(std::string_view)>& sink);

}  // namespace dlcost
