#include "estimator/infer/find_strided.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "estimator/infer/strides.h"

namespace dlcost {
namespace {

class StrideFinder {
 public:
  StrideFinder(const ValueGraph& values, bool broadcasts, bool outputs_dense)
      : values_(values),
        broadcasts_(broadcasts),
        outputs_dense_(outputs_dense),
        size_(values.model().nodes.size()) {
    copies_.resize(size_, false);
    given_.resize(size_, false);
  }

  Strided Run() {
    // A copy lies otherwise than what it was made of, so that nodes before it may get to read it.
    for (int pass = 0; pass < kMostPasses; ++pass) {
      changed_ = false;
      views_.assign(size_, false);
      placed_.assign(size_, false);
      scattered_.assign(size_, false);
      filled_.assign(size_, false);
      channels_last_.assign(size_, false);
      layouts_.clear();
      for (std::size_t n = 0; n < size_; ++n) Visit(n);
      if (!changed_) break;
    }
    return {std::move(views_), std::move(placed_), std::move(scattered_), std::move(filled_),
            std::move(channels_last_)};
  }

 private:
  static constexpr int kMostPasses = 16;
  static constexpr std::int64_t kMostElements = std::int64_t{1} << 60;

  // How data lie that do not lie row after row.
  struct Layout {
    Sizes strides;
    std::size_t view;  // the node that would have to copy
  };

  // Null for what has no elements, or so many that products of strides could not be counted.
  const Sizes* SizesOf(ValueId value) const {
    if (value == kNoValue || !values_.tensor(value).type.shape) return nullptr;
    const Sizes& sizes = values_.tensor(value).type.shape->dims();
    std::int64_t elements = 1;
    for (const std::int64_t size : sizes) {
      if (size == 0 || size > kMostElements / elements) return nullptr;
      elements *= size;
    }
    return &sizes;
  }

  const Layout* Find(ValueId value) const {
    const auto found = layouts_.find(value);
    return found == layouts_.end() ? nullptr : &found->second;
  }

  Sizes StridesOf(ValueId value, const Sizes& sizes) const {
    const Layout* layout = Find(value);
    return layout == nullptr ? ContiguousStrides(sizes) : layout->strides;
  }

  void Lay(ValueId value, Sizes strides, std::size_t view) {
    const Sizes* sizes = SizesOf(value);
    if (sizes == nullptr || sizes->size() != strides.size()) return;
    if (!SameStrides(*sizes, strides, ContiguousStrides(*sizes)))
      layouts_[value] = {std::move(strides), view};
  }

  void Copy(const Layout& layout) {
    changed_ |= !copies_[layout.view];
    copies_[layout.view] = true;
  }

  void Visit(std::size_t n) {
    const CountedNode& counted = values_.node(n);
    if (counted.status == NodeStatus::kView) {
      Reshape(n);
    } else if (counted.status == NodeStatus::kCounted && counted.def != nullptr &&
               counted.def->control == ControlFlow::kNone) {
      if (!View(n)) Read(n);
    }
  }

  // Another shape of the same elements.
  void Reshape(std::size_t n) {
    const ValueId from = values_.Operand(n, 0), to = values_.Result(n, 0);
    given_[n] = IsGiven(from);
    const Layout* layout = from == kNoValue ? nullptr : Find(from);
    const Sizes* sizes = SizesOf(from);
    const Sizes* viewed = SizesOf(to);
    if (layout == nullptr || sizes == nullptr || viewed == nullptr) return;
    const auto strides = ViewedAs(*sizes, layout->strides, *viewed);
    if (strides) {
      Lay(to, *strides, layout->view);
    } else {
      Copy(*layout);
    }
  }

