#include "estimator/infer/binding.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"

namespace dlcost {
namespace {

class Binder {
 public:
  Binder(Model& model, const Bindings& bindings)
      : graph_(model.graph), bindings_(bindings), open_(OpenDimsOf(model)) {
    for (const OpenDim& dim : open_) {
      if (auto parts = PartsOf(dim.key); !parts.empty()) expressions_[dim.key] = std::move(parts);
    }
  }

  BoundDims Run() {
    BindGiven();
    BindBatch();
    SolveExpressions();
    CheckExpressions();
    CollectUnbound();
    if (!unbound_.empty() || !shapeless_.empty()) Complain();
    for (const TensorId id : graph_.inputs) SetShape(Input(id));
    if (bindings_.batch && !batch_used_) HoldBatch();
    for (const auto& [name, ints] : bindings_.values) SetValue(name, ints);
    NoteDefaults();
    return std::move(bound_);
  }

  std::optional<BatchDim> BatchBoundApart() {
    BindGiven();
    const std::set<std::string> batch = BatchDims(open_);
    const auto known = [&](const std::string& key) { return Known(key).has_value(); };
    if (batch.empty() || !std::all_of(batch.begin(), batch.end(), known)) return std::nullopt;
    return BatchDim{*batch.begin(), *Known(*batch.begin())};
  }

 private:
  // What options other than --batch say, and what follows from it.
  void BindGiven() {
    CheckInputNames();
    for (const auto& [name, size] : bindings_.dims) BindNamed(name, size);
    for (const TensorId id : graph_.inputs) UnifyGivenShape(Input(id));
    SolveExpressions();
  }

  Tensor& Input(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }
  Tensor* FindInput(const std::string& name) {
    for (const TensorId id : graph_.inputs) {
      if (Input(id).name == name) return &Input(id);
    }
    return nullptr;
  }

  static bool IsTensor(const Tensor& tensor) {
    return tensor.declared && (tensor.declared->kind == ValueKind::kTensor ||
                               tensor.declared->kind == ValueKind::kSparseTensor ||
                               tensor.declared->kind == ValueKind::kOptional);
  }

  void CheckInputNames() {
    std::vector<std::string> inputs;
    for (const TensorId id : graph_.inputs) inputs.push_back(Input(id).name);
    const auto require_input = [&](std::string_view option, const std::string& name) {
      if (FindInput(name) != nullptr) return;
      throw Error("{} {}: the model has no such input{}; it has: {}", option, Printable(name),
                  DidYouMean(name, inputs), fmt::join(inputs, ", "));
    };
    for (const auto& [name, dims] : bindings_.inputs) require_input("--input", name);
    for (const auto& [name, ints] : bindings_.values) require_input("--value", name);
  }

  bool IsOpen(const std::string& key) const {
    return std::any_of(open_.begin(), open_.end(),
                       [&](const OpenDim& dim) { return dim.key == key; });
  }

  // What the user calls a dimension: its key, an axis of an input, a size that only inner tensors
  // have, or a part of an expression.
  void BindNamed(const std::string& name, std::int64_t size) {
    if (IsOpen(name)) return Set(name, size, "--dim " + Printable(name));
    if (const auto key = KeyOfAxis(name)) return Set(*key, size, "--dim " + Printable(name));
    if (ClassifyDimName(name) == DimName::kNone) return BindPlaceholder(name, size);
    if (!NamesDataDependentSize(name) && !NamesPart(name)) ThrowNoSuchDim(name);
    bound_.symbols[name] = size;
  }

  void Set(const std::string& key, std::int64_t size, const std::string& who) {
    const auto [at, fresh] = bound_.symbols.emplace(key, size);
    if (fresh || at->second == size) return;
    throw Error("{}: dimension '{}' is {} here and {} elsewhere", who, Printable(key), size,
                at->second);
  }

