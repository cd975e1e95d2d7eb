#pragma once

#include <unordered_map>
#include <vector>

#include "estimator/roofline/run.h"

namespace dlcost {

// Runs kernels, those of equal numbers and structure once: layers repeat. Of one thread.
class RunMemo {
 public:
  // `runner` outlives the memo.
  explicit RunMemo(const Runner& runner) : runner_(runner) {}

  const KernelRun& Run(const Kernel& kernel);

 private:
  struct Key {
    std::size_t structure = 0;
    std::vector<std::int64_t> sizes;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  const Runner& runner_;
  std::unordered_map<Key, KernelRun, KeyHash> known_;
};

}  // namespace dlcost
