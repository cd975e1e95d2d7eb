#pragma once

#include <string_view>
#include <vector>

#include "models/operators/op_context.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// Pieces that many operator families share.

// Elements of one channel of one image.
Count PlaneElements(const Shape& x);

// Every present input read once in full, every output written once, as a stream; status counted, no
// work yet.
OpCost StreamAll(const OpContext& ctx);
// Reads the first `inputs` inputs and writes every output. The inputs behind those are parameters
// (shapes, axes, pads), which are known before the run and no traffic of it.
OpCost StreamFirst(const OpContext& ctx, int inputs);
// Adds a read of input i (a write of output i) of all its bytes; nothing when the operand is
// omitted.
void AddRead(OpCost& cost, const OpContext& ctx, int i, AccessKind kind = AccessKind::kStream);
void AddWrite(OpCost& cost, const OpContext& ctx, int i, AccessKind kind = AccessKind::kStream);
// Adds a read of only `elements` elements of input i.
void AddPartialRead(OpCost& cost, const OpContext& ctx, int i, Count elements, AccessKind kind);
// Parameters in attributes: `numbers` of them in `bytes`, of which a run reads `read`.
void AddHeld(OpCost& cost, Count numbers, Bytes bytes, Bytes read);

// For operators without arithmetic: an explicit zero.
inline constexpr std::string_view kViewFormula = "a view: nothing moves";
inline constexpr std::string_view kMetadataFormula = "metadata: known before the run";
OpCost CostView(const OpContext& ctx);      // output aliases the input, nothing moves
OpCost CostMetadata(const OpContext& ctx);  // known before the run, nothing moves
OpCost CostMove(const OpContext& ctx);      // StreamAll, no work: moves what it must

// Output 0 has the type and shape of input 0.
void InferSameAsInput(OpContext& ctx);
// Values for operators whose output is the input's data in another shape.
void ValuesSameAsInput(OpContext& ctx);

// Throws Error "expected rank N, got M" / "expected at least N inputs".
void RequireRank(const OpContext& ctx, int input, int rank);
void RequireInputs(const OpContext& ctx, int at_least);

}  // namespace dlcost