  // "x[3]" to the key of that dimension; nullopt where it is no axis of an input.
  std::optional<std::string> KeyOfAxis(const std::string& name) {
    for (const TensorId id : graph_.inputs) {
      const Tensor& input = Input(id);
      if (!name.starts_with(input.name + "[") || !DeclaresAxes(input)) continue;
      const std::vector<Dim>& dims = *input.declared->dims;
      for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        if (name != AxisKey(input.name, axis)) continue;
        if (dims[axis].size < 0) return KeyOf(input, axis);
        throw Error("--dim {}: the file fixes this axis at {}; --input sets a whole shape",
                    Printable(name), dims[axis].size);
      }
    }
    return std::nullopt;
  }

  // "?" says which dimension only where there is one.
  void BindPlaceholder(const std::string& name, std::int64_t size) {
    std::vector<std::string> keys;
    for (const TensorId id : graph_.inputs) {
      if (!DeclaresAxes(Input(id))) continue;
      const std::vector<Dim>& dims = *Input(id).declared->dims;
      for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        if (dims[axis].size < 0 && dims[axis].symbol == name)
          keys.push_back(KeyOf(Input(id), axis));
      }
    }
    if (keys.empty()) ThrowNoSuchDim(name);
    if (keys.size() > 1) {
      throw Error("--dim {}: {} dimensions are written so, each of its own size: {}",
                  Printable(name), keys.size(), fmt::join(keys, ", "));
    }
    Set(keys.front(), size, "--dim " + Printable(name));
  }

  [[noreturn]] void ThrowNoSuchDim(const std::string& name) const {
    std::vector<std::string> keys;
    for (const OpenDim& dim : open_) keys.push_back(dim.key);
    std::sort(keys.begin(), keys.end());
    throw Error("--dim {}: no input has a dimension of that name{}; there {}", Printable(name),
                DidYouMean(name, keys),
                keys.empty() ? "are none" : fmt::format("are: {}", fmt::join(keys, ", ")));
  }

  // A symbol of an inner tensor or an output: a size that the data decides (NonZero, ...).
  bool NamesDataDependentSize(const std::string& symbol) const {
    return std::any_of(graph_.tensors.begin(), graph_.tensors.end(), [&](const Tensor& tensor) {
      return tensor.declared && tensor.declared->dims &&
             std::any_of(tensor.declared->dims->begin(), tensor.declared->dims->end(),
                         [&](const Dim& dim) { return dim.symbol == symbol; });
    });
  }

