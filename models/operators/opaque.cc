#include <utility>

#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Nodes that hold something compiled, or code that the file only names: what goes in and out is
// declared, the work is not in the file. Status bounded, and the note says whose it is.

void InferDeclared(OpContext&) {}

OpCost Opaque(const OpContext& ctx, std::string note) {
  OpCost cost = StreamAll(ctx);
  cost.status = NodeStatus::kBounded;
  cost.note = std::move(note);
  return cost;
}

std::string Named(const OpContext& ctx, std::string_view attribute) {
  const std::string name = ctx.String(attribute, "");
  return name.empty() ? "" : " " + Printable(name);
}

OpCost CostContext(const OpContext& ctx) {
  return Opaque(ctx, "a graph compiled for the execution provider" + Named(ctx, "source") +
                         ": its work is not in the file");
}

OpCost CostSnpe(const OpContext& ctx) {
  return Opaque(ctx, "a graph compiled for SNPE: its work is not in the file");
}

OpCost CostAten(const OpContext& ctx) {
  return Opaque(ctx, "a call of PyTorch's operator" + Named(ctx, "operator") +
                         ": its work is not in the file; --ops can tell it");
}

OpCost CostPython(const OpContext& ctx) {
  return Opaque(ctx, "a call of the Python function" + Named(ctx, "func_name") +
                         ": its work is not in the file; --ops can tell it");
}

// Output types come from the file, which a case has none of.
constexpr OpCase kOpaqueCases[] = {
    {.what = "what goes in is read", .inputs = "f32[1,8]", .outputs = "_", .bytes_read = 32}};

constexpr OpDef MakeOpaque(std::string_view name, std::string_view domain, std::string_view formula,
                           OpCost (*cost)(const OpContext&), int removed_in = 0) {
  return {.name = name,
          .domain = domain,
          .formula = formula,
          .infer = InferDeclared,
          .cost = cost,
          .cases = kOpaqueCases,
          .removed_in = removed_in};
}

// Between the memories of the processor and of the device.
constexpr OpCase kCopyCases[] = {{.what = "6 elements",
                                  .inputs = "f32[2,3]",
                                  .outputs = "f32[2,3]",
                                  .bytes_read = 24,
                                  .bytes_written = 24}};

constexpr OpDef MakeCopy(std::string_view name) {
  return {.name = name,
          .formula = "no arithmetic; reads and writes every element",
          .infer = InferSameAsInput,
          .cost = CostMove,
          .role = FusionRole::kMovement,
          .cases = kCopyCases};
}

constexpr std::string_view kCompiled = "bytes alone: the work is in a compiled graph";
constexpr std::string_view kCalled = "bytes alone: the work is in code that the file names";

constexpr OpDef kOpaqueOps[] = {
    MakeOpaque("EPContext", "com.microsoft", kCompiled, CostContext),
    MakeOpaque("Snpe", "com.microsoft", kCompiled, CostSnpe),
    MakeOpaque("PythonOp", "com.microsoft", kCalled, CostPython),
    MakeCopy("MemcpyFromHost"),
    MakeCopy("MemcpyToHost"),
    MakeOpaque("ATen", "", kCalled, CostAten, 10),
    MakeOpaque("ATen", "org.pytorch.aten", kCalled, CostAten),
};

}  // namespace

std::span<const OpDef> OpaqueOps() { return kOpaqueOps; }

}  // namespace dlcost
