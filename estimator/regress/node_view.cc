#include "estimator/regress/node_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "estimator/regress/hash.h"

namespace dlcost {
namespace {

// Attributes that a later operator set turned into inputs, and those that mean nothing to a run.
bool IsIgnored(const std::string& op, const std::string& name) {
  static const std::map<std::string, std::set<std::string>> kIgnored = {
      {"Squeeze", {"axes"}},
      {"Unsqueeze", {"axes"}},
      {"Clip", {"min", "max"}},
      {"Slice", {"starts", "ends", "axes"}},
      {"Pad", {"pads", "value"}},
      {"TopK", {"k"}},
      {"Split", {"split"}},
      {"Reshape", {"shape"}},
      {"Upsample", {"scales"}},
      {"Tile", {"tiles", "axis"}},
      {"Dropout", {"ratio", "is_test", "seed"}},
      {"BatchNormalization",
       {"momentum", "spatial", "is_test", "training_mode", "consumed_inputs"}},
  };
  if (op.starts_with("Reduce") && name == "axes") return true;
  const auto found = kIgnored.find(op);
  return found != kIgnored.end() && found->second.count(name) > 0;
}

bool AllDigitsAre(const std::string& text, char digit) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return c == digit || c == ','; });
}

// Defaults of the ONNX operator specification, as attribute texts.
bool IsDefault(const std::string& name, const std::string& text) {
  if (name == "dilations" || name == "strides") return AllDigitsAre(text, '1');
  if (name == "pads" || name == "output_padding") return AllDigitsAre(text, '0');
  static const std::map<std::string, std::string> kDefaults = {
      {"group", "1"},
      {"auto_pad", "NOTSET"},
      {"ceil_mode", "0"},
      {"count_include_pad", "0"},
      {"alpha", "1"},
      {"beta", "1"},
      {"transA", "0"},
      {"transB", "0"},
      {"keepdims", "1"},
      {"allowzero", "0"},
      {"epsilon", "1e-05"},
      {"storage_order", "0"},
      {"noop_with_empty_axes", "0"},
      {"approximate", "none"},
  };
  const auto found = kDefaults.find(name);
  return found != kDefaults.end() && found->second == text;
}

bool IsConvolution(const NodeRow& row) { return row.op.find("Conv") != std::string::npos; }

// Operators that do the same go by one name: those of ONNX Runtime that carry the activation behind
// them are what they were without it, and a sum of two is an addition.
std::string_view PlainName(const NodeRow& row) {
  if (row.op == "Sum" && row.inputs.size() == 2) return "Add";
  if (row.domain != "com.microsoft") return row.op;
  if (row.op == "FusedConv") return "Conv";
  if (row.op == "FusedGemm") return "Gemm";
  return row.op == "FusedMatMul" ? "MatMul" : std::string_view(row.op);
}

bool IsSignificant(const NodeRow& row, const std::string& name, const std::string& text) {
  // The kernel's shape is also the weight's, which is compared anyway.
  if (name == "kernel_shape" && IsConvolution(row)) return false;
  if (row.op.starts_with("Fused") && name.starts_with("activation")) return false;
  return !IsIgnored(row.op, name) && !IsDefault(name, text);
}

// In no order: exporters write attributes in any.
std::uint64_t HashAttributes(const NodeRow& row) {
  std::uint64_t sum = 0;
  for (const auto& [name, text] : row.attributes) {
    if (IsSignificant(row, name, text)) sum += Combine(HashText(name), HashText(text));
  }
  return sum;
}

std::uint64_t HashShape(const Shape& shape) {
  std::uint64_t hash = shape.rank();
  for (const std::int64_t dim : shape.dims()) hash = Combine(hash, static_cast<std::uint64_t>(dim));
  return hash;
}

}  // namespace

bool IsWeight(const Operand& operand) {
  return operand.weight && operand.dtype != DType::kInt64 && operand.dtype != DType::kBool &&
         operand.shape && operand.shape->rank() > 0;
}

