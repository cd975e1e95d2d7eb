#include <utility>
#include <vector>

#include "estimator/core/error.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Operators of the standard domain with channels last, as ONNX Runtime writes them for providers
// that want them so. The first input and the outputs are [N, d..., C], everything else as it was:
// inferred and counted as the standard operator on the same tensors with channels in front.

constexpr std::string_view kNhwc = "com.ms.internal.nhwc";

constexpr OpCase NhwcCase(std::string_view what, std::string_view attributes,
                          std::string_view inputs, std::string_view outputs, std::int64_t macs,
                          std::int64_t flops, std::int64_t bytes_read, std::int64_t bytes_written) {
  return {.what = what,
          .attributes = attributes,
          .inputs = inputs,
          .outputs = outputs,
          .macs = macs,
          .flops = flops,
          .bytes_read = bytes_read,
          .bytes_written = bytes_written};
}

constexpr std::string_view kPool = "kernel_shape=[2,2] strides=[2,2]";

struct Standard {
  std::span<const OpDef> (*family)();
  std::string_view name;
  OpCase example;
};

constexpr Standard kStandardOps[] = {
    {ConvolutionOps, "Conv",
     NhwcCase("16 positions of 3 * 18 MACs", "pads=[1,1,1,1]", "f32[1,4,4,2] w:f32[3,2,3,3]",
              "f32[1,4,4,3]", 864, 1728, 4 * (32 + 54), 192)},
    {ConvolutionOps, "ConvTranspose",
     NhwcCase("12 inputs of 4 taps", "strides=[2,2]", "f32[1,2,2,3] w:f32[3,1,2,2]", "f32[1,4,4,1]",
              48, 96, 96, 64)},
    {ConvolutionOps, "QLinearConv",
     NhwcCase("4 positions of 3 * 18 MACs, requantized", "",
              "u8[1,4,4,2] f32[] u8[] w:i8[3,2,3,3] f32[] i8[] f32[] u8[]", "u8[1,2,2,3]", 216,
              432 + 12, 32 + 54 + 12 + 3, 12)},
    {ConvolutionOps, "QLinearConvTranspose",
     NhwcCase("12 inputs of 4 taps, 16 outputs requantized", "strides=[2,2]",
              "u8[1,2,2,3] f32[] u8[] w:i8[3,1,2,2] f32[] i8[] f32[] u8[]", "u8[1,4,4,1]", 48,
              96 + 16, 12 + 12 + 12 + 3, 16)},
    {ContribConvOps, "QLinearAveragePool",
     NhwcCase("3 integer additions; 1 mul, 1 convert per output", kPool,
              "u8[1,4,4,3] f32[] u8[] f32[] u8[]", "u8[1,2,2,3]", 0, 12, 48 + 10, 12)},
    {PoolingOps, "MaxPool",
     NhwcCase("3 comparisons per output", kPool, "f32[1,4,4,3]", "f32[1,2,2,3]", 0, 36, 192, 48)},
    {PoolingOps, "AveragePool",
     NhwcCase("3 additions, 1 division per output", kPool, "f32[1,4,4,3]", "f32[1,2,2,3]", 0, 48,
              192, 48)},
    {PoolingOps, "GlobalAveragePool",
     NhwcCase("15 additions, 1 division per channel", "", "f32[1,4,4,3]", "f32[1,1,1,3]", 0, 48,
              192, 12)},
    {PoolingOps, "GlobalMaxPool",
     NhwcCase("15 comparisons per channel", "", "f32[1,4,4,3]", "f32[1,1,1,3]", 0, 45, 192, 12)},
    {PoolingOps, "LpPool",
     NhwcCase("4 mul, 3 add, 1 sqrt per output", kPool, "f32[1,4,4,3]", "f32[1,2,2,3]", 0, 96, 192,
              48)},
    {PoolingOps, "GlobalLpPool",
     NhwcCase("16 mul, 15 add, 1 sqrt per channel", "", "f32[1,4,4,3]", "f32[1,1,1,3]", 0, 96, 192,
              12)},
    {PoolingOps, "MaxUnpool",
     NhwcCase("moves every element", kPool, "f32[1,2,2,3] i64[1,2,2,3]", "f32[1,4,4,3]", 0, 0,
              48 + 96, 192)},
    {NormalizationOps, "LRN",
     NhwcCase("2 mul, 5 adds, 1 div per element", "size=5", "f32[1,4,4,3]", "f32[1,4,4,3]", 0, 384,
              192, 192)},
    {NormalizationOps, "BatchNormalization",
     NhwcCase("1 mul, 1 add per element", "", "f32[1,4,4,3] w:f32[3] w:f32[3] w:f32[3] w:f32[3]",
              "f32[1,4,4,3]", 0, 96, 192 + 48, 192)},
    {NormalizationOps, "InstanceNormalization",
     NhwcCase("moments of 3 channels of 16; 2 mul, 1 add per element", "",
              "f32[1,4,4,3] w:f32[3] w:f32[3]", "f32[1,4,4,3]", 0, 141 + 48 + 6 + 3 + 144, 192 + 24,
              192)},
    {TransposeOps, "DepthToSpace",
     NhwcCase("moves everything", "blocksize=2", "f32[1,2,2,8]", "f32[1,4,4,2]", 0, 0, 128, 128)},
    {TransposeOps, "SpaceToDepth",
     NhwcCase("moves everything", "blocksize=2", "f32[1,4,4,2]", "f32[1,2,2,8]", 0, 0, 128, 128)},
    {SamplingOps, "GridSample",
     NhwcCase("16 coordinates of 4 FLOPs, 24 outputs of 7", "", "f32[1,4,4,3] f32[1,2,4,2]",
              "f32[1,2,4,3]", 0, 232, 256, 96)},
};

