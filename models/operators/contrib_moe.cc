#include <cmath>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"
#include "models/operators/swiglu.h"

namespace dlcost {
namespace {

// Mixture of experts. Counting, with T tokens, E experts of which k are active for a token:
// - routing: Softmax over E, k times E - 1 comparisons to select, normalize_routing_weights k - 1
//   additions and k divisions;
// - T * k tokens pass an expert: MACs = rows * columns of each of its weights, biases 1 addition
// per
//   row, the activation per inner element (SwiGLU: SiLU and 1 multiplication; a third weight: 1
//   multiplication; activation_alpha scales inside SiLU, 1 multiplication, activation_beta is
//   added to the value, 1 addition, and swiglu_limit bounds the gate above and the value on both
//   sides, 3 comparisons);
// - combining: k multiplications and k - 1 additions per output element.
// Packed weights are converted once per expert that is read, and scaled once per output (and
// block). Bytes are of the experts that some token takes, where each takes any k with the same
// chance: E * (1 - (1 - k/E)^T) of them in the mean, rounded. The note tells what all experts
// together would compute.

struct ExpertInputs {
  int fc1, bias1, fc2, bias2, fc3, bias3;
  int scale1, scale2, scale3;  // -1: not quantized
};
constexpr ExpertInputs kPlain = {2, 3, 4, 5, 6, 7, -1, -1, -1};
constexpr ExpertInputs kQuantizedExperts = {2, 4, 5, 7, 8, 10, 3, 6, 9};

struct Routing {
  Count tokens, passes;  // passes: tokens through an expert
  std::int64_t experts = 0, active = 1, hidden = 0, inner = 0;
  bool gated = false;  // fc1 makes gate and value together
};

// Numbers that an element of a weight holds.
std::int64_t NumbersPerElement(const OpContext& ctx, int input, std::string_view own_bits) {
  const std::string type = ctx.op() == "QMoE" ? ctx.String("quant_type", "int") : "fp8";
  if (ctx.InputType(input) != DType::kUint8 || type == "fp8") return 1;
  const std::int64_t bits = type != "int" ? 4 : ctx.Int(own_bits, ctx.Int("expert_weight_bits", 4));
  if (bits != 2 && bits != 4 && bits != 8) throw Error("experts of {} bits", bits);
  return 8 / bits;
}

// Numbers of an expert's weight, unpacked.
Count WeightElements(const OpContext& ctx, int input, std::string_view own_bits) {
  const Shape& w = ctx.InputShape(input);
  if (w.rank() != 3) throw Error("the experts' weight {} is not of rank 3", ToString(w));
  return Count(w[1]) * w[2] * NumbersPerElement(ctx, input, own_bits);
}

constexpr std::string_view kBits[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits",
                                      "fc3_expert_weight_bits"};

// Weights and their zero points (inputs 11 to 13) are packed alike.
std::optional<Count> PackedExperts(const OpContext& ctx, int input) {
  for (int layer = 0; layer < 3; ++layer) {
    if (input != 2 + 3 * layer && input != 11 + layer) continue;
    return ctx.InputShape(input).Elements() * NumbersPerElement(ctx, input, kBits[layer]);
  }
  return std::nullopt;
}

Routing RoutingOf(const OpContext& ctx, const ExpertInputs& at) {
  const Shape& x = ctx.InputShape(0);
  if (x.rank() < 2 || x.At(-1) < 1) throw Error("the input {} has no hidden axis", ToString(x));
  Routing r;
  r.hidden = x.At(-1);
  r.tokens = x.Elements() / Count(r.hidden);
  r.experts = ctx.InputDim(at.fc1, 0);
  r.active = ctx.Int("k", 1);
  if (r.active < 1 || r.active > r.experts) {
    throw Error("{} of {} experts are active", r.active, r.experts);
  }
  r.passes = r.tokens * r.active;
  r.gated = ctx.String("activation_type", "relu") == "swiglu" && ctx.Int("swiglu_fusion", 0) != 0;
  r.inner = (WeightElements(ctx, at.fc2, kBits[1]) / Count(r.hidden)).value();
  return r;
}

void InferMoe(OpContext& ctx) { InferSameAsInput(ctx); }

Count ExpertsRead(const Routing& r) {
  const auto experts = static_cast<double>(r.experts);
  const double idle = std::pow(1 - static_cast<double>(r.active) / experts, r.tokens.AsDouble());
  return Count(RoundToInteger(experts * (1 - idle)));
}

// Elements that are read of what all experts have; none of other inputs.
std::optional<Count> ReadOfExperts(const OpContext& ctx, int input, const Routing& r) {
  if (input < 2 || !ctx.HasInput(input)) return std::nullopt;
  const Shape& shape = ctx.InputShape(input);
  if (shape.rank() == 0 || shape[0] != r.experts || r.experts <= 0) return std::nullopt;
  return shape.Elements() / Count(r.experts) * ExpertsRead(r);
}

void AddExpertAccesses(OpCost& cost, const OpContext& ctx, const Routing& r) {
  for (int i = 0; i < ctx.NumInputs(); ++i) {
    if (!ctx.HasInput(i)) continue;
    if (const auto elements = ReadOfExperts(ctx, i, r)) {
      AddPartialRead(cost, ctx, i, *elements, AccessKind::kGather);
    } else {
      AddRead(cost, ctx, i);
    }
  }
  AddWrite(cost, ctx, 0);
}

OpCost CostExperts(const OpContext& ctx, const ExpertInputs& at) {
  OpCost cost;
  const Routing r = RoutingOf(ctx, at);
  const DType type = ctx.InputType(0);
  AddExpertAccesses(cost, ctx, r);
  const Count probabilities = r.tokens * r.experts;
  AddSoftmax(cost.work, type, probabilities, r.tokens);
  cost.work.Add(OpClass::kCompare, type, Folds(probabilities, r.tokens) * r.active);
  if (ctx.Int("normalize_routing_weights", 0) != 0) {
    cost.work.Add(OpClass::kAdd, type, Folds(r.passes, r.tokens));
    cost.work.Add(OpClass::kDiv, type, r.passes);
  }

  Count per_pass;  // weights that a token meets in one expert
  const struct {
    std::string_view name;
    int weight, bias, scale;
    std::string_view bits;
    std::int64_t out;
  } layers[] = {{"fc1", at.fc1, at.bias1, at.scale1, kBits[0], r.inner * (r.gated ? 2 : 1)},
                {"fc2", at.fc2, at.bias2, at.scale2, kBits[1], r.hidden},
                {"fc3", at.fc3, at.bias3, at.scale3, kBits[2], r.inner}};
  for (const auto& layer : layers) {
    if (!ctx.HasInput(layer.weight)) continue;
    const Count weights = WeightElements(ctx, layer.weight, layer.bits);
    per_pass += weights;
    cost.AddPart(layer.name,
                 GemmNest{.batch = r.active,
                          .m = r.tokens,
                          .n = layer.out,
                          .k = layer.out > 0 ? weights / Count(layer.out) : Count(0),
                          .b_input = layer.weight,
                          .b_is_weight = true},
                 type);
    auto& part = cost.parts.back();
    for (const int input : {layer.weight, layer.bias, layer.scale}) {
      if (const auto elements = ReadOfExperts(ctx, input, r)) {
        part.stored += SizeOf(ctx.InputType(input), *elements);
      }
    }
    part.stored_bits = static_cast<int>(Bits(ctx.InputType(layer.weight)) /
                                        NumbersPerElement(ctx, layer.weight, layer.bits));
    if (ctx.HasInput(layer.bias)) cost.work.Add(OpClass::kAdd, type, r.passes * layer.out);
    if (!ctx.HasInput(layer.scale)) continue;
    const Shape& scale = ctx.InputShape(layer.scale);
    const Count blocks = scale.rank() == 3 ? Count(scale[2]) : Count(1);
    cost.work.Add(OpClass::kConvert, type, weights * ExpertsRead(r));
    cost.work.Add(OpClass::kMul, type, r.passes * layer.out * blocks);
  }

  const std::string activation = ctx.String("activation_type", "relu");
  const Count inner = r.passes * r.inner;
  AddActivation(cost.work, type, activation == "swiglu" ? "silu" : activation, inner);
  if (r.gated || ctx.HasInput(at.fc3)) cost.work.Add(OpClass::kMul, type, inner);
  if (r.gated) {
    if (ctx.Float("activation_alpha", 1) != 1) cost.work.Add(OpClass::kMul, type, inner);
    if (ctx.Float("activation_beta", 0) != 0) cost.work.Add(OpClass::kAdd, type, inner);
    if (SwigluLimit(ctx)) cost.work.Add(OpClass::kCompare, type, inner * 3);
  }
  const Count outputs = r.tokens * r.hidden;
  cost.work.Add(OpClass::kMul, type, outputs * r.active);
  cost.work.Add(OpClass::kAdd, type, outputs * Count(r.active - 1));
  if (!cost.parts.empty()) cost.nest = cost.parts.front().nest;
  cost.note = fmt::format("{} of {} experts per token; all of them would be {} MACs", r.active,
                          r.experts, r.tokens * r.experts * per_pass);
  return cost;
}

OpCost CostMoe(const OpContext& ctx) { return CostExperts(ctx, kPlain); }
OpCost CostQMoe(const OpContext& ctx) { return CostExperts(ctx, kQuantizedExperts); }

// 3 tokens, 2 of 4 experts, 8 -> 16 -> 8: 6 passes of 256 MACs, 4 experts read. Softmax 3 + 4 + 3 +
// 4 per token, selection 2 * 3; Relu 96; combining 3 per output.
constexpr OpCase kMoeCases[] = {
    {.what = "Relu experts",
     .attributes = "k=2",
     .inputs = "f32[3,8] f32[3,4] w:f32[4,16,8] _ w:f32[4,8,16]",
     .outputs = "f32[3,8]",
     .macs = 1536,
     .flops = 3072 + 3 * 14 + 18 + 96 + 72,
     .bytes_read = 4 * (24 + 12 + 512 + 512),
     .bytes_written = 96},
    {.what = "4 tokens, 1 of 4 experts each: 2.73 of them have work in the mean, 3 are read",
     .inputs = "f32[4,8] f32[4,4] w:f32[4,16,8] _ w:f32[4,8,16]",
     .outputs = "f32[4,8]",
     .macs = 1024,
     .flops = 2048 + 4 * 14 + 4 * 3 + 64 + 32,
     .bytes_read = 4 * (32 + 16 + 3 * 128 + 3 * 128),
     .bytes_written = 128},
    {.what = "one token, fused SwiGLU, normalized, biased: 2 of 4 experts read",
     .attributes = "k=2 activation_type='swiglu' swiglu_fusion=1 normalize_routing_weights=1",
     .inputs = "f32[1,8] f32[1,4] w:f32[4,32,8] w:f32[4,32] w:f32[4,8,16] w:f32[4,8]",
     .outputs = "f32[1,8]",
     .macs = 2 * 384,
     .flops = 1536 + 14 + 6 + 3 + 2 * 40 + 2 * 16 * 4 + 24,
     .bytes_read = 4 * (8 + 4 + 2 * (256 + 32 + 128 + 8)),
     .bytes_written = 32},
    {.what = "the same as GPT-OSS has it: x * sigmoid(1.702 x) * (y + 1) of bounded x and y",
     .attributes = "k=2 activation_type='swiglu' swiglu_fusion=1 normalize_routing_weights=1 "
                   "activation_alpha=1.702 activation_beta=1.0 swiglu_limit=7.0",
     .inputs = "f32[1,8] f32[1,4] w:f32[4,32,8] w:f32[4,32] w:f32[4,8,16] w:f32[4,8]",
     .outputs = "f32[1,8]",
     .macs = 2 * 384,
     .flops = 1536 + 14 + 6 + 3 + 2 * 40 + 2 * 16 * (4 + 5) + 24,
     .bytes_read = 4 * (8 + 4 + 2 * (256 + 32 + 128 + 8)),
     .bytes_written = 32},
};

constexpr OpCase kQMoeCases[] = {
    {.what = "4 bits with a scale per row: 24 scaled outputs per pass",
     .attributes = "k=2 expert_weight_bits=4",
     .inputs = "f16[3,8] f16[3,4] w:u8[4,16,4] w:f16[4,16] _ w:u8[4,8,8] w:f16[4,8]",
     .outputs = "f16[3,8]",
     .macs = 1536,
     .flops = 3072 + 3 * 14 + 18 + 96 + 72 + 6 * 24,
     .bytes_read = 2 * (24 + 12) + 256 + 128 + 256 + 64,
     .bytes_written = 48},
};

constexpr OpDef kContribMoeOps[] = {
    {.name = "MoE",
     .domain = "com.microsoft",
     .formula = "MACs = tokens * k * (weights of one expert)",
     .infer = InferMoe,
     .cost = CostMoe,
     .cases = kMoeCases},
    {.name = "QMoE",
     .domain = "com.microsoft",
     .formula = "MACs = tokens * k * (weights of one expert)",
     .infer = InferMoe,
     .cost = CostQMoe,
     .cases = kQMoeCases,
     .packed = PackedExperts},
};

}  // namespace

std::span<const OpDef> ContribMoeOps() { return kContribMoeOps; }

}  // namespace dlcost