AttributeTexts SignificantAttributes(const NodeRow& row) {
  AttributeTexts kept;
  for (const auto& [name, text] : row.attributes) {
    if (IsSignificant(row, name, text)) kept.push_back({name, text});
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

GraphView::GraphView(const Report& report) {
  std::unordered_map<std::string_view, std::int32_t> made_by;
  std::set<std::string_view> seen;
  const std::vector<Cost> all_costs = NodeCosts(report);
  made_by.reserve(report.nodes.size());
  nodes.reserve(report.nodes.size());
  rows.reserve(report.nodes.size());
  costs.reserve(report.nodes.size());
  std::vector<std::size_t> first_producer;
  first_producer.reserve(report.nodes.size() + 1);
  for (const NodeRow& row : report.nodes) {
    // Shape arithmetic and the making of weights belong to the exporter, not to the model.
    if (row.status == NodeStatus::kMetadata) {
      for (const Operand& output : row.outputs) seen.insert(output.name);
      continue;
    }
    MatchNode node;
    node.name = row.name;
    const std::string_view op = PlainName(row);
    node.op = Combine(HashText(op == row.op ? std::string_view(row.domain) : ""), HashText(op));
    node.detail = Combine(node.op, HashAttributes(row));
    const auto index = static_cast<std::int32_t>(nodes.size());
    first_producer.push_back(all_producers.size());
    for (std::size_t slot = 0; slot < row.inputs.size(); ++slot) {
      const Operand& input = row.inputs[slot];
      const auto producer = made_by.find(input.name);
      all_producers.push_back(producer == made_by.end() ? kNoMatch : producer->second);
      if (producer != made_by.end()) continue;
      if (IsWeight(input)) {
        node.detail = Combine(Combine(node.detail, slot), HashShape(*input.shape));
      } else if (!input.weight && !input.name.empty() && seen.insert(input.name).second) {
        inputs.push_back(&input);
      }
    }
    // Where the exporter puts constants (axes, bounds) must not decide.
    while (all_producers.size() > first_producer.back() && all_producers.back() == kNoMatch) {
      all_producers.pop_back();
    }
    for (const Operand& output : row.outputs) {
      if (!output.name.empty()) made_by[output.name] = index;
    }
    const Operand* weight = MainWeight(row);
    node.core = weight == nullptr ? node.detail : Combine(node.op, HashShape(*weight->shape));
    nodes.push_back(node);
    rows.push_back(&row);
    costs.push_back(all_costs[static_cast<std::size_t>(&row - report.nodes.data())]);
  }
  first_producer.push_back(all_producers.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].producers = {all_producers.data() + first_producer[i],
                          all_producers.data() + first_producer[i + 1]};
  }
  CollectConsumers();
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].is_output = Consumers(i).empty();
}

void GraphView::CollectConsumers() {
  // A node that reads a tensor twice is one consumer.
  std::vector<std::int32_t> last_reader(nodes.size(), kNoMatch);
  const auto for_each_edge = [&](const auto& visit) {
    std::fill(last_reader.begin(), last_reader.end(), kNoMatch);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto reader = static_cast<std::int32_t>(i);
      for (const std::int32_t p : nodes[i].producers) {
        if (p == kNoMatch || last_reader[static_cast<std::size_t>(p)] == reader) continue;
        last_reader[static_cast<std::size_t>(p)] = reader;
        visit(static_cast<std::size_t>(p), reader);
      }
    }
  };
  first_consumer.assign(nodes.size() + 1, 0);
  for_each_edge([&](std::size_t p, std::int32_t) { ++first_consumer[p + 1]; });
  std::partial_sum(first_consumer.begin(), first_consumer.end(), first_consumer.begin());
  all_consumers.resize(first_consumer.back());
  std::vector<std::size_t> next = first_consumer;
  for_each_edge([&](std::size_t p, std::int32_t reader) { all_consumers[next[p]++] = reader; });
}

std::string ShapeText(const std::optional<Shape>& shape) {
  if (!shape) return "?";
  if (shape->rank() == 0) return "scalar";
  return fmt::to_string(fmt::join(shape->dims(), "x"));
}

const Operand* MainWeight(const NodeRow& row) {
  return row.inputs.size() > 1 && IsWeight(row.inputs[1]) && row.inputs[1].shape->rank() > 1
             ? &row.inputs[1]
             : nullptr;
}

std::optional<Features> FeaturesOf(const NodeRow& row) {
  const Operand* weight = MainWeight(row);
  if (weight == nullptr) return std::nullopt;
  const Shape& shape = *weight->shape;
  const auto attribute = [&](const char* name) -> std::int64_t {
    for (const auto& [key, text] : row.attributes) {
      if (key == name) return std::strtoll(text.c_str(), nullptr, 10);
    }
    return 0;
  };
  if (IsConvolution(row) && shape.rank() > 2) {
    const std::int64_t group = std::max<std::int64_t>(1, attribute("group"));
    const bool transposed = row.op == "ConvTranspose";
    return transposed ? Features{shape[0], shape[1] * group} : Features{shape[1] * group, shape[0]};
  }
  if ((row.op == "Gemm" || row.op == "FusedGemm") && shape.rank() == 2) {
    return attribute("transB") != 0 ? Features{shape[1], shape[0]} : Features{shape[0], shape[1]};
  }
  if (row.op.starts_with("MatMul")) {
    return Features{shape[shape.rank() - 2], shape[shape.rank() - 1]};
  }
  return std::nullopt;
}

std::string Describe(const NodeRow& row) {
  const std::optional<Features> features = FeaturesOf(row);
  if (!features) return row.op;
  if (!IsConvolution(row)) return fmt::format("{} {} -> {}", row.op, features->in, features->out);
  const std::vector<std::int64_t>& dims = MainWeight(row)->shape->dims();
  return fmt::format("{} {}, {} -> {} channels", row.op,
                     fmt::join(dims.begin() + 2, dims.end(), "x"), features->in, features->out);
}

}  // namespace dlcost