  // Whether the node is one that may only look at what it reads.
  bool View(std::size_t n) {
    const Node& node = *values_.node(n).node;
    const ValueId from = values_.Operand(n, 0);
    const Sizes* sizes = SizesOf(from);
    if (!node.domain.empty() || sizes == nullptr || values_.IsConstant(from)) return false;
    const std::optional<Sizes> strides = Viewed(n, node, *sizes, StridesOf(from, *sizes));
    if (!strides) return false;
    given_[n] = IsGiven(from);
    if (outputs_dense_ && given_[n] && Leaves(n)) copies_[n] = true;
    views_[n] = !copies_[n];
    placed_[n] = copies_[n];
    if (copies_[n]) {
      const Sizes* copied = SizesOf(values_.Result(n, 0));
      scattered_[n] = copied != nullptr && copied->size() == strides->size() &&
                      Scatters(*copied, ContiguousStrides(*copied), *strides, Apart(from));
      return true;
    }
    for (std::size_t o = 0; o < values_.NumOutputs(n); ++o) {
      if (values_.Result(n, o) != kNoValue) Lay(values_.Result(n, o), *strides, n);
    }
    return true;
  }

  // Whether no kernel has made it, which could have laid it as it leaves.
  bool IsGiven(ValueId value) const {
    const auto producer = value == kNoValue ? ValueGraph::kNoNode : values_.Producer(value);
    return producer == ValueGraph::kNoNode || (given_[static_cast<std::size_t>(producer)] &&
                                               !copies_[static_cast<std::size_t>(producer)]);
  }

  bool Leaves(std::size_t n) const {
    for (std::size_t o = 0; o < values_.NumOutputs(n); ++o) {
      if (values_.Output(n, o) != kNoValue && values_.Escapes(values_.Output(n, o))) return true;
    }
    return false;
  }

  std::optional<Sizes> Viewed(std::size_t n, const Node& node, const Sizes& sizes,
                              Sizes strides) const {
    if (node.op == "Split") return strides;
    if (node.op == "Transpose") return Transposed(node, strides);
    if (node.op == "Slice") return Sliced(n, sizes, std::move(strides));
    if (node.op == "Gather") return Selected(n, node, std::move(strides));
    if (node.op == "Expand" && broadcasts_) return Expanded(n, sizes, strides);
    return std::nullopt;
  }

  static std::optional<Sizes> Transposed(const Node& node, const Sizes& strides) {
    const AttributeValue* perm = node.FindAttribute("perm");
    const auto* axes = perm == nullptr ? nullptr : std::get_if<Sizes>(perm);
    if (axes == nullptr) return Sizes(strides.rbegin(), strides.rend());
    Sizes result;
    for (const std::int64_t axis : *axes)
      result.push_back(strides.at(static_cast<std::size_t>(axis)));
    return result;
  }

  // Backwards, or by steps that are not known, is a copy.
  std::optional<Sizes> Sliced(std::size_t n, const Sizes& sizes, Sizes strides) const {
    const ValueId given = values_.Operand(n, 4);
    if (given == kNoValue) return strides;
    const ValuePtr& steps = values_.tensor(given).value;
    if (steps == nullptr || !steps->is_integer()) return std::nullopt;
    const ValueId on = values_.Operand(n, 3);
    const ValuePtr axes = on == kNoValue ? nullptr : values_.tensor(on).value;
    for (std::size_t i = 0; i < steps->size(); ++i) {
      if (steps->ints()[i] < 1) return std::nullopt;
      const std::size_t axis = NormalizeAxis(
          axes != nullptr && axes->is_integer() ? axes->ints().at(i) : static_cast<std::int64_t>(i),
          strides.size());
      strides[axis] *= std::min(steps->ints()[i], sizes[axis]);
    }
    return strides;
  }

  // One row by a number that the file holds: x[0].
  std::optional<Sizes> Selected(std::size_t n, const Node& node, Sizes strides) const {
    const ValueId index = values_.Operand(n, 1);
    const Sizes* sizes = SizesOf(index);
    if (sizes == nullptr || !sizes->empty() || !values_.IsConstant(index)) return std::nullopt;
    const AttributeValue* given = node.FindAttribute("axis");
    const auto* axis = given == nullptr ? nullptr : std::get_if<std::int64_t>(given);
    const std::size_t at = NormalizeAxis(axis == nullptr ? 0 : *axis, strides.size());
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(at));
    return strides;
  }

