#include "estimator/infer/trip_count.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include "estimator/graph/value_integer.h"

namespace dlcost {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
// More nodes between the counters and the condition, in a row or in all, are no exporter's.
constexpr int kMaxDepth = 64;
constexpr int kMaxConditionSteps = 1000;

// A scalar that is first + step * t in iteration t; then, where `cast` says so, rounded.
struct Term {
  std::int64_t first = 0, step = 0;
  DType cast = DType::kUndefined;  // kFloat32 or kFloat64
  double real = 0;                 // where it is a constant that is no integer
  bool is_real = false;
};

double Rounded(const Term& term, std::int64_t integer) {
  if (term.cast == DType::kFloat32) return static_cast<double>(static_cast<float>(integer));
  return static_cast<double>(integer);
}

// Whether a < b, a == b or a > b in iteration t; nullopt where a counter has no room.
std::optional<int> Order(const Term& a, const Term& b, std::int64_t t) {
  std::int64_t x = 0, y = 0;
  for (const auto& [term, value] : {std::pair(&a, &x), std::pair(&b, &y)}) {
    if (__builtin_mul_overflow(term->step, t, value)) return std::nullopt;
    if (__builtin_add_overflow(*value, term->first, value)) return std::nullopt;
  }
  const auto real = [](const Term& term) { return term.is_real || term.cast != DType::kUndefined; };
  if (!real(a) && !real(b)) return x < y ? -1 : x > y ? 1 : 0;
  const double u = a.is_real ? a.real : Rounded(a, x);
  const double v = b.is_real ? b.real : Rounded(b, y);
  if (u != u || v != v) return std::nullopt;
  return u < v ? -1 : u > v ? 1 : 0;
}

// When a truth value is false, or true, for the first time; kMax where that never happens, nullopt
// where it is not known.
struct Firsts {
  std::optional<std::int64_t> first_false, first_true;
  bool at_most = false;  // may be earlier
};

// The earlier of two, of which one may be unknown.
std::optional<std::int64_t> Earlier(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

bool OpIsOneOf(const std::string& op, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

class Condition {
 public:
  Condition(const Graph& body, const std::vector<Known>& initial) : body_(body), initial_(initial) {
    producer_.resize(body.tensors.size(), nullptr);
    state_of_.resize(body.tensors.size(), kNoState);
    for (std::size_t i = 0; i < initial.size(); ++i) {
      state_of_[static_cast<std::size_t>(body.inputs[i + 2])] = i;
    }
    for (const Node& node : body.nodes) {
      for (const TensorId id : node.outputs) {
        if (id != kNoTensor) producer_[static_cast<std::size_t>(id)] = &node;
      }
    }
  }

  Firsts FirstsOf(TensorId id, int depth = 0) {
    if (++steps_ > kMaxConditionSteps)
      return {};  // Ands of one another share what they are made of
    const Tensor& tensor = body_.tensors[static_cast<std::size_t>(id)];
    if (tensor.value != nullptr) {
      if (tensor.value->size() != 1) return {};
      return IntegerAt(*tensor.value, 0) != 0 ? Firsts{kMax, 0} : Firsts{0, kMax};
    }
    const Node* node = producer_[static_cast<std::size_t>(id)];
    if (node == nullptr || depth > kMaxDepth || !node->domain.empty()) return {};
    const auto of_input = [&](std::size_t i) -> Firsts {
      if (i >= node->inputs.size() || node->inputs[i] == kNoTensor) return {};
      return FirstsOf(node->inputs[i], depth + 1);
    };
    if (KeepsValue(*node)) return of_input(0);
    if (node->op == "Not") {
      const Firsts x = of_input(0);
      return {x.first_true, x.first_false, x.at_most};
    }
    if (node->op != "And" && node->op != "Or") return OfComparison(*node, depth);
    const Firsts x = of_input(0), y = of_input(1);
    Firsts both;
    if (node->op == "And") {
      both.first_false = Earlier(x.first_false, y.first_false);
      both.at_most = !x.first_false || !y.first_false;
    } else {
      both.first_true = Earlier(x.first_true, y.first_true);
      both.at_most = !x.first_true || !y.first_true;
    }
    both.at_most |= x.at_most || y.at_most;
    return both;
  }

 private:
  // One element in, the same element out, as a number of possibly another type.
  bool KeepsValue(const Node& node) const {
    if (OpIsOneOf(node.op, {"Identity", "Squeeze", "Unsqueeze", "Reshape", "Flatten"})) return true;
    return node.op == "Cast" && TypeOf(node.outputs[0]) == DType::kBool &&
           TypeOf(node.inputs[0]) == DType::kBool;
  }

  DType TypeOf(TensorId id) const { return body_.tensors[static_cast<std::size_t>(id)].type.dtype; }

  Firsts OfComparison(const Node& node, int depth) const {
    if (node.inputs.size() != 2 || node.inputs[0] == kNoTensor || node.inputs[1] == kNoTensor) {
      return {};
    }
    bool (*holds)(int) = nullptr;
    if (node.op == "Less") holds = [](int order) { return order < 0; };
    if (node.op == "LessOrEqual") holds = [](int order) { return order <= 0; };
    if (node.op == "Greater") holds = [](int order) { return order > 0; };
    if (node.op == "GreaterOrEqual") holds = [](int order) { return order >= 0; };
    const bool equality = node.op == "Equal";
    if (holds == nullptr && !equality) return {};
    const std::optional<Term> a = TermOf(node.inputs[0], depth + 1);
    const std::optional<Term> b = TermOf(node.inputs[1], depth + 1);
    if (!a || !b) return {};
    const bool rounds =
        a->cast != DType::kUndefined || b->cast != DType::kUndefined || a->is_real || b->is_real;
    // The difference of two rounded counters need not move in one direction.
    if (rounds && a->step != 0 && b->step != 0) return {};
    if (equality) return FirstsOfEqual(*a, *b);
    return FirstsOfMonotone([&](std::int64_t t) -> std::optional<bool> {
      const std::optional<int> order = Order(*a, *b, t);
      if (!order) return std::nullopt;
      return holds(*order);
    });
  }

  // Of a truth value that changes once at most, as a comparison of counters does.
  template <typename Predicate>
  static Firsts FirstsOfMonotone(Predicate holds) {
    const std::optional<bool> start = holds(0);
    if (!start) return {};
    std::int64_t same = 0, other = 0;
    // Doubles the distance until the value has changed or a counter has no room.
    for (std::int64_t t = 1;; t *= 2) {
      const std::optional<bool> now = holds(t);
      if (!now) break;
      if (*now != *start) {
        other = t;
        break;
      }
      same = t;
      if (t > kMax / 2) break;
    }
    if (other == 0) {
      // Constant as far as can be told; only a comparison of constants is so for good.
      const std::optional<bool> far = holds(kMax);
      if (!far || *far != *start) return {};
      return *start ? Firsts{kMax, 0} : Firsts{0, kMax};
    }
    while (other - same > 1) {
      const std::int64_t middle = same + (other - same) / 2;
      (*holds(middle) == *start ? same : other) = middle;
    }
    return *start ? Firsts{other, 0} : Firsts{0, other};
  }

  // Two that differ are equal for the first time where the one passes the other, if it does not
  // jump.
  static Firsts FirstsOfEqual(const Term& a, const Term& b) {
    const std::optional<int> start = Order(a, b, 0);
    if (!start) return {};
    if (*start == 0) {
      return FirstsOfMonotone([&](std::int64_t t) -> std::optional<bool> {
        const std::optional<int> order = Order(a, b, t);
        if (!order) return std::nullopt;
        return *order == 0;
      });
    }
    const Firsts side = FirstsOfMonotone([&](std::int64_t t) -> std::optional<bool> {
      const std::optional<int> order = Order(a, b, t);
      if (!order) return std::nullopt;
      return *order == *start;
    });
    if (!side.first_false) return {0, std::nullopt};
    const std::optional<int> there = Order(a, b, *side.first_false);
    return {0, there == 0 ? *side.first_false : kMax};
  }

  // The iteration's number, a state that every iteration adds a constant to, a constant, or one of
  // these plus a constant.
  std::optional<Term> TermOf(TensorId id, int depth) const {
    const std::optional<Term> constant = ConstantOf(id);
    if (constant) return constant;
    if (depth > kMaxDepth) return std::nullopt;
    if (id == body_.inputs[0]) return Term{0, 1};
    const std::size_t state = state_of_[static_cast<std::size_t>(id)];
    if (state != kNoState) return Counter(state);
    const Node* node = producer_[static_cast<std::size_t>(id)];
    if (node == nullptr || !node->domain.empty() || node->inputs.empty() ||
        node->inputs[0] == kNoTensor) {
      return std::nullopt;
    }
    if (KeepsValue(*node)) return TermOf(node->inputs[0], depth + 1);
    if (node->op == "Cast") return OfCast(*node, depth);
    const auto step = AddedConstant(*node);
    if (!step) return std::nullopt;
    std::optional<Term> term = TermOf(step->first, depth + 1);
    if (!term || term->cast != DType::kUndefined || term->is_real) return std::nullopt;
    if (__builtin_add_overflow(term->first, step->second, &term->first)) return std::nullopt;
    if (!HasRoom(TypeOf(node->outputs[0]), term->first)) return std::nullopt;
    return term;
  }

  std::optional<Term> ConstantOf(TensorId id) const {
    const ValuePtr& value = body_.tensors[static_cast<std::size_t>(id)].value;
    if (value == nullptr || value->size() != 1) return std::nullopt;
    Term term;
    term.is_real = !value->is_integer();
    if (term.is_real) {
      term.real = value->reals()[0];
    } else {
      term.first = value->ints()[0];
    }
    return term;
  }

  std::optional<Term> OfCast(const Node& node, int depth) const {
    std::optional<Term> term = TermOf(node.inputs[0], depth + 1);
    if (!term || term->is_real) return std::nullopt;
    const DType to = TypeOf(node.outputs[0]);
    if (to == DType::kFloat32 || to == DType::kFloat64) {
      // The narrower rounding stays.
      if (term->cast == DType::kUndefined || to == DType::kFloat32) term->cast = to;
      return term;
    }
    if (term->cast != DType::kUndefined || !HasRoom(to, term->first)) return std::nullopt;
    return term;
  }

  // Where the first value of a counter fits, it passes whatever its type can hold before it wraps.
  static bool HasRoom(DType type, std::int64_t first) {
    constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
    if (type == DType::kInt32) return first >= -kInt32Max - 1 && first <= kInt32Max;
    return type == DType::kInt64;
  }

  // x and c of x + c or x - c in integers, with a constant c.
  std::optional<std::pair<TensorId, std::int64_t>> AddedConstant(const Node& node) const {
    if ((node.op != "Add" && node.op != "Sub") || node.inputs.size() != 2) return std::nullopt;
    if (node.inputs[1] == kNoTensor) return std::nullopt;
    const DType type = TypeOf(node.outputs[0]);
    if (type != DType::kInt64 && type != DType::kInt32) return std::nullopt;
    const auto integer = [&](TensorId id) -> std::optional<std::int64_t> {
      const std::optional<Term> constant = ConstantOf(id);
      if (!constant || constant->is_real) return std::nullopt;
      return constant->first;
    };
    if (const auto c = integer(node.inputs[1])) {
      if (node.op == "Add") return std::pair(node.inputs[0], *c);
      if (*c == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
      return std::pair(node.inputs[0], -*c);
    }
    if (node.op == "Sub") return std::nullopt;
    if (const auto c = integer(node.inputs[0])) return std::pair(node.inputs[1], *c);
    return std::nullopt;
  }

  // State i, where every iteration hands it on as itself plus a constant.
  std::optional<Term> Counter(std::size_t i) const {
    const ValuePtr& start = initial_[i].value;
    if (start == nullptr || start->size() != 1 || !start->is_integer()) return std::nullopt;
    Term term{start->ints()[0], 0};
    TensorId id = body_.outputs[i + 1];
    for (int depth = 0; id != body_.inputs[i + 2]; ++depth) {
      const Node* node = producer_[static_cast<std::size_t>(id)];
      if (node == nullptr || depth > kMaxDepth || !node->domain.empty() || node->inputs.empty() ||
          node->inputs[0] == kNoTensor) {
        return std::nullopt;
      }
      if (KeepsValue(*node)) {
        id = node->inputs[0];
        continue;
      }
      const auto step = AddedConstant(*node);
      if (!step || __builtin_add_overflow(term.step, step->second, &term.step)) return std::nullopt;
      id = step->first;
    }
    return term;
  }

  static constexpr std::size_t kNoState = static_cast<std::size_t>(-1);

  const Graph& body_;
  const std::vector<Known>& initial_;
  std::vector<const Node*> producer_;  // of every tensor, or null
  std::vector<std::size_t> state_of_;  // that every tensor holds at the start of an iteration
  int steps_ = 0;
};

}  // namespace

std::optional<TripCount> CountTrips(const Graph& body, const std::vector<Known>& initial) {
  const Firsts condition = Condition(body, initial).FirstsOf(body.outputs[0]);
  if (!condition.first_false || *condition.first_false == kMax) return std::nullopt;
  return TripCount{*condition.first_false + 1, condition.at_most};
}

}  // namespace dlcost
