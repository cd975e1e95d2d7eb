#include <optional>
#include <unordered_set>

#include "estimator/core/error.h"
#include "estimator/infer/integer_numbers.h"
#include "estimator/infer/memory.h"
#include "estimator/infer/parameters.h"
#include "estimator/infer/places.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

// How many numbers the elements of a packed operand hold.
struct Packing {
  DType type;
  Count elements, numbers;
};

// nullopt: one per element, or not known.
std::optional<Packing> PackingOf(const ReadingNode& reader, std::size_t input) {
  if (reader.def == nullptr || reader.def->packed == nullptr) return std::nullopt;
  const OpContext ctx(*reader.graph, *reader.node, SinceVersion(*reader.def, reader.node->opset));
  const auto i = static_cast<int>(input);
  try {
    const std::optional<Count> numbers = reader.def->packed(ctx, i);
    if (!numbers) return std::nullopt;
    return Packing{ctx.InputType(i), ctx.InputShape(i).Elements(), *numbers};
  } catch (const Unresolved&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // of a graph that nobody followed; elsewhere the cost has thrown it
  }
}

class WeightCounter {
 public:
  WeightCounter(InferredModel& model, std::optional<DType> floats_as)
      : model_(model), floats_as_(floats_as), places_(model), numbers_(places_) {}

  void Run() {
    for (CountedNode& counted : model_.nodes) {
      counted.parameters = Count();
      counted.weight_bytes = Bytes();
    }
    // What nobody else reads belongs to nodes of which nothing is known.
    for (const bool known : {true, false}) {
      for (const ReadingNode& reader : places_.readers()) {
        if ((reader.row->status != NodeStatus::kUnknown) == known) Read(reader);
      }
    }
  }

 private:
  struct Item {
    Place place;
    std::optional<Packing> packing;
  };

  void Read(const ReadingNode& reader) {
    CountedNode& row = *reader.row;
    if (row.status == NodeStatus::kMetadata) return;
    row_ = &row;
    if (row.cost.held_parameters > Count(0) && held_.insert(row.node->name).second) {
      AddToTotals(row.cost.held_parameters, row.cost.held_bytes);
    }
    for (std::size_t i = 0; i < reader.node->inputs.size(); ++i) {
      const TensorId id = reader.node->inputs[i];
      if (id == kNoTensor || IsSetting(*reader.node, i)) continue;
      Visit({{reader.graph, id}, PackingOf(reader, i)});
    }
  }

  // Iterative: chains of folded nodes may be long.
  void Visit(Item first) {
    stack_.push_back(first);
    while (!stack_.empty()) {
      const Item item = stack_.back();
      stack_.pop_back();
      const Place place = places_.Resolve(item.place);
      const Tensor& tensor = TensorAt(place);
      if (const Place* inside = places_.Inside(tensor)) {
        if (visited_.insert(places_.Identity(place)).second) {
          stack_.push_back({*inside, item.packing});
        }
        continue;
      }
      // A weight that is expanded to the batch is known before the run without being constant.
      if (!tensor.foldable || !visited_.insert(places_.Identity(place)).second) continue;
      const ReadingNode* producer = places_.Producer(tensor);
      if (producer == nullptr || IsGenerator(*producer->node)) {
        // Folded, but not from constants alone: a mask or a range as long as the input.
        if (tensor.constant) Add(place, producer, item.packing);
        continue;
      }
      for (const TensorId input : producer->node->inputs) {
        if (input != kNoTensor) stack_.push_back({{producer->graph, input}, item.packing});
      }
    }
  }

  // Its output is the stored tensor; its inputs are only shapes and scalars.
  static bool IsGenerator(const Node& producer) {
    return producer.inputs.empty() || producer.op == "ConstantOfShape" || producer.op == "Range" ||
           producer.op == "EyeLike";
  }

  void Add(Place place, const ReadingNode* producer, const std::optional<Packing>& packing) {
    const Tensor& tensor = TensorAt(place);
    if (!tensor.type.shape) return;
    if (producer == nullptr && !tensor.is_initializer) return;
    const DType type = tensor.type.dtype;
    const Count elements = tensor.type.shape->Elements();
    const bool scalar =
        tensor.type.shape->rank() == 0 || (producer != nullptr && elements == Count(1));
    const bool number = IsFloat(type) || IsComplex(type) || numbers_.Has(places_.Identity(place));
    if (!number || scalar) return;
    Bytes bytes = SizeOf(type, elements);
    if (floats_as_ && IsFloat(type)) {
      bytes = SizeOf(*floats_as_, elements);
    } else if (tensor.is_initializer && tensor.stored > Bytes(0)) {
      bytes = tensor.stored;
    }
    AddToTotals(NumbersIn(type, elements, packing), bytes);
  }

  // Packed parts that are joined before they are read share the numbers of the whole.
  static Count NumbersIn(DType type, Count elements, const std::optional<Packing>& packing) {
    if (!packing || packing->type != type || packing->elements == Count(0)) return elements;
    return elements == packing->elements ? packing->numbers
                                         : elements * packing->numbers / packing->elements;
  }

  void AddToTotals(Count parameters, Bytes bytes) {
    model_.parameters += parameters;
    model_.weight_bytes += bytes;
    row_->parameters += parameters;
    row_->weight_bytes += bytes;
  }

  InferredModel& model_;
  CountedNode* row_ = nullptr;  // whose inputs are visited
  std::optional<DType> floats_as_;
  Places places_;
  IntegerNumbers numbers_;
  std::unordered_set<const Tensor*> visited_;  // by identity
  std::vector<Item> stack_;                    // of Visit
  std::unordered_set<std::string> held_;  // nodes whose attributes are counted, in whatever copy
};

}  // namespace

void CountWeights(InferredModel& model, std::optional<DType> floats_as) {
  WeightCounter(model, floats_as).Run();
}

std::string WeightsOfUnknown(const InferredModel& model) {
  Count parameters;
  Bytes bytes;
  for (const CountedNode& counted : model.nodes) {
    if (counted.status != NodeStatus::kUnknown) continue;
    parameters += counted.parameters;
    bytes += counted.weight_bytes;
  }
  if (bytes == Bytes(0)) return "";
  return fmt::format(
      "{} parameters ({} bytes) are read by unknown nodes alone; weights and memory hold them",
      parameters, bytes.value());
}

}  // namespace dlcost
