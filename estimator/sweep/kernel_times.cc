#include "estimator/sweep/kernel_times.h"

#include "estimator/plan/kernel_sizes.h"

namespace dlcost {

Kernel CompiledKernel::At(std::span<const std::int64_t> values) const {
  std::vector<std::int64_t> sizes;
  sizes.reserve(columns.size());
  for (const std::uint32_t column : columns) sizes.push_back(values[column]);
  return WithSizes(like, sizes);
}

std::size_t KernelTimes::KeyHash::operator()(const Key& key) const {
  std::size_t hash = key.kernel;
  for (const std::int64_t size : key.sizes) {
    hash = (hash ^ static_cast<std::size_t>(size)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  }
  return hash;
}

const KernelTimes::Time& KernelTimes::Of(std::uint32_t kernel, const Kernel& like,
                                         std::span<const std::int64_t> sizes) {
  const auto [at, fresh] = known_.try_emplace(Key{kernel, {sizes.begin(), sizes.end()}});
  if (fresh) {
    KernelRun run = runner_.Run(WithSizes(like, sizes));
    at->second = {run.bound.time.value(), std::move(run.expected)};
  }
  return at->second;
}

void KernelTimes::ForgetWhenFull() {
  constexpr std::size_t kMost = 100'000;
  if (known_.size() > kMost) known_.clear();
}

}  // namespace dlcost