const OpDef& DefinitionOf(std::string_view name) {
  for (const Standard& standard : kStandardOps) {
    if (standard.name != name) continue;
    for (const OpDef& def : standard.family()) {
      const bool own = def.domain.empty() || def.domain == "com.microsoft";
      if (def.name == name && own) return def;
    }
  }
  throw Error("there is no operator {} with channels last", Printable(std::string(name)));
}

Shape ChannelsInFront(const Shape& shape) {
  if (shape.rank() < 3) throw Error("{} has no spatial axis", ToString(shape));
  std::vector<std::int64_t> dims = shape.dims();
  dims.insert(dims.begin() + 1, dims.back());
  dims.pop_back();
  return Shape(std::move(dims));
}

Shape ChannelsLast(const Shape& shape) {
  std::vector<std::int64_t> dims = shape.dims();
  dims.push_back(dims[1]);
  dims.erase(dims.begin() + 1);
  return Shape(std::move(dims));
}

// The same node on tensors in the standard order.
class StandardNode {
 public:
  explicit StandardNode(const OpContext& ctx) : node_(ctx.node()), since_(ctx.since()) {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (node_.inputs[i] == kNoTensor) continue;
      Tensor tensor = ctx.Input(static_cast<int>(i));
      if (i == 0) tensor.type.shape = ChannelsInFront(ctx.InputShape(0));
      node_.inputs[i] = Add(std::move(tensor));
    }
    for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
      if (node_.outputs[i] == kNoTensor) continue;
      Tensor tensor = ctx.Output(static_cast<int>(i));
      if (tensor.type.shape) tensor.type.shape = ChannelsInFront(*tensor.type.shape);
      node_.outputs[i] = Add(std::move(tensor));
    }
  }

  OpContext Context() { return {graph_, node_, since_}; }

 private:
  TensorId Add(Tensor tensor) {
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(graph_.tensors.size() - 1);
  }

  Graph graph_;
  Node node_;
  int since_;
};

void InferLast(OpContext& ctx) {
  StandardNode standard(ctx);
  OpContext inner = standard.Context();
  DefinitionOf(ctx.op()).infer(inner);
  for (int i = 0; i < ctx.NumOutputs(); ++i) {
    if (ctx.HasOutput(i)) ctx.SetOutput(i, inner.OutputType(i), ChannelsLast(inner.OutputShape(i)));
  }
}

OpCost CostLast(const OpContext& ctx) {
  StandardNode standard(ctx);
  return DefinitionOf(ctx.op()).cost(standard.Context());
}

}  // namespace

std::span<const OpDef> ContribNhwcOps() {
  static const std::vector<OpDef> defs = [] {
    std::vector<OpDef> made;
    for (const Standard& standard : kStandardOps) {
      OpDef def = DefinitionOf(standard.name);
      def.domain = kNhwc;
      def.infer = InferLast;
      def.values = nullptr;
      def.cost = CostLast;
      def.cases = {&standard.example, 1};
      made.push_back(def);
    }
    return made;
  }();
  return defs;
}

}  // namespace dlcost
