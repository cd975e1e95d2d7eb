#include "estimator/training/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "estimator/core/spelling.h"
#include "estimator/infer/causal_mask.h"
#include "estimator/training/uses.h"

namespace dlcost {
namespace {

constexpr int kMostTableSteps = 16;    // between a table and what it is used for
constexpr int kMostTableLooks = 4096;  // at nodes, over all uses of one table

constexpr std::array<std::string_view, 9> kTableLayouts = {
    "Cast", "Unsqueeze", "Squeeze", "Reshape", "Expand", "Slice", "Identity", "Transpose", "Tile"};

// Those of the parameters that have no other use.
struct Tables {
  // Added to scores right before a softmax, alike for all of several heads, or, where their numbers
  // are known, nothing but zeros and minus infinities. What differs by head is a bias, which trains
  // (T5, BEiT).
  std::vector<TensorId> masks;
  // Cosines and sines of positions, the angles, and the frequencies behind them: x c + r s, where r
  // is x with its halves changed over and one of them negated.
  std::vector<TensorId> rotations;
  // Added to the scores of a single head: a mask, or a bias that trains (Swin's first stages).
  std::vector<TensorId> unclear;
};

class TableFinder : Uses {
 public:
  explicit TableFinder(Graph& graph) : Uses(graph) {}

  enum class Use { kOther, kMask, kOneHead, kRotation };

  Use Of(TensorId stored) {
    looks_ = kMostTableLooks;
    if (OnlyUse(stored, Use::kRotation, 0)) return Use::kRotation;
    looks_ = kMostTableLooks;
    heads_ = 0;
    if (!OnlyUse(stored, Use::kMask, 0)) return Use::kOther;
    switch (NumbersOf(stored)) {
      case Numbers::kHiding:
        return Use::kMask;
      case Numbers::kOther:
        return Use::kOther;
      case Numbers::kZeros:
      case Numbers::kUnknown:
        break;
    }
    return heads_ > 1 ? Use::kMask : Use::kOneHead;
  }

 private:
  bool IsLayout(std::size_t n) const {
    return n != kNone && node(n).domain.empty() &&
           std::find(kTableLayouts.begin(), kTableLayouts.end(), node(n).op) != kTableLayouts.end();
  }
  bool IsScale(std::size_t n) const {
    return (Is(n, "Mul") || Is(n, "Div")) && (Number(In(n, 1)) || Number(In(n, 0)));
  }
  TensorId Out(std::size_t n) const { return node(n).outputs[0]; }

  // Whether a value has a reader, and all of them use it so.
  bool OnlyUse(TensorId value, Use use, int steps) {
    const std::vector<std::size_t>& readers = Readers(value);
    return steps < kMostTableSteps && !readers.empty() &&
           std::all_of(readers.begin(), readers.end(), [&](std::size_t n) {
             if (n == kNone || looks_-- <= 0) return false;
             if ((IsLayout(n) && In(n, 0) == value) || IsScale(n)) {
               return OnlyUse(Out(n), use, steps + 1);
             }
             return use == Use::kMask ? IsMask(n, value) : IsRotation(n, value, steps);
           });
  }

  // --- masks ---

  bool IsMask(std::size_t n, TensorId value) {
    if (Is(n, "Attention") && In(n, 3) == value) return IsMaskOfOneNode(n);
    if (!Is(n, "Add") || !LeadsToSoftmax(Out(n))) return false;
    const TensorId scores = In(n, 0) == value ? In(n, 1) : In(n, 0);
    const Shape *added = ShapeOf(value), *shape = ShapeOf(scores);
    if (added == nullptr || shape == nullptr || !LeadsToProduct(scores)) return false;
    if (shape->rank() < 4 || added->rank() < 2 || added->rank() > shape->rank()) return false;
    if (DiffersByHead(*added)) return false;
    CountHeads(shape->At(-3));
    return true;
  }

  bool IsMaskOfOneNode(std::size_t n) {
    const Shape *added = ShapeOf(In(n, 3)), *queries = ShapeOf(In(n, 0));
    if (added == nullptr || queries == nullptr || added->rank() < 2 || DiffersByHead(*added) ||
        std::count(node(n).inputs.begin(), node(n).inputs.end(), In(n, 3)) != 1) {
      return false;
    }
    CountHeads(queries->rank() == 4 ? (*queries)[1] : ContextOf(n).Int("q_num_heads", 1));
    return true;
  }

