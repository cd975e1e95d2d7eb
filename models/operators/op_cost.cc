#include "models/operators/op_cost.h"

#include <algorithm>
#include <array>

namespace dlcost {

std::string_view Name(NodeStatus status) {
  constexpr std::array<std::string_view, 5> kNames = {"counted", "view", "metadata", "bounded",
                                                      "unknown"};
  return kNames[static_cast<std::size_t>(status)];
}

Count ConvNest::Product(std::int64_t ConvAxis::*extent) const {
  Count product = 1;
  for (const ConvAxis& axis : axes) product *= axis.*extent;
  return product;
}

std::int64_t ConvNest::LongestFilter() const {
  std::int64_t longest = 0;
  for (const ConvAxis& axis : axes) longest = std::max(longest, axis.kernel);
  return longest;
}

namespace {

struct MacCounter {
  Count operator()(const GemmNest& g) const { return g.batch * g.m * g.n * g.k; }
  Count operator()(const ConvNest& c) const {
    const Count positions = c.Product(c.transposed ? &ConvAxis::in : &ConvAxis::out);
    return c.batch * positions * c.Product(&ConvAxis::kernel) * (c.in_channels / c.groups) *
           c.out_channels;
  }
  Count operator()(const AttentionNest& a) const {
    return a.batch * a.q_heads * a.q_len * a.kv_len * MacsPerScore(a);
  }
  Count operator()(const RecurrentNest& r) const {
    return r.directions * r.steps * r.batch * r.gates * r.hidden * (r.input + r.hidden);
  }
  template <typename Other>
  Count operator()(const Other&) const {
    return 0;
  }
};

}  // namespace

Count MacsPerScore(const AttentionNest& nest) {
  const Count once = nest.qk_dim + nest.v_dim;
  if (!nest.backward) return once;
  return once * 2 + (nest.counts_scores ? nest.qk_dim : Count(0));
}

Count MacsOf(const LoopNest& nest) { return std::visit(MacCounter{}, nest); }

bool IsProduct(const LoopNest& nest) {
  return std::holds_alternative<GemmNest>(nest) || std::holds_alternative<ConvNest>(nest) ||
         std::holds_alternative<AttentionNest>(nest) || std::holds_alternative<RecurrentNest>(nest);
}

void OpCost::AddPart(std::string_view name, const LoopNest& part, DType type) {
  work.Add(OpClass::kMac, type, MacsOf(part));
  parts.push_back({name, part, type});
}

Bytes OpCost::BytesRead() const {
  Bytes sum;
  for (const Access& access : accesses) {
    if (!access.is_output) sum += access.bytes;
  }
  return sum;
}

Bytes OpCost::BytesWritten() const {
  Bytes sum;
  for (const Access& access : accesses) {
    if (access.is_output) sum += access.bytes;
  }
  return sum;
}

}  // namespace dlcost
