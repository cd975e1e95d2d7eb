#include "estimator/plan/traffic.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "estimator/plan/units.h"

namespace dlcost {
namespace {

constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);
constexpr int kMostSteps = 8;  // of folding between stored weights and their reader

Bytes SizeOfTensor(const Tensor& tensor) {
  if (!tensor.type.shape) return Bytes(0);
  return SizeOf(tensor.type.dtype, tensor.type.shape->Elements());
}

}  // namespace

std::size_t TrafficCounter::GroupOfProducer(ValueId value) const {
  const auto producer = values_.Producer(value);
  return producer == ValueGraph::kNoNode ? kNoGroup
                                         : grouping_.group_of[static_cast<std::size_t>(producer)];
}

ValueId TrafficCounter::Quantized(ValueId value) const {
  for (int step = 0; step < kMostSteps && value != kNoValue; ++step) {
    const auto producer = values_.Producer(value);
    if (producer == ValueGraph::kNoNode) return kNoValue;
    const auto n = static_cast<std::size_t>(producer);
    const CountedNode& counted = values_.node(n);
    if (counted.node->op == "DequantizeLinear") return values_.Input(n, 0);
    // A transposed or reshaped weight is folded along with its dequantization.
    const bool rearranges = counted.node->op == "Transpose" || counted.node->op == "Reshape" ||
                            counted.node->op == "Cast";
    if (counted.status != NodeStatus::kMetadata || !rearranges) return kNoValue;
    value = values_.Input(n, 0);
  }
  return kNoValue;
}

// What a value that is known before the run takes in the file: its numbers, their scales, and the
// scales of those, which are narrow too in some formats (NVFP4), and the zero points of each.
Bytes TrafficCounter::StoredSize(ValueId value) const {
  Bytes size;
  for (int step = 0; step < kMostSteps && value != kNoValue; ++step) {
    const ValueId quantized = Quantized(value);
    if (quantized == kNoValue) return size + SizeOfTensor(values_.tensor(value));
    size += SizeOfTensor(values_.tensor(quantized));
    auto n = static_cast<std::size_t>(values_.Producer(value));
    while (values_.node(n).node->op != "DequantizeLinear") {
      n = static_cast<std::size_t>(values_.Producer(values_.Input(n, 0)));
    }
    const ValueId zero_points = values_.Input(n, 2);
    if (zero_points != kNoValue) size += SizeOfTensor(values_.tensor(zero_points));
    value = values_.Input(n, 1);
  }
  return size;
}

// Whether a node copies a part that is known before the run: others copy other parts. Of rows that
// the data choose nobody knows whether they are the same.
bool TrafficCounter::CutsPart(std::size_t n) const {
  const Node& node = *values_.node(n).node;
  if (!node.domain.empty()) return false;
  return node.op == "Slice" || (node.op == "Gather" && values_.IsConstant(values_.Input(n, 1)));
}

void TrafficCounter::AddReads(std::size_t n, std::size_t g, std::vector<Read>& reads) const {
  const Group& group = grouping_.groups[g];
  const bool folded = ContainsNode(group.folded, n) && !IsDequantization(values_.node(n));
  for (const Access& access : values_.node(n).cost.accesses) {
    if (access.is_output || access.bytes == Bytes(0)) continue;
    ValueId value = values_.Input(n, static_cast<std::size_t>(access.operand));
    if (value == kNoValue || (folded && values_.IsConstant(value))) continue;
    if (group.attention &&
        std::find(group.attention->computed_masks.begin(), group.attention->computed_masks.end(),
                  value) != group.attention->computed_masks.end()) {
      continue;
    }
    if (GroupOfProducer(value) == g &&
        values_.Runs(static_cast<std::size_t>(values_.Producer(value)))) {
      continue;
    }
    Bytes bytes = access.bytes;
    const ValueId quantized = Quantized(value);
    if (quantized != kNoValue) {
      bytes = std::min(bytes, StoredSize(value) * values_.node(n).repeat);
      value = quantized;
      if (GroupOfProducer(value) == g && !values_.IsConstant(value)) continue;
    }
    const ValueId operand = values_.Operand(n, static_cast<std::size_t>(access.operand));
    const Bytes whole = SizeOfTensor(values_.tensor(value)) * values_.node(n).repeat;
    const Bytes viewed = SizeOfTensor(values_.tensor(operand)) * values_.node(n).repeat;
    if (quantized == kNoValue && whole > Bytes(0) && viewed > whole) bytes = std::min(bytes, whole);
    ValueId part = kNoValue;
    if (quantized == kNoValue && viewed < whole) {
      part = operand;
    } else if (quantized == kNoValue && CutsPart(n)) {
      part = values_.Output(n, 0);
    }
    reads.push_back({value, part, bytes, whole});
  }
}

