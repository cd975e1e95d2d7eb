#include <algorithm>

#include "estimator/core/integer.h"
#include "estimator/roofline/part.h"
#include "models/algorithms/convolution.h"

namespace dlcost {
namespace {

// The work of all runs is `times` that of one; growing iterations of a loop are told by their mean.
Work PerRun(const Work& work, Count times) {
  if (times <= Count(1)) return work;
  Work one;
  for (const Work::Entry& entry : work.entries()) {
    for (int c = 0; c < kOpClassCount; ++c) {
      one.Add(static_cast<OpClass>(c), entry.dtype,
              entry.counts[static_cast<std::size_t>(c)] / times);
    }
  }
  return one;
}

// Bytes that a part touches at least, when it is a kernel of its own.
double OperandBytes(const CostPart& part, double element) {
  if (const auto* g = std::get_if<GemmNest>(&part.nest)) {
    const double weights = element * (g->batch * g->k * g->n).AsDouble();
    return element * (g->batch * g->m * (g->k + g->n)).AsDouble() +
           (part.stored > Bytes(0) ? part.stored.AsDouble() : weights);
  }
  if (const auto* a = std::get_if<AttentionNest>(&part.nest)) {
    const Count queries = a->q_heads * a->q_len * (a->qk_dim + a->v_dim);
    return element *
           (a->batch * (queries + a->kv_heads * a->kv_len * (a->qk_dim + a->v_dim))).AsDouble();
  }
  if (const auto* c = std::get_if<ConvNest>(&part.nest)) {
    return element * (InputElements(*c) + OutputElements(*c) + WeightElements(*c)).AsDouble();
  }
  return 0;
}

// Results of a part, which bias, activation and softmax work on.
double ResultsOf(const LoopNest& nest) {
  if (const auto* g = std::get_if<GemmNest>(&nest)) return (g->batch * g->m * g->n).AsDouble();
  if (const auto* a = std::get_if<AttentionNest>(&nest)) {
    return (a->batch * a->q_heads * a->q_len * a->kv_len).AsDouble();
  }
  if (const auto* c = std::get_if<ConvNest>(&nest)) return OutputElements(*c).AsDouble();
  if (const auto* r = std::get_if<RecurrentNest>(&nest)) {
    return (r->directions * r->steps * r->batch * r->hidden * r->gates).AsDouble();
  }
  return 0;
}

// So much of its multiply-accumulates, and of everything else.
Work ShareOf(const Work& work, double macs, double rest) {
  Work share;
  for (const Work::Entry& entry : work.entries()) {
    for (int c = 0; c < kOpClassCount; ++c) {
      const auto op_class = static_cast<OpClass>(c);
      const double count = entry.counts[static_cast<std::size_t>(c)].AsDouble();
      share.Add(op_class, entry.dtype,
                Count(RoundToInteger(count * (op_class == OpClass::kMac ? macs : rest))));
    }
  }
  return share;
}

// Where the elementwise work of an operator takes time of its own each part has that of its
// results, and its bytes of what the kernel passes on; what one part hands to the next is `handed`.
void ShareOut(const Part& whole, double handed, std::vector<Part>& parts) {
  double results = 0, macs = 0, bytes = 0;
  for (const Part& part : parts) {
    results += ResultsOf(part.nest);
    macs += MacsOf(part.nest).AsDouble();
    bytes += part.bytes();
  }
  for (Part& part : parts) {
    part.work = ShareOf(whole.work, macs > 0 ? MacsOf(part.nest).AsDouble() / macs : 0,
                        results > 0 ? ResultsOf(part.nest) / results : 0);
    part.share = bytes > 0 ? part.bytes() / bytes : 0;
    part.passed = part.share * (whole.passed + handed);
  }
}

}  // namespace

std::vector<Part> PartsOf(const Kernel& kernel, const Target& target) {
  const double times = kernel.repeat.AsDouble();
  const Work work = PerRun(kernel.work, kernel.repeat);
  const DType type = kernel.math == DType::kUndefined ? DType::kFloat32 : kernel.math;
  const bool cold = target.options.cache == CacheState::kCold;
  const Bytes kept = KeptWeights(kernel, target.device, target.options.ForBound());
  const Bytes passed = (cold ? Bytes(0) : kernel.bytes_passed) + kept;
  Part whole{.kernel = kernel,
             .nest = kernel.nest,
             .type = type,
             .work = work,
             .read = kernel.bytes_read.AsDouble() / times,
             .written = kernel.bytes_written.AsDouble() / times,
             .passed = passed.AsDouble() / times,
             .weights = kept > Bytes(0) ? target.options.weights.AsDouble() : 0};
  if (kernel.parts.size() < 2) return {whole};
  std::vector<Part> parts;
  double own = 0;
  for (const CostPart& part : kernel.parts) {
    Part each = whole;
    each.nest = part.nest;
    if (part.type != DType::kUndefined) each.type = part.type;
    const double element = std::max(Bits(each.type), 4) / 8.0;
    each.stored = part.stored.AsDouble();
    each.stored_bits = part.stored_bits;
    each.read = OperandBytes(part, element);
    each.written = 0;
    own += each.read;
    parts.push_back(std::move(each));
  }
  // Other operands: masks, a cache.
  if (whole.bytes() > own) parts.back().read += whole.bytes() - own;
  // GPUs do elementwise work with the tile that it follows, in no time of its own.
  if (target.device.systolic || target.device.cores) {
    ShareOut(whole, cold ? 0 : std::max(0.0, own - whole.bytes()), parts);
  }
  return parts;
}

}  // namespace dlcost
