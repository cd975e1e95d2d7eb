#include "estimator/infer/integer_numbers.h"

#include <algorithm>

namespace dlcost {
namespace {

IntegerInputs InputsOf(const ReadingNode& reader) {
  return reader.def == nullptr ? IntegerInputs{} : IntegersOf(*reader.def);
}

bool IsNarrow(const Tensor& tensor) { return Bits(tensor.type.dtype) <= 8; }

// Where the type of an output is not known, reals are what integers usually become.
bool MakesReals(const ReadingNode& reader) {
  const std::vector<TensorId>& outputs = reader.node->outputs;
  return std::any_of(outputs.begin(), outputs.end(), [&](TensorId id) {
    if (id == kNoTensor) return false;
    const DType type = TensorAt({reader.graph, id}).type.dtype;
    return type == DType::kUndefined || IsFloat(type) || IsComplex(type);
  });
}

}  // namespace

IntegerNumbers::IntegerNumbers(const Places& places) : places_(places) {
  for (const ReadingNode& reader : places.readers()) {
    for (std::size_t i = 0; i < reader.node->inputs.size(); ++i) {
      if (reader.node->inputs[i] == kNoTensor) continue;
      const Place place = places.Resolve({reader.graph, reader.node->inputs[i]});
      if (IsRead(reader, i, TensorAt(place))) Mark(place);
    }
  }
  while (!stack_.empty()) {
    const Place place = stack_.back();
    stack_.pop_back();
    PassBack(place);
  }
}

bool IntegerNumbers::IsRead(const ReadingNode& reader, std::size_t input,
                            const Tensor& tensor) const {
  if (!IsInteger(tensor.type.dtype)) return false;
  const IntegerInputs inputs = InputsOf(reader);
  if (inputs.Computes(input)) return true;
  return IsNarrow(tensor) && (!inputs.Passes(input) || MakesReals(reader));
}

void IntegerNumbers::Mark(Place place) {
  if (numbers_.insert(places_.Identity(place)).second) stack_.push_back(place);
}

// The outputs are numbers: so is what they were made of.
void IntegerNumbers::PassBack(Place place) {
  const Tensor& tensor = TensorAt(place);
  if (const Place* inside = places_.Inside(tensor)) return Mark(places_.Resolve(*inside));
  const ReadingNode* producer = places_.Producer(tensor);
  if (producer == nullptr) return;
  const IntegerInputs inputs = InputsOf(*producer);
  for (std::size_t i = 0; i < producer->node->inputs.size(); ++i) {
    if (producer->node->inputs[i] == kNoTensor || !inputs.Passes(i)) continue;
    const Place from = places_.Resolve({producer->graph, producer->node->inputs[i]});
    if (IsInteger(TensorAt(from).type.dtype)) Mark(from);
  }
}

}  // namespace dlcost