std::vector<TrafficCounter::Read> TrafficCounter::LiveIn(std::size_t g) const {
  std::vector<Read> reads;
  for (const std::size_t n : grouping_.groups[g].nodes) {
    if (values_.Runs(n)) AddReads(n, g, reads);
  }
  // The largest read of each part, and of all parts no more than there is.
  std::sort(reads.begin(), reads.end(), [](const Read& a, const Read& b) {
    return std::tie(a.value, a.part, b.bytes) < std::tie(b.value, b.part, a.bytes);
  });
  std::size_t kept = 0;
  ValueId last_part = kNoValue;
  for (const Read& read : reads) {
    if (kept == 0 || reads[kept - 1].value != read.value) {
      reads[kept++] = read;
    } else if (read.part != last_part) {
      Bytes& bytes = reads[kept - 1].bytes;
      bytes = std::max(bytes, std::min(bytes + read.bytes, read.whole));
    }
    last_part = read.part;
  }
  reads.resize(kept);
  return reads;
}

bool TrafficCounter::IsReadOutside(ValueId value, std::size_t g) const {
  if (values_.Escapes(value)) return true;
  for (const auto reader : values_.Readers(value)) {
    if (grouping_.group_of[static_cast<std::size_t>(reader)] != g) return true;
  }
  return false;
}

// A cache grows by what stands behind the past, which stays where it is: the first part that comes
// from outside.
Bytes TrafficCounter::AppendedBytes(std::size_t n) const {
  Bytes bytes;
  bool past = true;
  for (std::size_t i = 0; i < values_.NumInputs(n); ++i) {
    const ValueId part = values_.Input(n, i);
    if (part == kNoValue) continue;
    if (past && values_.IsGraphInput(part)) {
      past = false;
      continue;
    }
    bytes += SizeOfTensor(values_.tensor(values_.Operand(n, i))) * values_.node(n).repeat;
  }
  return bytes;
}

// Written by a kernel, not known before the run.
bool TrafficCounter::IsMade(ValueId value) const {
  const auto producer = values_.Producer(value);
  return producer != ValueGraph::kNoNode &&
         values_.node(static_cast<std::size_t>(producer)).status != NodeStatus::kMetadata;
}

void TrafficCounter::AddLiveOut(std::size_t g, bool only_outputs, Traffic& traffic) const {
  const Group& group = grouping_.groups[g];
  for (const std::size_t n : group.nodes) {
    if (!values_.Runs(n) || ContainsNode(group.folded, n)) {
      // A folded normalization still ends the kernel: its output is what the product writes.
      if (!values_.Runs(n) || IsDequantization(values_.node(n))) continue;
    }
    for (const Access& access : values_.node(n).cost.accesses) {
      if (!access.is_output || access.bytes == Bytes(0)) continue;
      const ValueId value = values_.Output(n, static_cast<std::size_t>(access.operand));
      if (value == kNoValue) continue;
      if (only_outputs ? !values_.Escapes(value) : !IsReadOutside(value, g)) continue;
      const bool update = group.attention && ContainsNode(group.attention->cache_updates, n);
      const Bytes bytes = update ? AppendedBytes(n) : access.bytes;
      traffic.written += bytes;
      if (!values_.Escapes(value)) traffic.passed += bytes;
    }
  }
}

// Parameters in attributes belong to one node: nothing shares or makes them.
Bytes TrafficCounter::HeldReads(std::size_t g) const {
  Bytes bytes;
  for (const std::size_t n : grouping_.groups[g].nodes) {
    if (!values_.Runs(n)) continue;
    for (const Access& access : values_.node(n).cost.accesses) {
      if (access.operand == Access::kAttributes) bytes += access.bytes;
    }
  }
  return bytes;
}

void TrafficCounter::AddRead(ValueId value, Bytes bytes, Traffic& traffic) const {
  traffic.read += bytes;
  if (value == kNoValue) return;
  if (values_.IsConstant(value)) {
    traffic.weights += bytes;
  } else if (IsMade(value)) {
    traffic.passed += bytes;
  }
}

Traffic TrafficCounter::Fused(std::size_t g) const {
  Traffic traffic;
  traffic.read = traffic.weights = HeldReads(g);
  for (const Read& read : LiveIn(g)) AddRead(read.value, read.bytes, traffic);
  AddLiveOut(g, false, traffic);
  return traffic;
}

Traffic TrafficCounter::Compulsory(std::size_t g) {
  Traffic traffic;
  traffic.read = traffic.weights = HeldReads(g);
  for (const Read& read : LiveIn(g)) {
    if (IsMade(read.value) || !seen_.insert(read.value).second) continue;
    AddRead(read.value, read.bytes, traffic);
  }
  AddLiveOut(g, true, traffic);
  return traffic;
}

Traffic TrafficCounter::Separate(std::size_t n) const {
  Traffic traffic;
  for (const Access& access : values_.node(n).cost.accesses) {
    const auto operand = static_cast<std::size_t>(access.operand);
    if (access.is_output) {
      traffic.written += access.bytes;
      const ValueId value = values_.Output(n, operand);
      if (value != kNoValue && !values_.Escapes(value)) traffic.passed += access.bytes;
      continue;
    }
    const ValueId value = values_.Input(n, operand);
    const bool stored = value != kNoValue && values_.IsConstant(value);
    const Bytes bytes =
        stored ? std::min(access.bytes, StoredSize(value) * values_.node(n).repeat) : access.bytes;
    AddRead(value, bytes, traffic);
  }
  return traffic;
}

}  // namespace dlcost
