#include "estimator/infer/binding.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"

namespace dlcost {
namespace {

std::int64_t ParseSize(std::string_view text, const std::string& whole) {
  std::int64_t size = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size < 0) {
    throw Error("'{}': '{}' is not a size", Printable(whole), Printable(std::string(text)));
  }
  return size;
}

bool Contains(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Names that exporters give to other axes; a first dimension so named is not a batch.
bool NamesAnotherAxis(const std::string& symbol) {
  const std::string lower = Lower(symbol);
  return Contains(lower, {"seq", "len", "time", "height", "width", "token", "past", "cache",
                          "frame", "channel", "feature", "hidden", "vocab"});
}

bool NamesBatch(const std::string& symbol) {
  const std::string lower = Lower(symbol);
  return lower == "n" || lower == "b" || lower == "bs" || Contains(lower, {"batch"});
}

class Binder {
 public:
  Binder(Model& model, const Bindings& bindings) : graph_(model.graph), bindings_(bindings) {}

  BoundDims Run() {
    bound_.symbols = bindings_.dims;
    CheckNames();
    for (const TensorId id : graph_.inputs) UnifyGivenShape(Input(id));
    FindBatchSymbols();
    for (const TensorId id : graph_.inputs) Bind(Input(id));
    if (bindings_.batch && !batch_used_) OverrideFixedBatch();
    if (!unbound_.empty() || !shapeless_.empty()) Complain();
    for (const auto& [name, ints] : bindings_.values) SetValue(name, ints);
    NoteDefaults();
    return std::move(bound_);
  }

 private:
  Tensor& Input(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }

  static bool IsTensor(const Tensor& tensor) {
    return tensor.declared && (tensor.declared->kind == ValueKind::kTensor ||
                               tensor.declared->kind == ValueKind::kSparseTensor ||
                               tensor.declared->kind == ValueKind::kOptional);
  }

  void CheckNames() {
    std::vector<std::string> symbols, inputs;
    for (const TensorId id : graph_.inputs) {
      inputs.push_back(Input(id).name);
      if (!Input(id).declared || !Input(id).declared->dims) continue;
      for (const Dim& dim : *Input(id).declared->dims) {
        if (!dim.symbol.empty()) symbols.push_back(dim.symbol);
      }
    }
    for (const auto& [name, size] : bindings_.dims) {
      if (std::find(symbols.begin(), symbols.end(), name) != symbols.end()) continue;
      if (NamesDataDependentSize(name)) continue;
      std::sort(symbols.begin(), symbols.end());
      symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
      throw Error("--dim {}: no input has a dimension of that name{}; there {}", Printable(name),
                  DidYouMean(name, symbols),
                  symbols.empty() ? "are none" : fmt::format("are: {}", fmt::join(symbols, ", ")));
    }
    const auto require_input = [&inputs](std::string_view option, const std::string& name) {
      if (std::find(inputs.begin(), inputs.end(), name) != inputs.end()) return;
      throw Error("{} {}: the model has no such input{}; it has: {}", option, Printable(name),
                  DidYouMean(name, inputs), fmt::join(inputs, ", "));
    };
    for (const auto& [name, dims] : bindings_.inputs) require_input("--input", name);
    for (const auto& [name, ints] : bindings_.values) require_input("--value", name);
  }

  // A symbol of an inner tensor or an output: a size that the data decides (NonZero, ...).
  bool NamesDataDependentSize(const std::string& symbol) const {
    return std::any_of(graph_.tensors.begin(), graph_.tensors.end(), [&](const Tensor& tensor) {
      return tensor.declared && tensor.declared->dims &&
             std::any_of(tensor.declared->dims->begin(), tensor.declared->dims->end(),
                         [&](const Dim& dim) { return dim.symbol == symbol; });
    });
  }

  // The content of an input that others take their shapes from. A list gives its own length.
  void SetValue(const std::string& name, const std::vector<std::int64_t>& ints) {
    for (const TensorId id : graph_.inputs) {
      Tensor& input = Input(id);
      if (input.name != name) continue;
      const auto count = static_cast<std::int64_t>(ints.size());
      if (!input.type.shape || input.type.shape->Elements() != Count(count)) {
        throw Error("--value {}: {} integers given for {}", Printable(name), count,
                    input.type.shape ? ToString(*input.type.shape) : "no tensor");
      }
      if (IsFloat(input.type.dtype)) {
        input.value = std::make_shared<const Value>(std::vector<double>(ints.begin(), ints.end()));
      } else {
        input.value = std::make_shared<const Value>(ints);
      }
      input.foldable = true;
    }
  }

  // --input (or the length of a --value) binds the symbols that the declared shape has in the same
  // places.
  void UnifyGivenShape(Tensor& input) {
    const auto given = bindings_.inputs.find(input.name);
    if (given == bindings_.inputs.end()) {
      UseValueLength(input);
      return;
    }
    input.type.shape = Shape(given->second);
    if (!input.declared || !input.declared->dims) return;
    const std::vector<Dim>& declared = *input.declared->dims;
    if (declared.size() != given->second.size()) {
      throw Error("--input {}: {} dimensions given, the model declares {}", Printable(input.name),
                  given->second.size(), declared.size());
    }
    for (std::size_t i = 0; i < declared.size(); ++i) {
      if (declared[i].symbol.empty()) continue;
      const auto [at, fresh] = bound_.symbols.emplace(declared[i].symbol, given->second[i]);
      if (!fresh && at->second != given->second[i]) {
        throw Error("--input {}: dimension '{}' is {} here and {} elsewhere", Printable(input.name),
                    Printable(declared[i].symbol), given->second[i], at->second);
      }
    }
  }

  void UseValueLength(Tensor& input) {
    const auto value = bindings_.values.find(input.name);
    if (value == bindings_.values.end() || !input.declared || !input.declared->dims) return;
    const std::vector<Dim>& dims = *input.declared->dims;
    if (dims.size() != 1 || dims[0].size >= 0) return;
    input.type.shape = Shape{static_cast<std::int64_t>(value->second.size())};
  }

  void FindBatchSymbols() {
    for (const TensorId id : graph_.inputs) {
      const Tensor& input = Input(id);
      if (!IsTensor(input) || !input.declared->dims) continue;
      const std::vector<Dim>& dims = *input.declared->dims;
      for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i].size >= 0 || dims[i].symbol.empty()) continue;
        const bool first = i == 0 && dims.size() >= 2 && !NamesAnotherAxis(dims[i].symbol);
        if (first || NamesBatch(dims[i].symbol)) batch_symbols_.insert(dims[i].symbol);
      }
    }
  }

  void Bind(Tensor& input) {
    if (!input.declared) return;
    input.type.kind = input.declared->kind;
    input.type.dtype = input.declared->dtype;
    if (input.type.shape || !IsTensor(input)) return;
    if (!input.declared->dims) {
      shapeless_.push_back(input.name);
      return;
    }
    const std::vector<Dim>& dims = *input.declared->dims;
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < dims.size(); ++i) sizes.push_back(BindDim(input, dims, i));
    input.type.shape = Shape(std::move(sizes));
  }

  std::int64_t BindDim(const Tensor& input, const std::vector<Dim>& dims, std::size_t i) {
    const Dim& dim = dims[i];
    if (dim.size >= 0) return dim.size;
    const auto known = bound_.symbols.find(dim.symbol);
    if (!dim.symbol.empty() && known != bound_.symbols.end()) return known->second;
    const bool unnamed_batch = dim.symbol.empty() && i == 0 && dims.size() >= 2;
    if (unnamed_batch || batch_symbols_.count(dim.symbol) != 0) {
      const std::int64_t size = bindings_.batch.value_or(1);
      batch_used_ = true;
      if (!bindings_.batch) {
        defaulted_.insert(dim.symbol.empty() ? "the first dimension of " + input.name : dim.symbol);
      }
      if (!dim.symbol.empty()) bound_.symbols[dim.symbol] = size;
      return size;
    }
    if (dim.symbol.empty()) {
      unnamed_.insert(input.name);
      unbound_["axis " + std::to_string(i)].insert(input.name);
    } else {
      unbound_[dim.symbol].insert(input.name);
    }
    return 0;
  }

  // A file that fixes its batch can still be asked about another one, if all its inputs agree on
  // the first dimension.
  void OverrideFixedBatch() {
    std::optional<std::int64_t> fixed;
    for (const TensorId id : graph_.inputs) {
      const Tensor& input = Input(id);
      if (!input.type.shape || input.type.shape->rank() < 2) continue;
      if (bindings_.inputs.count(input.name) != 0) continue;
      if (fixed && *fixed != (*input.type.shape)[0]) {
        throw Error(
            "--batch {}: no input has an open batch dimension, and the fixed ones differ; set "
            "shapes with --input NAME:AxBxC",
            *bindings_.batch);
      }
      fixed = (*input.type.shape)[0];
    }
    if (!fixed) {
      throw Error("--batch {}: no input has a batch dimension", *bindings_.batch);
    }
    if (*fixed == *bindings_.batch) return;
    for (const TensorId id : graph_.inputs) {
      Tensor& input = Input(id);
      if (!input.type.shape || input.type.shape->rank() < 2) continue;
      if (bindings_.inputs.count(input.name) == 0) (*input.type.shape)[0] = *bindings_.batch;
    }
    bound_.notes.push_back(fmt::format("the file fixes the batch at {}; --batch {} overrides it",
                                       *fixed, *bindings_.batch));
  }

  [[noreturn]] void Complain() {
    std::vector<std::string> wanted, options;
    for (const auto& [symbol, inputs] : unbound_) {
      wanted.push_back(fmt::format("'{}' ({})", Printable(symbol), Few(inputs)));
      if (symbol.rfind("axis ", 0) != 0) options.push_back(fmt::format("--dim {}=128", symbol));
    }
    for (const std::string& name : unnamed_) options.push_back(Suggestion(name));
    for (const std::string& name : shapeless_) {
      wanted.push_back(fmt::format("the whole shape of '{}'", Printable(name)));
      options.push_back(fmt::format("--input {}:1x3x224x224", name));
    }
    throw Error("unbound dimensions: {}; bind them, for example: {}", fmt::join(wanted, ", "),
                fmt::join(options, " "));
  }

  // Decoders have dozens of cache inputs with the same open dimension.
  static std::string Few(const std::set<std::string>& names) {
    constexpr std::size_t kShown = 3;
    std::vector<std::string> shown;
    for (const std::string& name : names) {
      if (shown.size() < kShown) shown.push_back(Printable(name));
    }
    const std::string text = fmt::format("{}", fmt::join(shown, ", "));
    return names.size() > kShown ? fmt::format("{} and {} more", text, names.size() - kShown)
                                 : text;
  }

  std::string Suggestion(const std::string& name) {
    for (const TensorId id : graph_.inputs) {
      if (Input(id).name != name) continue;
      std::vector<std::int64_t> sizes;
      for (const Dim& dim : *Input(id).declared->dims) {
        sizes.push_back(dim.size >= 0 ? dim.size : sizes.empty() ? 1 : 128);
      }
      return fmt::format("--input {}:{}", name, fmt::join(sizes, "x"));
    }
    return "";
  }

  void NoteDefaults() {
    if (defaulted_.empty()) return;
    bound_.notes.push_back(
        fmt::format("{} = 1 by default; set it with --batch N", fmt::join(defaulted_, ", ")));
  }

  Graph& graph_;
  const Bindings& bindings_;
  BoundDims bound_;
  std::set<std::string> batch_symbols_;
  std::set<std::string> defaulted_;
  std::map<std::string, std::set<std::string>> unbound_;  // symbol -> inputs
  std::set<std::string> unnamed_;                         // inputs with an unnamed open dimension
  std::vector<std::string> shapeless_;
  bool batch_used_ = false;
};

}  // namespace

