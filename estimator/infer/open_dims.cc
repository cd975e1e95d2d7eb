#include "estimator/infer/open_dims.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

#include "estimator/core/error.h"
#include "estimator/infer/expression.h"

namespace dlcost {
namespace {

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool ContainsOneOf(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

template <std::size_t n>
bool IsOneOf(const std::string& text, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// What frameworks write for a size that they do not know.
constexpr std::array<std::string_view, 13> kPlaceholders = {
    "none",    "null",        "nan",          "unk", "unknown", "undefined", "dyn",
    "dynamic", "dynamic_dim", "dynamic_axis", "any", "var",     "variable"};

// What stands before the number that an exporter counts up for every axis: tf2onnx, paddle2onnx,
// PyTorch (`x_dynamic_axes_1`), ONNX's own shape inference.
constexpr std::array<std::string_view, 4> kPerAxisPrefixes = {"unk__", "dynamicdimension.",
                                                              "_dynamic_axes_", "unk_"};

// The same for a size that may stand in several places: torch.export.
constexpr std::array<std::string_view, 4> kGeneratedPrefixes = {"s", "d", "dim", "dim_"};

// The text before a number at the end; nullopt without a number.
std::optional<std::string_view> BeforeNumber(std::string_view text) {
  const std::size_t last = text.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == text.size()) return std::nullopt;
  return text.substr(0, last + 1);
}

// Words of other sizes: a batch of nodes is no batch.
bool NamesAnotherSize(const std::string& lower) {
  return ContainsOneOf(
      lower, {"seq",   "len",  "time",  "height", "width",   "token",   "past",   "cache",
              "frame", "step", "node",  "edge",   "atom",    "point",   "graph",  "channel",
              "feat",  "head", "vocab", "hidden", "sample",  "box",     "anchor", "detect",
              "query", "roi",  "chunk", "voxel",  "segment", "position"});
}

// Exporters write expressions as Python does.
std::string ToExpression(std::string text) {
  const std::pair<std::string_view, std::string_view> spellings[] = {
      {"//", "/"}, {"Max(", "max("}, {"Min(", "min("}, {"floor(", "("}};
  for (const auto& [from, to] : spellings) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

bool HasOperator(const std::string& symbol) {
  return symbol.find_first_of("+-*/%(") != std::string::npos;
}

}  // namespace

DimName ClassifyDimName(const std::string& symbol) {
  const std::string lower = Lower(symbol);
  const bool has_letters = std::any_of(lower.begin(), lower.end(), [](unsigned char c) {
    return std::isalpha(c) != 0 || c >= 0x80;
  });
  if (!has_letters || IsOneOf(lower, kPlaceholders)) return DimName::kNone;
  if (const auto before = BeforeNumber(lower)) {
    const auto ends = [&](std::string_view prefix) { return before->ends_with(prefix); };
    if (std::any_of(kPerAxisPrefixes.begin(), kPerAxisPrefixes.end(), ends)) {
      return DimName::kPerAxis;
    }
    if (IsOneOf(std::string(*before), kGeneratedPrefixes)) return DimName::kGenerated;
  }
  if (symbol.find_first_of("+*/%(") != std::string::npos || NamesAnotherSize(lower)) {
    return DimName::kOther;
  }
  if (ContainsOneOf(lower, {"batch", "bsz"})) return DimName::kBatch;
  if (lower == "n" || lower == "b" || lower == "bs") return DimName::kInitial;
  return DimName::kOther;
}

std::string AxisKey(const std::string& input, std::size_t axis) {
  return input + "[" + std::to_string(axis) + "]";
}

std::string KeyOf(const Tensor& input, std::size_t axis) {
  const std::string& symbol = (*input.declared->dims)[axis].symbol;
  return ClassifyDimName(symbol) == DimName::kNone ? AxisKey(input.name, axis) : symbol;
}

std::string OpenDim::Label() const {
  if (name != DimName::kPerAxis || places.size() != 1) return key;
  return AxisKey(places.front().input, places.front().axis);
}

bool DeclaresAxes(const Tensor& input) {
  return input.declared && input.declared->dims &&
         (input.declared->kind == ValueKind::kTensor ||
          input.declared->kind == ValueKind::kSparseTensor ||
          input.declared->kind == ValueKind::kOptional);
}

std::vector<OpenDim> OpenDimsOf(const Model& model) {
  std::vector<OpenDim> open;
  std::map<std::string, std::size_t> index;
  for (const TensorId id : model.graph.inputs) {
    const Tensor& input = model.graph.tensors[static_cast<std::size_t>(id)];
    if (!DeclaresAxes(input)) continue;
    const std::vector<Dim>& dims = *input.declared->dims;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis].size >= 0) continue;
      const std::string key = KeyOf(input, axis);
      const auto [at, fresh] = index.emplace(key, open.size());
      if (fresh) open.push_back({key, ClassifyDimName(dims[axis].symbol), {}});
      open[at->second].places.push_back({input.name, axis, dims.size()});
    }
  }
  return open;
}

std::set<std::string> BatchDims(const std::vector<OpenDim>& dims) {
  std::set<std::string> batch, numbered;
  const auto comes_first = [](const OpenDim& dim, std::size_t least_rank) {
    return std::any_of(dim.places.begin(), dim.places.end(), [&](const OpenDim::Place& place) {
      return place.axis == 0 && place.rank >= least_rank;
    });
  };
  for (const OpenDim& dim : dims) {
    switch (dim.name) {
      case DimName::kBatch:
        batch.insert(dim.key);
        break;
      case DimName::kInitial:
        if (comes_first(dim, 1)) batch.insert(dim.key);
        break;
      case DimName::kNone:
      case DimName::kPerAxis:
        // A vector without a name is as likely a text or a signal.
        if (comes_first(dim, 2)) batch.insert(dim.key);
        break;
      case DimName::kGenerated:
        if (comes_first(dim, 2)) numbered.insert(dim.key);
        break;
      case DimName::kOther:
        break;
    }
  }
  // Two sizes that come first, as nodes and edges do, cannot both be the batch.
  if (batch.empty() && numbered.size() == 1) batch = numbered;
  return batch;
}

std::optional<std::int64_t> EvaluateSymbol(const std::string& symbol, const SizeByName& size) {
  if (!HasOperator(symbol)) return std::nullopt;
  Expression::Names names;
  names.tensor = [](const std::string& name) -> std::vector<std::int64_t> {
    throw Error("'{}' is no tensor", Printable(name));
  };
  names.number = [&](const std::string& name) -> Count {
    const std::optional<std::int64_t> known = size(name);
    if (!known) throw Error("'{}' is not known", Printable(name));
    return *known;
  };
  try {
    return Expression(ToExpression(symbol)).Evaluate(names).value();
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::set<std::string> PartsOf(const std::string& symbol) {
  std::set<std::string> parts;
  const auto value = EvaluateSymbol(symbol, [&](const std::string& name) {
    parts.insert(name);
    return std::optional<std::int64_t>(1'000'003);  // no divisor that a file holds makes it 0
  });
  return value ? parts : std::set<std::string>();
}

}  // namespace dlcost
