#include "estimator/infer/infer.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/infer/assumed.h"
#include "estimator/infer/driver.h"
#include "estimator/infer/infer_once.h"
#include "estimator/infer/memory.h"
#include "estimator/infer/run_hints.h"
#include "estimator/infer/suggestion.h"

namespace dlcost {
namespace {

// Typical sizes may contradict each other or the model: of those before an error, the last goes.
void DropContradicted(const Model& model, InferOptions& options) {
  constexpr std::size_t kMaxDropped = 64;
  while (true) {
    InferTrace trace;
    if (TryInfer(model, options, trace) || trace.last_assumed.empty()) return;
    if (options.not_assumed.size() == kMaxDropped) break;
    if (!options.not_assumed.insert(trace.last_assumed).second) break;
  }
  options.assume_typical = false;
}

InferredModel InferWithHelp(std::unique_ptr<Model> model, const InferOptions& given, bool advises) {
  InferTrace trace;
  InferredModel result;
  InferOptions options = given;
  try {
    if (options.assume_typical) DropContradicted(*model, options);
    result = InferOnce(model, options, trace);
  } catch (const UnboundDims& unbound) {
    throw Error("{}; {}", unbound.what(), SuggestBindings(*model, options, unbound));
  }
  // What is assumed is among what is advised.
  if (!advises && !options.assume_typical) return result;
  const std::vector<RunHint> hints = FindRunHints(result, options);
  if (options.assume_typical) AssumeHints(result, options, hints);
  if (given.assume_typical && result.assumptions.empty() &&
      std::none_of(result.settled.begin(), result.settled.end(),
                   [](const Settled& settled) { return settled.assumed; })) {
    result.notes.push_back(
        LeavesSizes(result)
            ? "--assume typical changes nothing: what is typical contradicts this model"
            : "--assume typical changes nothing: this model leaves no size to a run");
  }
  for (const std::string& note : NotesOf(result, options, hints)) result.notes.push_back(note);
  return result;
}

// Whether an edit gave a graph inside control flow types, which files do not have.
bool IsTyped(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
      return id != kNoTensor &&
             graph.tensors[static_cast<std::size_t>(id)].type.dtype != DType::kUndefined;
    });
  });
}

}  // namespace

void Forget(Graph& graph) {
  const auto forget = [&](TensorId id) {
    if (id == kNoTensor) return;
    Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    tensor.type = TensorType{};
    tensor.value = nullptr;
    tensor.constant = tensor.foldable = tensor.upper_bound = false;
    if (tensor.role == Role::kWeight) tensor.role = Role::kActivation;
  };
  for (const TensorId id : graph.inputs) forget(id);
  for (const Capture& capture : graph.captures) forget(capture.inner);
  for (Node& node : graph.nodes) {
    for (const TensorId id : node.outputs) forget(id);
    for (Attribute& attribute : node.attributes) {
      auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value);
      if (body == nullptr || !IsTyped(**body)) continue;
      *body = std::make_shared<Graph>(**body);
      Forget(**body);
    }
  }
}

InferredModel InferOnce(std::unique_ptr<Model>& model, const InferOptions& options,
                        InferTrace& trace) {
  InferredModel result;
  result.dims = BindInputs(*model, options.bindings);
  result.model = std::move(model);
  for (const auto& [input, values] : options.bindings.values) {
    result.settled.push_back({"--value", input, fmt::format("{}", fmt::join(values, ","))});
  }
  result.nodes.reserve(result.model->graph.nodes.size());
  InferenceDriver driver(result, options);
  const auto note = [&] {
    trace.steps += driver.steps();
    trace.last_assumed = driver.run_values().last_assumed();
  };
  try {
    driver.Run(result.model->graph, 1, "");
  } catch (const Error& error) {
    note();
    // Shapes that the file writes down may hold for its own batch alone.
    const bool shapes = dynamic_cast<const OverflowError*>(&error) == nullptr;
    if (result.dims.overridden.empty() || !shapes) throw;
    throw Error("{} ({})", error.what(), result.dims.overridden);
  } catch (...) {
    note();
    throw;
  }
  note();
  driver.CheckChoices();
  FinishSettled(result);
  result.bindings_used = driver.run_values().bound();
  result.assumptions = driver.run_values().assumed();
  MarkAssumed(result, driver.run_values().assumed_nodes());
  CountWeights(result);
  result.notes = result.dims.notes;
  for (std::string& unused : driver.UnusedChoices()) result.notes.push_back(std::move(unused));
  // What a network that was written for its costs leaves out (models/networks/config_file.h).
  const auto left_out = result.model->metadata.find("dlcost.note");
  if (left_out != result.model->metadata.end()) {
    result.notes.push_back(Printable(left_out->second, 400));
  }
  if (std::string weights = WeightsOfUnknown(result); !weights.empty()) {
    result.notes.push_back(std::move(weights));
  }
  return result;
}

std::unique_ptr<Model> Uninferred(const Model& model) {
  auto fresh = std::make_unique<Model>(model);
  Forget(fresh->graph);
  return fresh;
}

std::optional<InferredModel> TryInfer(const Model& model, const InferOptions& options,
                                      InferTrace& trace) {
  trace.last_assumed.clear();
  std::unique_ptr<Model> copy = Uninferred(model);
  try {
    return InferOnce(copy, options, trace);
  } catch (const Error&) {
    return std::nullopt;
  }
}

namespace {

InferredModel InferNamed(std::unique_ptr<Model> model, const InferOptions& options, bool advises) {
  const std::string path = model->path;
  try {
    return InferWithHelp(std::move(model), options, advises);
  } catch (const Error& error) {
    throw error.At(Printable(path));
  }
}

}  // namespace

InferredModel Infer(Model model, const InferOptions& options) {
  return InferNamed(std::make_unique<Model>(std::move(model)), options, true);
}

InferredModel InferUnadvised(const Model& model, const InferOptions& options) {
  return InferNamed(Uninferred(model), options, false);
}

}  // namespace dlcost