  std::optional<Sizes> Expanded(std::size_t n, const Sizes& sizes, const Sizes& strides) const {
    const Sizes* wide = SizesOf(values_.Result(n, 0));
    if (wide == nullptr || wide->size() < sizes.size()) return std::nullopt;
    Sizes result(wide->size(), 0);
    const std::size_t front = wide->size() - sizes.size();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == (*wide)[front + i]) result[front + i] = strides[i];
    }
    return result;
  }

  // A kernel that computes or moves.
  void Read(std::size_t n) {
    const CountedNode& counted = values_.node(n);
    const Node& node = *counted.node;
    if (counted.def->role == FusionRole::kElementwise) {
      LikeOperand(n);
      placed_[n] = node.op == "Cast" || !LieAlike(n);
      scattered_[n] = placed_[n] && Scattered(n);
      return;
    }
    if (std::holds_alternative<GemmNest>(counted.cost.nest)) {
      if (node.op == "MatMul" || node.op == "Gemm") return Multiply(n);
      return;
    }
    if (node.op == "Concat") Concatenate(n);
    if (node.op == "Pad") placed_[n] = filled_[n] = PadsWithNumber(node);
    const bool resizes = node.op == "Resize" || node.op == "Upsample" || node.op == "GridSample";
    if (std::holds_alternative<AttentionNest>(counted.cost.nest) ||
        (counted.def->role == FusionRole::kMovement && !resizes)) {
      return;
    }
    for (std::size_t i = 0; i < values_.NumInputs(n); ++i) {
      const ValueId value = values_.Operand(n, i);
      const Layout* layout = value == kNoValue ? nullptr : Find(value);
      if (layout == nullptr) continue;
      const Sizes& sizes = *SizesOf(value);
      if (!IsImage(sizes) || !SameStrides(sizes, layout->strides, ChannelsLastStrides(sizes))) {
        Copy(*layout);
      } else if (i == 0) {
        channels_last_[n] = true;
        MakeChannelsLast(values_.Result(n, 0), layout->view);
      }
    }
  }

  static bool PadsWithNumber(const Node& node) {
    const AttributeValue* given = node.FindAttribute("mode");
    const auto* mode = given == nullptr ? nullptr : std::get_if<std::string>(given);
    return mode == nullptr || *mode == "constant";
  }

  // Parts that do not lie row after row are copied element by element
  // (PyTorch, aten/src/ATen/native/cuda/Shape.cu: CatArrayBatchedCopy).
  void Concatenate(std::size_t n) {
    for (std::size_t i = 0; i < values_.NumInputs(n); ++i) {
      const ValueId value = values_.Operand(n, i);
      const Layout* layout = value == kNoValue ? nullptr : Find(value);
      if (layout == nullptr) continue;
      const Sizes& sizes = *SizesOf(value);
      placed_[n] = true;
      if (Scatters(sizes, ContiguousStrides(sizes), layout->strides, Apart(value)))
        scattered_[n] = true;
    }
  }

  // Convolutions, poolings and normalizations of images write them as they found them.
  void MakeChannelsLast(ValueId image, std::size_t view) {
    const Sizes* sizes = SizesOf(image);
    if (sizes != nullptr && IsImage(*sizes)) Lay(image, ChannelsLastStrides(*sizes), view);
  }

  // The result has the order of axes of the first operand that is as large.
  void LikeOperand(std::size_t n) {
    const ValueId to = values_.Result(n, 0);
    const Sizes* sizes = SizesOf(to);
    if (sizes == nullptr) return;
    for (std::size_t i = 0; i < values_.NumInputs(n); ++i) {
      const ValueId from = values_.Operand(n, i);
      const Sizes* operand = SizesOf(from);
      if (operand == nullptr || *operand != *sizes) continue;
      const Layout* layout = Find(from);
      if (layout != nullptr) Lay(to, StridesInOrderOf(*sizes, layout->strides), layout->view);
      return;
    }
  }

  // Whether all that a function reads lies as its result does, numbers of the file aside.
  bool LieAlike(std::size_t n) const {
    const ValueId to = values_.Result(n, 0);
    const Sizes* sizes = SizesOf(to);
    if (sizes == nullptr) return true;
    const Sizes strides = StridesOf(to, *sizes);
    for (std::size_t i = 0; i < values_.NumInputs(n); ++i) {
      const ValueId from = values_.Operand(n, i);
      const Sizes* operand = SizesOf(from);
      if (operand == nullptr) continue;
      const bool number = std::all_of(operand->begin(), operand->end(),
                                      [](std::int64_t size) { return size == 1; });
      if (number && values_.IsConstant(from)) continue;
      if (*operand != *sizes || !SameStrides(*sizes, StridesOf(from, *sizes), strides))
        return false;
    }
    return true;
  }

  // The least number of elements that lie a sector apart.
  std::int64_t Apart(ValueId value) const {
    constexpr std::int64_t kSectorBits = 32 * 8;
    return kSectorBits / std::max(1, Bits(values_.tensor(value).type.dtype));
  }

  // Whether an operand as large as the result lies in another order.
  bool Scattered(std::size_t n) const {
    const ValueId to = values_.Result(n, 0);
    const Sizes* sizes = SizesOf(to);
    if (sizes == nullptr) return false;
    const Sizes strides = StridesOf(to, *sizes);
    for (std::size_t i = 0; i < values_.NumInputs(n); ++i) {
      const ValueId from = values_.Operand(n, i);
      const Sizes* operand = SizesOf(from);
      if (operand == nullptr || *operand != *sizes) continue;
      if (Scatters(*sizes, strides, StridesOf(from, *sizes), Apart(from))) return true;
    }
    return false;
  }

  // Rows are multiplied by one matrix, or matrices one by one.
  void Multiply(std::size_t n) {
    const Sizes* second = SizesOf(values_.Operand(n, 1));
    const bool one_matrix = second != nullptr && second->size() <= 2;
    for (std::size_t i = 0; i < 2; ++i) {
      const ValueId value = values_.Operand(n, i);
      const Layout* layout = value == kNoValue ? nullptr : Find(value);
      if (layout == nullptr) continue;
      const Sizes& sizes = *SizesOf(value);
      if (sizes.size() < 2) continue;
      std::int64_t first = 1;
      for (std::size_t axis = 0; axis + 2 < sizes.size(); ++axis) first *= sizes[axis];
      const std::int64_t rows = sizes[sizes.size() - 2], columns = sizes.back();
      const Sizes folded =
          one_matrix && i == 0 ? Sizes{first * rows, columns} : Sizes{first, rows, columns};
      const auto strides = ViewedAs(sizes, layout->strides, folded);
      if (!strides || !IsBlasMatrix(folded, *strides)) Copy(*layout);
    }
  }

  const ValueGraph& values_;
  const bool broadcasts_, outputs_dense_;
  const std::size_t size_;
  std::vector<bool> given_;  // per view: whether no kernel has made what it looks at
  std::vector<bool> copies_, views_, placed_, scattered_, filled_, channels_last_;
  std::unordered_map<ValueId, Layout> layouts_;
  bool changed_ = false;
};

}  // namespace

bool AsksForView(const Node& node) {
  return node.op == "Transpose" || node.op == "Slice" || node.op == "Split" || node.op == "Expand";
}

Strided FindStrided(const ValueGraph& values, bool broadcasts, bool outputs_dense) {
  return StrideFinder(values, broadcasts, outputs_dense).Run();
}

}  // namespace dlcost
