#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// What a graph of one of several devices exchanges with the others (dlcost.parallel): written when
// operators are split among devices. No work; every operand is read and written once in a device's
// memory, the exchange itself is a matter of links.

std::size_t AxisOf(const OpContext& ctx) {
  return NormalizeAxis(ctx.RequiredInt("axis"), ctx.InputShape(0).rank());
}

std::int64_t DevicesOf(const OpContext& ctx) {
  const std::int64_t devices = ctx.RequiredInt("devices");
  if (devices < 1) throw Error("{} devices: 1 or more", devices);
  return devices;
}

void InferGathered(OpContext& ctx) {
  Shape shape = ctx.InputShape(0);
  const std::size_t axis = AxisOf(ctx);
  shape[axis] = (Count(shape[axis]) * DevicesOf(ctx)).value();
  ctx.SetOutput(0, ctx.InputType(0), std::move(shape));
}

void InferScattered(OpContext& ctx) {
  Shape shape = ctx.InputShape(0);
  const std::size_t axis = AxisOf(ctx);
  const std::int64_t devices = DevicesOf(ctx);
  if (shape[axis] % devices != 0) {
    throw Error("axis {} of {} does not divide among {} devices", axis, ToString(shape), devices);
  }
  shape[axis] /= devices;
  ctx.SetOutput(0, ctx.InputType(0), std::move(shape));
}

// Every device has a part of axis `join`, and gets its part of axis `split` from all of them.
void InferExchanged(OpContext& ctx) {
  Shape shape = ctx.InputShape(0);
  const std::size_t split = NormalizeAxis(ctx.RequiredInt("split"), shape.rank());
  const std::size_t join = NormalizeAxis(ctx.RequiredInt("join"), shape.rank());
  const std::int64_t devices = DevicesOf(ctx);
  if (split == join || shape[split] % devices != 0) {
    throw Error("axis {} of {} does not divide among {} devices", split, ToString(shape), devices);
  }
  shape[split] /= devices;
  shape[join] = (Count(shape[join]) * devices).value();
  ctx.SetOutput(0, ctx.InputType(0), std::move(shape));
}

// A device takes its part of what every device has.
OpCost CostPart(const OpContext& ctx) {
  OpCost cost;
  AddPartialRead(cost, ctx, 0, ctx.OutputShape(0).Elements(), AccessKind::kStrided);
  AddWrite(cost, ctx, 0);
  return cost;
}

constexpr OpCase kAllReduceCases[] = {{.what = "a part of a sum on every device",
                                       .attributes = "devices=4",
                                       .inputs = "f16[2,8]",
                                       .outputs = "f16[2,8]",
                                       .bytes_read = 32,
                                       .bytes_written = 32}};
constexpr OpCase kAllGatherCases[] = {{.what = "the columns of four devices",
                                       .attributes = "axis=1 devices=4",
                                       .inputs = "f16[2,8]",
                                       .outputs = "f16[2,32]",
                                       .bytes_read = 32,
                                       .bytes_written = 128}};
constexpr OpCase kReduceScatterCases[] = {{.what = "a quarter of the sum for each of four",
                                           .attributes = "axis=1 devices=4",
                                           .inputs = "f16[2,8]",
                                           .outputs = "f16[2,2]",
                                           .bytes_read = 32,
                                           .bytes_written = 8}};
constexpr OpCase kAllToAllCases[] = {{.what = "rows for 8 experts, to the devices that have 2 each",
                                      .attributes = "split=0 join=1 devices=4",
                                      .inputs = "f16[8,3,4]",
                                      .outputs = "f16[2,12,4]",
                                      .bytes_read = 192,
                                      .bytes_written = 192}};
constexpr OpCase kReplicateCases[] = {{.what = "the same on every device",
                                       .attributes = "devices=4",
                                       .inputs = "f16[2,8]",
                                       .outputs = "f16[2,8]"}};
constexpr OpCase kShardCases[] = {{.what = "a quarter for each of four",
                                   .attributes = "axis=1 devices=4",
                                   .inputs = "f16[2,8]",
                                   .outputs = "f16[2,2]",
                                   .bytes_read = 8,
                                   .bytes_written = 8}};

constexpr OpDef MakeCollective(std::string_view name, std::string_view formula,
                               void (*infer)(OpContext&), OpCost (*cost)(const OpContext&),
                               FusionRole role, std::span<const OpCase> cases) {
  return {.name = name,
          .domain = "dlcost.parallel",
          .formula = formula,
          .infer = infer,
          .cost = cost,
          .role = role,
          .cases = cases};
}

constexpr OpDef kCollectiveOps[] = {
    MakeCollective("AllReduce", "no work: sums of all devices, for all devices", InferSameAsInput,
                   StreamAll, FusionRole::kOpaque, kAllReduceCases),
    MakeCollective("AllGather", "no work: the parts of all devices, for all devices", InferGathered,
                   StreamAll, FusionRole::kOpaque, kAllGatherCases),
    MakeCollective("ReduceScatter", "no work: sums of all devices, a part for each", InferScattered,
                   StreamAll, FusionRole::kOpaque, kReduceScatterCases),
    MakeCollective("AllToAll", "no work: to every device its part, from all devices",
                   InferExchanged, StreamAll, FusionRole::kOpaque, kAllToAllCases),
    MakeCollective("Replicate", "moves nothing: its gradient is the sum of all devices",
                   InferSameAsInput, CostView, FusionRole::kView, kReplicateCases),
    MakeCollective("Shard", "no work: a device's part of what every device has", InferScattered,
                   CostPart, FusionRole::kMovement, kShardCases),
};

}  // namespace

std::span<const OpDef> CollectiveOps() { return kCollectiveOps; }

}  // namespace dlcost
