#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/infer/control_flow.h"
#include "estimator/infer/iterations.h"

namespace dlcost {
namespace {

Known ElementOf(const Known& sequence, std::size_t i) {
  Known element;
  element.upper_bound = sequence.upper_bound;
  if (sequence.type.elements) {
    element.type = (*sequence.type.elements)[i];
  } else {
    element.type.dtype = sequence.type.dtype;
    element.type.shape = sequence.type.shape;
  }
  return element;
}

bool Alike(const std::vector<TensorType>& elements) {
  return std::all_of(elements.begin(), elements.end(), [&](const TensorType& element) {
    return SameType(element, elements.front());
  });
}

}  // namespace

// The body runs once per element of the first sequence; further inputs are sequences of the same
// length, or tensors that are the same for all.
void RunSequenceMap(ControlNode& control) {
  const Graph& body = control.Body("body");
  std::vector<Known> inputs;
  for (std::size_t i = 0; i < control.NumInputs(); ++i) inputs.push_back(control.Input(i));
  if (inputs.empty() || inputs[0].type.kind != ValueKind::kSequence) {
    throw Error("input 0 is not a sequence");
  }
  // Longer sequences are not listed element by element where all are alike.
  constexpr std::size_t kMostListed = kMaxValueElements;
  std::size_t length = 0;
  bool alike = true;
  for (const Known& input : inputs) {
    if (input.type.kind != ValueKind::kSequence || !input.type.elements) continue;
    alike &= Alike(*input.type.elements);
  }
  if (inputs[0].type.elements) {
    length = inputs[0].type.elements->size();
  } else if (const auto chosen = control.driver().Trips(control.name())) {
    length = static_cast<std::size_t>(*chosen);
  } else {
    throw Unresolved(
        "the length of the sequence is only known at run time: bind it, for example: " +
        SuggestTrips(control.name()));
  }
  std::vector<Known> results(body.outputs.size());
  for (Known& result : results) {
    result.type.kind = ValueKind::kSequence;
    result.type.elements.emplace();
  }
  const auto run = [&](std::size_t number, Count times) {
    std::vector<Known> of_run;
    for (const Known& input : inputs) {
      const bool sequence = input.type.kind == ValueKind::kSequence;
      if (sequence && input.type.elements && number >= input.type.elements->size()) {
        throw Error("sequences of different length");
      }
      of_run.push_back(sequence ? ElementOf(input, number) : input);
    }
    const std::vector<Known> outputs = control.Run(body, of_run, times);
    for (std::size_t i = 0; i < results.size(); ++i) {
      TensorType& result = results[i].type;
      result.dtype = outputs[i].type.dtype;
      if (alike &&
          length > kMostListed) {  // as many as the user says: what all have in common is enough
        result.shape = outputs[i].type.shape;
        result.elements.reset();
      } else {
        result.elements->insert(result.elements->end(), alike ? length : 1, outputs[i].type);
      }
    }
  };
  if (alike && length > 0) run(0, static_cast<std::int64_t>(length));
  if (!alike) {
    const Iteration iteration = [&](const std::vector<Known>&, std::int64_t number) {
      run(static_cast<std::size_t>(number), 1);
      return std::vector<Known>();
    };
    FollowEach(control.driver(), iteration, {}, static_cast<std::int64_t>(length));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].type.elements) {
      control.SetOutput(i, results[i]);
      continue;
    }
    std::vector<TensorType>& elements = *results[i].type.elements;
    if (elements.empty()) {  // the type is what the body declares
      const Tensor& declared = body.tensors[static_cast<std::size_t>(body.outputs[i])];
      if (declared.declared) results[i].type.dtype = declared.declared->dtype;
    } else if (Alike(elements)) {
      results[i].type.shape = elements.front().shape;
    }
    control.SetOutput(i, results[i]);
  }
}

}  // namespace dlcost
