#include "estimator/roofline/run_memo.h"

#include "estimator/plan/kernel_sizes.h"

namespace dlcost {

std::size_t RunMemo::KeyHash::operator()(const Key& key) const {
  std::size_t hash = key.structure;
  for (const std::int64_t size : key.sizes) {
    hash = hash * 1000003 + static_cast<std::size_t>(size);
  }
  return hash;
}

const KernelRun& RunMemo::Run(const Kernel& kernel) {
  Key key;
  key.sizes.reserve(96);
  CollectSizes(kernel, key.sizes, key.structure);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(std::move(key), runner_.Run(kernel)).first->second;
}

}  // namespace dlcost
