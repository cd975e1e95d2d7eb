#include "estimator/sweep/variables.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/infer/infer_once.h"
#include "estimator/infer/open_dims.h"
#include "estimator/infer/suggestion.h"

namespace dlcost {
namespace {

constexpr std::int64_t kBatch = 2;  // one item alone broadcasts where several do not

struct Open {
  std::map<std::string, std::int64_t> bound;  // what is known
  std::optional<UnboundDims> unbound;
};

Open TryBind(const Model& model, const Bindings& bindings) {
  const std::unique_ptr<Model> copy = Uninferred(model);
  try {
    return {BindInputs(*copy, bindings).symbols, std::nullopt};
  } catch (const UnboundDims& unbound) {
    return {unbound.bound, unbound};
  }
}

// What is known with a batch of `size`; nothing where no input of the model has one.
std::map<std::string, std::int64_t> BoundWithBatch(const Model& model, Bindings bindings,
                                                   std::int64_t size) {
  bindings.batch = size;
  try {
    return TryBind(model, bindings).bound;
  } catch (const Error&) {  // of a model that cannot be bound either way, the next attempt tells
    return {};
  }
}

// Names in an expression; itself where it is a plain name.
std::set<std::string> NamesIn(const std::string& expression) {
  std::set<std::string> names = PartsOf(expression);
  if (names.empty()) names.insert(expression);
  return names;
}

}  // namespace

ModelVariables ModelVariables::Of(const Model& model, const InferOptions& options,
                                  const TiedDims& tied) {
  ModelVariables variables;
  variables.given_ = options.bindings;
  variables.tied_ = tied;
  const std::vector<OpenDim> dims = OpenDimsOf(model);
  for (const OpenDim& dim : dims) {
    if (tied.count(dim.key) != 0) continue;
    for (const std::string& part : NamesIn(dim.key)) variables.own_.insert(part);
  }
  // What follows --batch is one variable.
  if (!options.bindings.batch) {
    const auto with_one = BoundWithBatch(model, options.bindings, 1);
    const auto with_two = BoundWithBatch(model, options.bindings, 2);
    std::vector<std::string> batch;
    for (const auto& [key, size] : with_one) {
      const auto other = with_two.find(key);
      if (tied.count(key) == 0 && PartsOf(key).empty() && other != with_two.end() &&
          other->second != size) {
        batch.push_back(key);
      }
    }
    if (!batch.empty()) {
      variables.batch_ = true;
      variables.names_.push_back(batch.size() == 1 ? batch.front() : "batch");
      variables.base_.push_back(kBatch);
    }
  }
  const auto add = [&](const std::string& name, std::int64_t size) {
    const auto& names = variables.names_;
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    if (options.bindings.dims.count(name) != 0) return;
    variables.names_.push_back(name);
    variables.base_.push_back(size);
  };
  Bindings start = options.bindings;
  if (variables.batch_) start.batch = kBatch;
  const Open open = TryBind(model, start);
  Bindings found = start;
  if (open.unbound) {
    InferOptions trial = options;
    trial.bindings = start;
    std::optional<Bindings> sizes = FindBindings(model, trial, *open.unbound);
    if (!sizes) {
      throw Error("{}; no sizes that fit together were found: bind some of them with --dim NAME=N",
                  open.unbound->what());
    }
    found = std::move(*sizes);
    variables.given_.inputs = found.inputs;
    for (const OpenDim& dim : open.unbound->dims) {
      const auto tie = tied.find(dim.key);
      const std::set<std::string> parts =
          tie != tied.end() ? NamesIn(tie->second) : NamesIn(dim.key);
      for (const std::string& part : parts) {
        const auto known = found.dims.find(part);
        add(part, known != found.dims.end() ? known->second : found.dims.at(dim.key));
      }
    }
  }
  for (const auto& tie : tied) {
    const std::string& key = tie.first;
    const std::string& expression = tie.second;
    const auto letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    if (PartsOf(expression).empty() && !std::all_of(expression.begin(), expression.end(), letter)) {
      throw Error("--dim {}={}: neither a size nor an expression of sizes", Printable(key),
                  Printable(expression));
    }
    if (std::none_of(dims.begin(), dims.end(), [&](const OpenDim& d) { return d.key == key; })) {
      std::vector<std::string> keys;
      for (const OpenDim& dim : dims) keys.push_back(dim.key);
      throw Error("--dim {}: no input has a dimension of that name{}", Printable(key),
                  DidYouMean(key, keys));
    }
    for (const std::string& name : NamesIn(expression)) {
      const auto known = found.dims.find(key);
      add(name, known == found.dims.end() ? kBatch : known->second);
    }
  }
  return variables;
}

std::size_t ModelVariables::IndexOf(const std::string& name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  if (at != names_.end()) return static_cast<std::size_t>(at - names_.begin());
  if (name == "batch" && batch_) return 0;
  throw Error("'{}' is no open dimension of the model{}; there {}", Printable(name),
              DidYouMean(name, names_),
              names_.empty() ? "are none" : fmt::format("are: {}", fmt::join(names_, ", ")));
}

Bindings ModelVariables::At(const Point& point) const {
  Bindings bindings = given_;
  std::map<std::string, std::int64_t> sizes = given_.dims;
  for (std::size_t v = 0; v < names_.size(); ++v) sizes[names_[v]] = point[v];
  if (batch_) bindings.batch = point[0];
  for (std::size_t v = batch_ ? 1 : 0; v < names_.size(); ++v) {
    if (own_.count(names_[v]) != 0) bindings.dims[names_[v]] = point[v];
  }
  for (const auto& [key, expression] : tied_) {
    const auto known = [&](const std::string& name) -> std::optional<std::int64_t> {
      const auto at = sizes.find(name);
      return at == sizes.end() ? std::nullopt : std::optional(at->second);
    };
    const std::optional<std::int64_t> plain = known(expression);
    const std::optional<std::int64_t> size = plain ? plain : EvaluateSymbol(expression, known);
    if (!size || *size < 0) {
      throw Error("--dim {}={}: that is no size here", Printable(key), Printable(expression));
    }
    bindings.dims[key] = *size;
  }
  return bindings;
}

}  // namespace dlcost
