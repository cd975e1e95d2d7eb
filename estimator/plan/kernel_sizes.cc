#include "estimator/plan/kernel_sizes.h"

#include <functional>
#include <string>

namespace dlcost {
namespace {

// Calls visit(number) for every number of a nest, constant or not.
template <typename Visit>
struct NestSizes {
  Visit& visit;

  template <typename Nest>
  void operator()(Nest& nest) const {
    using Plain = std::remove_cv_t<Nest>;
    if constexpr (std::is_same_v<Plain, GemmNest>) {
      All(nest.batch, nest.m, nest.n, nest.k);
    } else if constexpr (std::is_same_v<Plain, ConvNest>) {
      All(nest.batch, nest.groups, nest.in_channels, nest.out_channels);
      for (auto& axis : nest.axes) {
        All(axis.in, axis.out, axis.kernel, axis.stride, axis.dilation, axis.pad_begin,
            axis.pad_end);
      }
    } else if constexpr (std::is_same_v<Plain, AttentionNest>) {
      All(nest.batch, nest.q_heads, nest.kv_heads, nest.q_len, nest.kv_len, nest.qk_dim, nest.v_dim,
          nest.left, nest.right);
    } else if constexpr (std::is_same_v<Plain, RecurrentNest>) {
      All(nest.directions, nest.steps, nest.batch, nest.input, nest.hidden, nest.gates);
    } else if constexpr (std::is_same_v<Plain, ReduceNest>) {
      All(nest.outer, nest.reduce, nest.plane);
    } else if constexpr (std::is_same_v<Plain, ElementwiseNest>) {
      All(nest.elements, nest.plane);
    }
  }

  template <typename... Numbers>
  void All(Numbers&... numbers) const {
    (visit(numbers), ...);
  }
};

template <typename AnyKernel, typename Visit>
void ForEachSize(AnyKernel& kernel, Visit visit) {
  visit(kernel.work);
  visit(kernel.needed);
  visit(kernel.bytes_read);
  visit(kernel.bytes_written);
  visit(kernel.bytes_passed);
  visit(kernel.bytes_weights);
  visit(kernel.repeat);
  visit(kernel.views);
  visit(kernel.model_views);
  visit(kernel.places);
  visit(kernel.scattered);
  std::visit(NestSizes<Visit>{visit}, kernel.nest);
  for (auto& part : kernel.parts) std::visit(NestSizes<Visit>{visit}, part.nest);
}

struct Collect {
  std::vector<std::int64_t>& sizes;

  void operator()(const Work& work) const {
    for (const Work::Entry& entry : work.entries()) {
      for (const Count count : entry.counts) sizes.push_back(count.value());
    }
  }
  void operator()(const Bytes& bytes) const { sizes.push_back(bytes.value()); }
  void operator()(const Count& count) const { sizes.push_back(count.value()); }
  void operator()(const std::int64_t& number) const { sizes.push_back(number); }
};

struct Replace {
  std::span<const std::int64_t> sizes;
  std::size_t at = 0;

  std::int64_t Next() { return sizes[at++]; }
  void operator()(Work& work) {
    Work other;
    for (const Work::Entry& entry : work.entries()) {
      for (int c = 0; c < kOpClassCount; ++c) {
        other.Add(static_cast<OpClass>(c), entry.dtype, Next());
      }
    }
    work = std::move(other);
  }
  void operator()(Bytes& bytes) { bytes = Bytes(Next()); }
  void operator()(Count& count) { count = Next(); }
  void operator()(std::int64_t& number) { number = Next(); }
};

// What is no number of a nest.
struct NestStructure {
  std::size_t operator()(const GemmNest& nest) const {
    return static_cast<std::size_t>(nest.a_input) * 64 +
           static_cast<std::size_t>(nest.b_input) * 4 + (nest.a_transposed ? 2u : 0u) +
           (nest.b_is_weight ? 1u : 0u);
  }
  std::size_t operator()(const ReduceNest& nest) const {
    return (nest.planes ? 1u : 0u) + (nest.backward ? 2u : 0u) + (nest.across ? 4u : 0u) +
           (nest.windows ? 8u : 0u);
  }
  std::size_t operator()(const ConvNest& nest) const {
    return nest.axes.size() * 4 + (nest.transposed ? 1u : 0u) + (nest.of_weights ? 2u : 0u);
  }
  std::size_t operator()(const AttentionNest& nest) const {
    return (nest.causal ? 1u : 0u) + (nest.cached ? 2u : 0u) + (nest.left >= 0 ? 4u : 0u) +
           (nest.right >= 0 ? 8u : 0u) + (nest.backward ? 16u : 0u) +
           (nest.counts_scores ? 32u : 0u);
  }
  std::size_t operator()(const RecurrentNest& nest) const {
    return std::hash<std::string_view>()(nest.cell);
  }
  std::size_t operator()(const ElementwiseNest& nest) const {
    std::size_t hash =
        (nest.normalizes ? 1u : 0u) + (nest.activation ? 2u : 0u) + (nest.mixed ? 4u : 0u);
    if (nest.update == nullptr) return hash;
    hash += nest.update->passes.size() * 8;
    for (const Count elements : nest.update->tensors) {
      hash = hash * 1000003 + static_cast<std::size_t>(elements.value());
    }
    return hash;
  }
  template <typename Other>
  std::size_t operator()(const Other&) const {
    return 0;
  }
};

}  // namespace

void CollectSizes(const Kernel& kernel, std::vector<std::int64_t>& sizes, std::size_t& structure) {
  ForEachSize(kernel, Collect{sizes});
  const auto mix = [&](std::size_t hash) { structure = structure * 1000003 + hash; };
  const auto mix_nest = [&](const LoopNest& nest) {
    mix(nest.index());
    mix(std::visit(NestStructure(), nest));
  };
  for (const Work* work : {&kernel.work, &kernel.needed}) {
    for (const Work::Entry& entry : work->entries()) mix(static_cast<std::size_t>(entry.dtype));
    mix(work->entries().size());
  }
  mix_nest(kernel.nest);
  for (const CostPart& part : kernel.parts) {
    mix_nest(part.nest);
    mix(static_cast<std::size_t>(part.type));
  }
  mix(kernel.parts.size());
  mix(std::hash<std::string>()(kernel.nest_name));
  mix(static_cast<std::size_t>(kernel.math));
  mix((kernel.unknown ? 1u : 0u) + (kernel.upper_bound ? 2u : 0u) + (kernel.assumed ? 4u : 0u) +
      (kernel.model_call ? 8u : 0u) + (kernel.general ? 16u : 0u) +
      (kernel.spelled_attention ? 32u : 0u) + (kernel.channels_last ? 64u : 0u) +
      (kernel.fills ? 128u : 0u) + (kernel.biased ? 256u : 0u));
}

Kernel WithSizes(const Kernel& like, std::span<const std::int64_t> sizes) {
  Kernel kernel = like;
  ForEachSize(kernel, Replace{sizes});
  return kernel;
}

}  // namespace dlcost
