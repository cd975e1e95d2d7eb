#include "estimator/plan/pattern.h"

#include <algorithm>
#include <cctype>

#include "estimator/core/error.h"

namespace dlcost {

struct Pattern::State {
  std::vector<std::size_t> nodes;
  std::vector<std::pair<std::string_view, ValueId>> bound;
};

namespace {

constexpr std::size_t kMostNodes = 64;

bool Commutes(const std::string& op) { return op == "Add" || op == "Mul"; }

void SkipSpace(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

bool Take(std::string_view& text, char c) {
  SkipSpace(text);
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

std::string TakeName(std::string_view& text) {
  SkipSpace(text);
  std::string name;
  while (!text.empty() && (std::isalnum(static_cast<unsigned char>(text.front())) != 0)) {
    name += text.front();
    text.remove_prefix(1);
  }
  return name;
}

}  // namespace

Pattern::Pattern(std::string_view text) {
  const std::string whole(text);
  if (Parse(text) != 0 || !text.empty() || terms_[0].kind != Kind::kOperator) {
    throw Error("pattern '{}' does not parse", whole);
  }
}

std::size_t Pattern::Parse(std::string_view& text) {
  const std::size_t index = terms_.size();
  terms_.emplace_back();
  Term term;
  if (Take(text, '#')) {
    term.kind = Kind::kConstant;
  } else if (Take(text, '_')) {
    term.kind = Kind::kAny;
  } else {
    std::string name = TakeName(text);
    if (Take(text, ':')) {
      term.name = name;
      name = TakeName(text);
    }
    if (name.empty()) throw Error("a pattern wants a name at '{}'", std::string(text));
    if (std::isupper(static_cast<unsigned char>(name.front())) == 0) {
      term.kind = Kind::kName;
      term.name = name;
    } else {
      term.kind = Kind::kOperator;
      term.operators.push_back(name);
      while (Take(text, '|')) term.operators.push_back(TakeName(text));
      if (Take(text, '(')) {
        do {
          term.arguments.push_back(Parse(text));
        } while (Take(text, ','));
        if (!Take(text, ')')) throw Error("a pattern wants ')' at '{}'", std::string(text));
      }
    }
  }
  terms_[index] = std::move(term);
  return index;
}

bool Pattern::MatchValue(const ValueGraph& values, const Term& term, ValueId value,
                         State& state) const {
  if (value == kNoValue) return false;
  if (term.kind == Kind::kAny) return true;
  if (term.kind == Kind::kConstant) return values.IsConstant(value);
  if (term.kind == Kind::kName) {
    for (const auto& [name, bound] : state.bound) {
      if (name == term.name) return bound == value;
    }
    state.bound.emplace_back(term.name, value);
    return true;
  }
  const auto node = values.Producer(value);
  if (node == ValueGraph::kNoNode) return false;
  return MatchNode(values, term, static_cast<std::size_t>(node), state);
}

bool Pattern::MatchNode(const ValueGraph& values, const Term& term, std::size_t node,
                        State& state) const {
  const CountedNode& counted = values.node(node);
  if (counted.status != NodeStatus::kCounted || !counted.node->domain.empty()) return false;
  if (state.nodes.size() > kMostNodes) return false;  // a long chain of casts
  const std::string& op = counted.node->op;
  if (std::find(term.operators.begin(), term.operators.end(), op) == term.operators.end()) {
    if (op != "Cast" || values.Input(node, 0) == kNoValue) return false;
    state.nodes.push_back(node);
    return MatchValue(values, term, values.Input(node, 0), state);
  }
  if (!term.name.empty()) {
    const ValueId value = values.Output(node, 0);
    const auto known =
        std::find_if(state.bound.begin(), state.bound.end(),
                     [&](const auto& binding) { return binding.first == term.name; });
    if (known != state.bound.end() && known->second != value) return false;
    if (known == state.bound.end()) state.bound.emplace_back(term.name, value);
  }
  state.nodes.push_back(node);
  const std::size_t nodes = state.nodes.size(), bound = state.bound.size();
  const bool swaps = Commutes(op) && term.arguments.size() == 2;
  for (int order = 0; order < (swaps ? 2 : 1); ++order) {
    bool matched = true;
    for (std::size_t a = 0; a < term.arguments.size() && matched; ++a) {
      const std::size_t operand = order == 0 ? a : 1 - a;
      matched = MatchValue(values, terms_[term.arguments[a]], values.Input(node, operand), state);
    }
    if (matched) return true;
    state.nodes.resize(nodes);
    state.bound.resize(bound);
  }
  return false;
}

std::vector<std::size_t> Pattern::Match(const ValueGraph& values, std::size_t root) const {
  // A cast would be looked through; the root itself must be the operator.
  const std::string& op = values.node(root).node->op;
  const auto& operators = terms_[0].operators;
  if (std::find(operators.begin(), operators.end(), op) == operators.end()) return {};
  State state;
  if (!MatchNode(values, terms_[0], root, state)) return {};
  std::sort(state.nodes.begin(), state.nodes.end());
  state.nodes.erase(std::unique(state.nodes.begin(), state.nodes.end()), state.nodes.end());
  for (const std::size_t n : state.nodes) {
    if (values.node(n).graph != values.node(root).graph) return {};
    if (n == root) continue;
    for (std::size_t o = 0; o < values.NumOutputs(n); ++o) {
      const ValueId value = values.Output(n, o);
      if (value == kNoValue) continue;
      if (values.Escapes(value)) return {};
      for (const auto reader : values.Readers(value)) {
        if (!std::binary_search(state.nodes.begin(), state.nodes.end(),
                                static_cast<std::size_t>(reader))) {
          return {};
        }
      }
    }
  }
  return state.nodes;
}

}  // namespace dlcost