  // "past" of "past + sequence".
  bool NamesPart(const std::string& name) const {
    return std::any_of(expressions_.begin(), expressions_.end(),
                       [&](const auto& expression) { return expression.second.count(name) != 0; });
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
  void UnifyGivenShape(const Tensor& input) {
    const auto given = bindings_.inputs.find(input.name);
    if (given == bindings_.inputs.end()) return UseValueLength(input);
    if (!input.declared || !input.declared->dims) return;
    const std::vector<Dim>& declared = *input.declared->dims;
    if (declared.size() != given->second.size()) {
      throw Error("--input {}: {} dimensions given, the model declares {}", Printable(input.name),
                  given->second.size(), declared.size());
    }
    if (!DeclaresAxes(input)) return;
    for (std::size_t i = 0; i < declared.size(); ++i) {
      if (declared[i].size >= 0) continue;
      Set(KeyOf(input, i), given->second[i], "--input " + Printable(input.name));
    }
  }

  void UseValueLength(const Tensor& input) {
    const auto value = bindings_.values.find(input.name);
    if (value == bindings_.values.end() || !DeclaresAxes(input)) return;
    const std::vector<Dim>& dims = *input.declared->dims;
    if (dims.size() != 1 || dims[0].size >= 0) return;
    Set(KeyOf(input, 0), static_cast<std::int64_t>(value->second.size()),
        "--value " + Printable(input.name));
  }

  std::optional<std::int64_t> Known(const std::string& key) const {
    const auto at = bound_.symbols.find(key);
    return at == bound_.symbols.end() ? std::nullopt : std::optional(at->second);
  }

  // "past + sequence" from its parts, and a part from the rest, where it enters linearly.
  void SolveExpressions() {
    for (bool found = true; found;) {
      found = false;
      for (const auto& [symbol, parts] : expressions_) found |= SolveExpression(symbol, parts);
    }
  }

  bool SolveExpression(const std::string& symbol, const std::set<std::string>& parts) {
    std::vector<std::string> missing;
    for (const std::string& part : parts) {
      if (!Known(part)) missing.push_back(part);
    }
    const std::optional<std::int64_t> whole = Known(symbol);
    const auto with = [&](std::int64_t size) {
      return EvaluateSymbol(symbol, [&](const std::string& name) {
        return !missing.empty() && name == missing.front() ? size : Known(name);
      });
    };
    if (missing.empty()) {
      const auto value = whole ? std::nullopt : with(0);
      if (!value || *value < 0) return false;
      bound_.symbols[symbol] = *value;
      return true;
    }
    if (!whole || missing.size() != 1 || !IsOpen(missing.front())) return false;
    const auto at0 = with(0), at1 = with(1), at2 = with(2);
    if (!at0 || !at1 || !at2) return false;
    const Count slope = Count(*at1) - *at0, rest = Count(*whole) - *at0;
    if (slope == Count(0) || Count(*at2) - *at1 != slope || rest % slope != Count(0)) return false;
    const std::int64_t size = (rest / slope).value();
    if (size < 0 || with(size) != whole) return false;
    bound_.symbols[missing.front()] = size;
    return true;
  }

  void CheckExpressions() const {
    for (const auto& [symbol, parts] : expressions_) {
      const std::optional<std::int64_t> whole = Known(symbol);
      const auto value =
          EvaluateSymbol(symbol, [&](const std::string& name) { return Known(name); });
      if (whole && value && *whole != *value) {
        throw Error("dimension '{}' is {}, but its parts make {}", Printable(symbol), *whole,
                    *value);
      }
    }
  }

  void BindBatch() {
    const std::set<std::string> batch = BatchDims(open_);
    for (const OpenDim& dim : open_) {
      if (batch.count(dim.key) == 0 || Known(dim.key)) continue;
      bound_.symbols[dim.key] = bindings_.batch.value_or(1);
      batch_used_ = true;
      if (!bindings_.batch) defaulted_.insert(dim.Label());
    }
  }

  void CollectUnbound() {
    for (const OpenDim& dim : open_) {
      if (!Known(dim.key)) unbound_.push_back(dim);
    }
    for (const TensorId id : graph_.inputs) {
      const Tensor& input = Input(id);
      if (IsTensor(input) && !input.declared->dims && bindings_.inputs.count(input.name) == 0) {
        shapeless_.push_back(input.name);
      }
    }
  }

  void SetShape(Tensor& input) {
    if (input.declared) {
      input.type.kind = input.declared->kind;
      input.type.dtype = input.declared->dtype;
    }
    const auto given = bindings_.inputs.find(input.name);
    if (given != bindings_.inputs.end()) {
      input.type.shape = Shape(given->second);
      return;
    }
    if (!DeclaresAxes(input)) return;
    const std::vector<Dim>& dims = *input.declared->dims;
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      sizes.push_back(dims[i].size >= 0 ? dims[i].size : bound_.symbols.at(KeyOf(input, i)));
    }
    input.type.shape = Shape(std::move(sizes));
  }

  // No dimension was left that --batch binds: others bind them to it, or the file fixes them.
  void HoldBatch() {
    const std::set<std::string> batch = BatchDims(open_);
    if (batch.empty()) return OverrideFixedBatch();
    for (const std::string& key : batch) {
      if (Known(key) == bindings_.batch) continue;
      throw Error("--batch {}: dimension '{}' is {} by another option; bind it once",
                  *bindings_.batch, Printable(key), *Known(key));
    }
  }

