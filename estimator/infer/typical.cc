#include "estimator/infer/typical.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimator/core/integer.h"

namespace dlcost {
namespace {

// COCO's evaluation takes the 100 best boxes of an image (cocoeval.py, maxDets), and so do
// torchvision's detectors (box_detections_per_img).
constexpr std::int64_t kBoxesPerImage = 100;

// What makes a tensor that `reader` gets: mostly one of the nodes right before it.
const Node* ProducerOf(const Graph& graph, const Node& reader, TensorId id) {
  const auto makes = [id](const Node& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end();
  };
  const auto at = graph.nodes.begin() + (&reader - graph.nodes.data());
  const auto before = std::find_if(std::make_reverse_iterator(at), graph.nodes.rend(), makes);
  if (before != graph.nodes.rend()) return &*before;
  const auto behind = std::find_if(at, graph.nodes.end(), makes);
  return behind == graph.nodes.end() ? nullptr : &*behind;
}

// Operators behind which a part of a one-hot table is one still, or says which classes it has.
bool HandsOn(const std::string& op) {
  constexpr const char* kOps[] = {"Gather",   "Slice",   "Squeeze",  "Unsqueeze", "Transpose",
                                  "Cast",     "Reshape", "Identity", "Split",     "Flatten",
                                  "GatherND", "Expand",  "Greater",  "ReduceSum", "ReduceMax"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

// A mask that is a part of a one-hot table.
struct OneHotPart {
  std::int64_t classes = 1;
  bool reduced = false;  // over the rows: which classes there are at all
};

std::optional<OneHotPart> OneHotPartOf(const Graph& graph, const Node& mask_reader) {
  OneHotPart part;
  TensorId id = mask_reader.inputs.empty() ? kNoTensor : mask_reader.inputs[0];
  const Node* reader = &mask_reader;
  constexpr int kSteps = 12;  // masks are a few nodes away from their table
  for (int step = 0; step < kSteps && id != kNoTensor; ++step) {
    const Node* node = ProducerOf(graph, *reader, id);
    if (node == nullptr || node->inputs.empty()) return std::nullopt;
    if (node->op == "OneHot" && node->inputs.size() > 1 && node->inputs[1] != kNoTensor) {
      const ValuePtr& depth = graph.tensors[static_cast<std::size_t>(node->inputs[1])].value;
      if (depth == nullptr || depth->size() != 1 || !(depth->Real(0) >= 1)) return std::nullopt;
      part.classes = Truncate(std::min(depth->Real(0), 1e15));
      return part;
    }
    part.reduced |= node->op == "ReduceSum" || node->op == "ReduceMax";
    if (!HandsOn(node->op)) return std::nullopt;
    reader = node;
    id = node->inputs[0];
  }
  return std::nullopt;
}

}  // namespace

bool HasTypicalOutput(const Node& node) {
  return node.op == "NonZero" || node.op == "Compress" || node.op == "Unique" ||
         node.op == "NonMaxSuppression";
}

std::optional<TypicalSize> TypicalOutput(const Graph& graph, const Node& node, std::int64_t bound) {
  const auto half = [bound] { return bound / 2 + bound % 2; };
  if (node.op == "NonZero") {
    if (const auto part = OneHotPartOf(graph, node)) {
      if (part->reduced) return TypicalSize{bound, "every class of a one-hot table comes up"};
      return TypicalSize{std::max<std::int64_t>(1, bound / part->classes),
                         fmt::format("an equal part for each of {} classes of a one-hot table, as "
                                     "balanced experts get",
                                     part->classes)};
    }
    return TypicalSize{half(), "half of the elements of a mask"};
  }
  if (node.op == "Compress") return TypicalSize{half(), "half of the elements of a mask"};
  if (node.op == "Unique") return TypicalSize{half(), "half of the elements are distinct"};
  if (node.op == "NonMaxSuppression") {
    std::int64_t images = 1;
    if (!node.inputs.empty() && node.inputs[0] != kNoTensor) {
      const auto& boxes = graph.tensors[static_cast<std::size_t>(node.inputs[0])].type.shape;
      if (boxes && boxes->rank() > 0) images = std::min<std::int64_t>((*boxes)[0], 1'000'000);
    }
    return TypicalSize{std::min(bound, kBoxesPerImage * images),
                       "100 boxes for each image, the most that COCO's evaluation takes"};
  }
  return std::nullopt;
}

}  // namespace dlcost