  void CountHeads(std::int64_t heads) { heads_ = heads_ == 0 ? heads : std::min(heads_, heads); }

  bool LeadsToSoftmax(TensorId value) const {
    for (int step = 0; step < kMostTableSteps; ++step) {
      const std::size_t n = OnlyReader(value);
      if (Is(n, "Softmax")) return true;
      if (!Is(n, "Add") && !Is(n, "Where") && !Is(n, "Cast") && !Is(n, "Reshape") && !IsScale(n)) {
        return false;
      }
      value = Out(n);
    }
    return false;
  }

  bool LeadsToProduct(TensorId value) const {
    for (int step = 0; step < kMostTableSteps; ++step) {
      const std::size_t n = Maker(value);
      if (Is(n, "MatMul") || Is(n, "Einsum")) return true;
      if (Is(n, "Add")) {
        value = tensor(In(n, 0)).foldable ? In(n, 1) : In(n, 0);
      } else if (Is(n, "Where")) {
        value = Number(In(n, 1)) ? In(n, 2) : In(n, 1);
      } else if (Is(n, "Cast") || Is(n, "Reshape")) {
        value = In(n, 0);
      } else if (IsScale(n)) {
        value = In(n, Number(In(n, 0)) ? 1 : 0);
      } else {
        return false;
      }
    }
    return false;
  }

  // kHiding: zeros and minus infinities.
  enum class Numbers { kUnknown, kZeros, kHiding, kOther };
  Numbers NumbersOf(TensorId id) const {
    const ValuePtr& value = tensor(id).value;
    if (value == nullptr) return Numbers::kUnknown;
    Numbers numbers = Numbers::kZeros;
    for (std::size_t i = 0; i < value->size(); ++i) {
      const double number = value->Real(i);
      if (number != 0 && number > kHidden) return Numbers::kOther;
      if (number != 0) numbers = Numbers::kHiding;
    }
    return numbers;
  }

  // --- rotations ---

  bool IsRotation(std::size_t n, TensorId value, int steps) {
    if (Is(n, "Cos") || Is(n, "Sin")) return OnlyUse(Out(n), Use::kRotation, steps + 1);
    // Both halves by the same angles.
    if (Is(n, "Concat")) {
      const std::vector<TensorId>& parts = node(n).inputs;
      return std::all_of(parts.begin(), parts.end(), [&](TensorId id) { return id == value; }) &&
             OnlyUse(Out(n), Use::kRotation, steps + 1);
    }
    if (Is(n, "Mul") && Turns(n, value)) return true;
    // Angles are positions times a list of frequencies.
    const bool times = Is(n, "MatMul") || Is(n, "Mul") || Is(n, "Einsum");
    return times && IsList(value) && OnlyUse(Out(n), Use::kRotation, steps + 1) &&
           LeadsToAngles(Out(n));
  }

  bool IsList(TensorId id) const {
    const Shape* shape = ShapeOf(id);
    return shape != nullptr && std::count_if(shape->begin(), shape->end(),
                                             [](std::int64_t size) { return size > 1; }) <= 1;
  }

  // Whether a cosine is taken of a value, laid out otherwise or twice.
  bool LeadsToAngles(TensorId value) const {
    for (int step = 0; step < kMostTableSteps; ++step) {
      const std::vector<std::size_t>& readers = Readers(value);
      if (readers.empty() || readers[0] == kNone) return false;
      const std::size_t n = readers[0];
      if (Is(n, "Cos") || Is(n, "Sin")) return true;
      if (!IsLayout(n) && !Is(n, "Concat")) return false;
      value = Out(n);
    }
    return false;
  }

  // Whether a product with `table` is one term of a rotation.
  bool Turns(std::size_t product, TensorId table) const {
    const std::size_t sum = OnlyReader(Out(product));
    if (!Is(sum, "Add") && !Is(sum, "Sub")) return false;
    const std::size_t other = Maker(In(sum, 0) == Out(product) ? In(sum, 1) : In(sum, 0));
    if (!Is(other, "Mul") || other == product) return false;
    const TensorId x = Beside(product, table);
    for (const std::size_t side : {0U, 1U}) {
      const TensorId y = In(other, side);
      if (Is(sum, "Add") && (IsTurned(y, x) || IsTurned(x, y))) return true;
      if (IsCrossed(sum, x, table, y, In(other, 1 - side))) return true;
    }
    return false;
  }

  TensorId Beside(std::size_t n, TensorId id) const { return In(n, 0) == id ? In(n, 1) : In(n, 0); }