  // Whether the file fixes the first axis of an input that may have a batch.
  bool FixesFirst(const Tensor& input) const {
    if (!input.type.shape || input.type.shape->rank() < 2) return false;
    if (bindings_.inputs.count(input.name) != 0) return false;
    return !DeclaresAxes(input) || input.declared->dims->front().size >= 0;
  }

  // A file that fixes its batch can still be asked about another one, if all its inputs agree on
  // the first dimension.
  void OverrideFixedBatch() {
    std::optional<std::int64_t> fixed;
    for (const TensorId id : graph_.inputs) {
      const Tensor& input = Input(id);
      if (!FixesFirst(input)) continue;
      if (fixed && *fixed != (*input.type.shape)[0]) {
        throw Error(
            "--batch {}: no input has an open batch dimension, and the fixed ones differ; set "
            "shapes with --input NAME:AxBxC",
            *bindings_.batch);
      }
      fixed = (*input.type.shape)[0];
    }
    if (!fixed) return RequireGivenBatch();
    if (*fixed == *bindings_.batch) return;
    for (const TensorId id : graph_.inputs) {
      Tensor& input = Input(id);
      if (FixesFirst(input)) (*input.type.shape)[0] = *bindings_.batch;
    }
    bound_.overridden = fmt::format("the file fixes the batch at {}; --batch {} overrides it",
                                    *fixed, *bindings_.batch);
    bound_.notes.push_back(bound_.overridden);
  }

  // Where --input gives every shape they have the batch. A model without one, such as a graph's,
  // takes what is bound as one item.
  void RequireGivenBatch() {
    bool given = false;
    for (const TensorId id : graph_.inputs) {
      const Tensor& input = Input(id);
      if (bindings_.inputs.count(input.name) == 0 || input.type.shape->rank() < 2) continue;
      given = true;
      if ((*input.type.shape)[0] == *bindings_.batch) continue;
      throw Error("--batch {}: --input gives '{}' {} as its first dimension; bind it once",
                  *bindings_.batch, Printable(input.name), (*input.type.shape)[0]);
    }
    if (given || *bindings_.batch == 1) return;
    throw Error("--batch {}: no input has a batch dimension", *bindings_.batch);
  }

  [[noreturn]] void Complain() {
    std::vector<std::string> wanted;
    for (const OpenDim& dim : unbound_) {
      std::set<std::string> inputs;
      for (const OpenDim::Place& place : dim.places) inputs.insert(place.input);
      const std::string symbol = dim.Label() == dim.key ? "" : ", " + Printable(dim.key);
      wanted.push_back(fmt::format("'{}' ({}{})", Printable(dim.Label()), Few(inputs), symbol));
    }
    for (const std::string& name : shapeless_) {
      wanted.push_back(fmt::format("the whole shape of '{}'", Printable(name)));
    }
    throw UnboundDims(fmt::format("unbound dimensions: {}", fmt::join(wanted, ", ")), unbound_,
                      shapeless_, bound_.symbols);
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

  void NoteDefaults() {
    if (defaulted_.empty()) return;
    bound_.notes.push_back(
        fmt::format("{} = 1 by default; set it with --batch N", fmt::join(defaulted_, ", ")));
  }

  Graph& graph_;
  const Bindings& bindings_;
  const std::vector<OpenDim> open_;
  std::map<std::string, std::set<std::string>> expressions_;  // keys that are, with their parts
  BoundDims bound_;
  std::set<std::string> defaulted_;
  std::vector<OpenDim> unbound_;
  std::vector<std::string> shapeless_;
  bool batch_used_ = false;
};

}  // namespace

BoundDims BindInputs(Model& model, const Bindings& bindings) {
  return Binder(model, bindings).Run();
}

std::optional<BatchDim> BatchBoundApart(Model& model, const Bindings& bindings) {
  return Binder(model, bindings).BatchBoundApart();
}

}  // namespace dlcost
