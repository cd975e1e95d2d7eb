#include "estimator/precision/block_files.h"

#include <algorithm>
#include <map>
#include <optional>

#include "estimator/core/error.h"
#include "estimator/precision/stored_matrices.h"

namespace dlcost {
namespace {

constexpr BlockType kQ4 = {"q4_0", 32, 18, 4, 32};  // a half for 32
constexpr BlockType kQ5 = {"q5_0", 32, 22, 5, 32};
constexpr BlockType kQ8 = {"q8_0", 32, 34, 8, 32};
constexpr BlockType kQ4K = {"q4_k", 256, 144, 4, 32};  // two halves, 8 scales and minima of 6 bits
constexpr BlockType kQ5K = {"q5_k", 256, 176, 5, 32};
constexpr BlockType kQ6K = {"q6_k", 256, 210, 6, 16};  // a half, 16 scales of 8 bits

struct NamedMix {
  std::string_view name;
  BlockMix mix;
};
constexpr NamedMix kMixes[] = {
    {"q4_0", {kQ4, kQ4, kQ4, kQ6K}},      {"q8_0", {kQ8, kQ8, kQ8, kQ8}},
    {"q4_k_m", {kQ4K, kQ6K, kQ5K, kQ6K}}, {"q5_k_m", {kQ5K, kQ6K, kQ6K, kQ6K}},
    {"q6_k", {kQ6K, kQ6K, kQ6K, kQ6K}},
};

// The blocks of rows of k numbers: of 32 where those of 256 do not fit.
std::optional<BlockType> Fitting(const BlockType& type, std::int64_t k) {
  if (k % type.numbers == 0) return type;
  if (k % 32 != 0) return std::nullopt;  // halves
  return type.bits >= 6 ? kQ8 : kQ5;
}

// What modules of transformers, of Meta and of llama.cpp call their matrices.
constexpr std::string_view kValueNames[] = {"v_proj", "wv", "attn_v", "value"};
constexpr std::string_view kBackNames[] = {"down_proj", "w2", "ffn_down", "fc2", "dense_4h_to_h"};
constexpr std::string_view kJoinedNames[] = {"qkv_proj",        "Wqkv",   "wqkv",
                                             "query_key_value", "c_attn", "attn_qkv"};

enum class Place { kOther, kValue, kBack, kJoined };

Place PlaceOf(std::string_view name) {
  const auto has = [&](const auto& words) {
    return std::any_of(std::begin(words), std::end(words), [&](std::string_view word) {
      for (std::size_t at = name.find(word); at != name.npos; at = name.find(word, at + 1)) {
        const auto bounds = [&](std::size_t i) {
          return i >= name.size() || name[i] == '/' || name[i] == '.';
        };
        if ((at == 0 || bounds(at - 1)) && bounds(at + word.size())) return true;
      }
      return false;
    });
  };
  return has(kValueNames)    ? Place::kValue
         : has(kBackNames)   ? Place::kBack
         : has(kJoinedNames) ? Place::kJoined
                             : Place::kOther;
}

// Layers that get more bits: the first and last eighth and every third between.
bool MoreBits(std::size_t layer, std::size_t layers) {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

class Packer {
 public:
  Packer(NodeWriter& writer, const BlockMix& mix, const std::vector<TensorId>& stored)
      : w_(writer), mix_(mix), matrices_(w_.graph(), stored, w_.graph().nodes) {}

  void Run() {
    std::vector<Node> nodes = std::move(w_.graph().nodes);
    w_.graph().nodes.clear();
    for (const Node& node : nodes) Choose(node);
    for (const Place place : {Place::kValue, Place::kBack}) Alternate(place);
    if (const auto last = types_.find(last_); last != types_.end()) last->second = mix_.last;
    for (Node& node : nodes) {
      if (Packs(node)) PackProduct(node);
      if (Gathers(node)) PackTable(node);
      w_.Take();
      w_.graph().nodes.push_back(std::move(node));
    }
  }

 private:
  const TensorType& TypeOf(TensorId id) const {
    return w_.graph().tensors[static_cast<std::size_t>(id)].type;
  }

  // A product of rows in halves with a stored matrix.
  bool Packs(const Node& node) const {
    if (!IsMatrixProduct(node) || node.inputs[0] == kNoTensor) return false;
    const AttributeValue* turned = node.FindAttribute("transA");
    const auto* number = turned == nullptr ? nullptr : std::get_if<std::int64_t>(turned);
    const TensorId matrix = matrices_.Of(node.inputs[1]);
    return (number == nullptr || *number == 0) && matrix != kNoTensor &&
           TypeOf(matrix).shape->rank() == 2 && TypeOf(node.inputs[0]).shape &&
           Fitting(mix_.most, KOf(node)).has_value();
  }

  std::int64_t KOf(const Node& node) const {
    return (*TypeOf(matrices_.Of(node.inputs[1])).shape)[AxisOf(node)];
  }
  std::size_t AxisOf(const Node& node) const {
    return matrices_.SummedAxis(node.inputs[1], TransposesSecond(node));
  }

  // Rows that are taken of a matrix.
  bool Gathers(const Node& node) const {
    const AttributeValue* axis = node.FindAttribute("axis");
    const auto* number = axis == nullptr ? nullptr : std::get_if<std::int64_t>(axis);
    return node.domain.empty() && node.op == "Gather" && matrices_.IsMatrix(node.inputs[0]) &&
           TypeOf(node.inputs[0]).shape->rank() == 2 && (number == nullptr || *number == 0) &&
           Fitting(mix_.most, (*TypeOf(node.inputs[0]).shape)[1]).has_value();
  }

  // The type of each matrix, in the order of the graph.
  void Choose(const Node& node) {
    if (node.domain == kMicrosoft && node.op == "MoE") {
      throw Error(
          "experts ({}) are not packed in blocks; --precision w4a16-int4 stores them in 4 "
          "bits",
          node.name);
    }
    if (Gathers(node)) types_.emplace(node.inputs[0], mix_.most);
    if (!Packs(node)) return;
    const TensorId matrix = matrices_.Of(node.inputs[1]);
    const Place place = PlaceOf(node.name);
    if (types_.emplace(matrix, place == Place::kJoined ? mix_.joined : mix_.most).second) {
      placed_[place].push_back(matrix);
    }
    last_ = matrix;
  }

  void Alternate(Place place) {
    const std::vector<TensorId>& layers = placed_[place];
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (MoreBits(i, layers.size())) types_.at(layers[i]) = mix_.more;
    }
  }

  // The matrix packed, n rows of k numbers.
  TensorId Packed(TensorId matrix, std::int64_t n, std::int64_t k) {
    const auto known = packed_.find(matrix);
    if (known != packed_.end()) return known->second;
    const BlockType type = *Fitting(types_.at(matrix), k);
    const std::string name = w_.graph().tensors[static_cast<std::size_t>(matrix)].name;
    return packed_[matrix] = w_.Stored(name + "/" + std::string(type.name), DType::kUint8,
                                       Shape({n, k / type.numbers * type.bytes}));
  }

  void PackProduct(Node& node) {
    const TensorId matrix = matrices_.Of(node.inputs[1]);
    const std::size_t axis = AxisOf(node);
    const Shape& shape = *TypeOf(matrix).shape;
    const std::int64_t k = shape[axis], n = shape[1 - axis];
    const BlockType type = *Fitting(types_.at(matrix), k);
    std::vector<TensorId> inputs = {node.inputs[0], Packed(matrix, n, k)};
    if (node.inputs.size() > 2 && node.inputs[2] != kNoTensor) {
      inputs.resize(5, kNoTensor);
      inputs.push_back(node.inputs[2]);  // the bias
    }
    node.op = "MatMulNBits";
    node.domain = kMicrosoft;
    node.inputs = std::move(inputs);
    node.attributes = {IntAttribute("K", k), IntAttribute("N", n), IntAttribute("bits", type.bits),
                       IntAttribute("block_size", type.scaled)};
  }

  void PackTable(Node& node) {
    const Shape& shape = *TypeOf(node.inputs[0]).shape;
    node.op = "GatherBlocks";
    node.domain = "dlcost.training";
    node.attributes = {
        IntAttribute("K", shape[1]),
        IntAttribute("dtype", static_cast<std::int64_t>(TypeOf(node.inputs[0]).dtype))};
    node.inputs[0] = Packed(node.inputs[0], shape[0], shape[1]);
  }

  NodeWriter& w_;
  const BlockMix& mix_;
  StoredMatrices matrices_;
  std::map<TensorId, BlockType> types_;
  std::map<TensorId, TensorId> packed_;
  std::map<Place, std::vector<TensorId>> placed_;
  TensorId last_ = kNoTensor;
};

}  // namespace

const BlockMix* FindBlockMix(std::string_view name) {
  for (const NamedMix& named : kMixes) {
    if (named.name == name) return &named.mix;
  }
  return nullptr;
}

void PackInBlocks(NodeWriter& writer, const BlockMix& mix, const std::vector<TensorId>& stored) {
  Packer(writer, mix, stored).Run();
}

}  // namespace dlcost