void AddDimBinding(Bindings& bindings, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error("--dim '{}' is not of the form NAME=N", Printable(text));
  }
  bindings.dims[text.substr(0, equals)] =
      ParseSize(std::string_view(text).substr(equals + 1), "--dim " + text);
}

void AddInputBinding(Bindings& bindings, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    throw Error("--input '{}' is not of the form NAME:1x3x224x224", Printable(text));
  }
  std::vector<std::int64_t> dims;
  std::string_view rest = std::string_view(text).substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t cross = std::min(rest.find_first_of("x,"), rest.size());
    dims.push_back(ParseSize(rest.substr(0, cross), "--input " + text));
    rest.remove_prefix(std::min(cross + 1, rest.size()));
  }
  bindings.inputs[text.substr(0, colon)] = std::move(dims);
}

void AddValueBinding(Bindings& bindings, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error("--value '{}' is not of the form NAME=1,2", Printable(text));
  }
  std::vector<std::int64_t> ints;
  std::string_view rest = std::string_view(text).substr(equals + 1);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const bool negative = rest.front() == '-';
    const std::int64_t size =
        ParseSize(rest.substr(negative ? 1 : 0, comma - (negative ? 1 : 0)), "--value " + text);
    ints.push_back(negative ? -size : size);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  bindings.values[text.substr(0, equals)] = std::move(ints);
}

BoundDims BindInputs(Model& model, const Bindings& bindings) {
  return Binder(model, bindings).Run();
}

}  // namespace dlcost