  // What is laid out otherwise, and whether it is negated.
  struct Source {
    TensorId id;
    bool negated = false;
  };
  Source BeforeLayoutOf(TensorId id) const {
    Source source{id};
    for (int step = 0; step < kMostTableSteps; ++step) {
      const std::size_t n = Maker(source.id);
      const bool negates = Is(n, "Neg");
      if (!negates && !Is(n, "Unsqueeze") && !Is(n, "Squeeze") && !Is(n, "Reshape") &&
          !Is(n, "Cast") && !Is(n, "Identity")) {
        break;
      }
      source.negated ^= negates;
      source.id = In(n, 0);
    }
    return source;
  }

  // The tensor of which a value is a part; kNoTensor where it is none.
  TensorId WholeOf(TensorId part) const {
    const std::size_t n = Maker(BeforeLayoutOf(part).id);
    if (!Is(n, "Slice") && !Is(n, "Split") && !Is(n, "Gather")) return kNoTensor;
    return BeforeLayoutOf(In(n, 0)).id;
  }

  // Whether y is two parts of x, one of them negated.
  bool IsTurned(TensorId y, TensorId x) const {
    const std::size_t joined = Maker(BeforeLayoutOf(y).id);
    if (!Is(joined, "Concat") || node(joined).inputs.size() != 2) return false;
    const TensorId a = In(joined, 0), b = In(joined, 1), whole = BeforeLayoutOf(x).id;
    return BeforeLayoutOf(a).negated != BeforeLayoutOf(b).negated && WholeOf(a) == whole &&
           WholeOf(b) == whole;
  }

  // Whether a c and b s, of two parts of one tensor, meet in one sum with a sign, and b c and a s
  // in another without it, or the other way around.
  bool IsCrossed(std::size_t sum, TensorId a, TensorId c, TensorId b, TensorId s) const {
    if (a == b || WholeOf(a) == kNoTensor || WholeOf(a) != WholeOf(b)) return false;
    for (const std::size_t n : Readers(b)) {
      if (!Is(n, "Mul") || Beside(n, b) != c) continue;
      const std::size_t second = OnlyReader(Out(n));
      if (!Is(second, Is(sum, "Add") ? "Sub" : "Add")) continue;
      const std::size_t other = Maker(Beside(second, Out(n)));
      if (Is(other, "Mul") &&
          ((In(other, 0) == a && In(other, 1) == s) || (In(other, 0) == s && In(other, 1) == a))) {
        return true;
      }
    }
    return false;
  }

  int looks_ = 0;
  std::int64_t heads_ = 0;  // the fewest that share a mask
};

std::string NamesOf(const Graph& graph, const std::vector<TensorId>& ids) {
  constexpr std::size_t kMostNamed = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(ids.size(), kMostNamed); ++i) {
    names += (i > 0 ? ", " : "") + Printable(graph.tensors[static_cast<std::size_t>(ids[i])].name);
  }
  if (ids.size() > kMostNamed) names += fmt::format(" and {} more", ids.size() - kMostNamed);
  return names;
}

Tables FindTables(Graph& graph, const std::vector<TensorId>& parameters) {
  Tables tables;
  TableFinder finder(graph);
  for (const TensorId id : parameters) {
    switch (finder.Of(id)) {
      case TableFinder::Use::kMask:
        tables.masks.push_back(id);
        break;
      case TableFinder::Use::kOneHead:
        tables.unclear.push_back(id);
        break;
      case TableFinder::Use::kRotation:
        tables.rotations.push_back(id);
        break;
      case TableFinder::Use::kOther:
        break;
    }
  }
  return tables;
}

}  // namespace

std::vector<std::string> LeaveTables(Graph& graph, std::vector<TensorId>& parameters) {
  const Tables tables = FindTables(graph, parameters);
  std::vector<std::string> notes;
  const auto leave = [&](const std::vector<TensorId>& ids, std::string_view what) {
    if (ids.empty()) return;
    std::erase_if(parameters,
                  [&](TensorId id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); });
    notes.push_back(fmt::format("not trained, as {}: {}", what, NamesOf(graph, ids)));
  };
  leave(tables.masks, "they are added to scores as masks are");
  leave(tables.rotations, "they turn queries and keys by their positions");
  if (!tables.unclear.empty()) {
    notes.push_back(fmt::format("trained, as biases of one head: {}; --freeze those that are masks",
                                NamesOf(graph, tables.unclear)));
  }
  return notes;
}

}  // namespace dlcost
