#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "estimator/roofline/run.h"

namespace dlcost {

// One of the different kernels of a compiled model.
struct CompiledKernel {
  Kernel like;
  std::vector<std::uint32_t> columns;  // of the evaluator, for each of its sizes
  std::int64_t times = 0;              // how many kernels are like this

  // With the sizes that a row of the evaluator's values gives it.
  Kernel At(std::span<const std::int64_t> values) const;
};

// Runs kernels of one device by their numbers, each once. Of one thread.
class KernelTimes {
 public:
  KernelTimes(const Device& device, const RunOptions& options) : runner_(&device, options) {}

  struct Time {
    double bound = 0;
    std::optional<Expected> expected;
  };
  // `kernel` numbers the kernel that `like` is. Stays valid until ForgetWhenFull.
  const Time& Of(std::uint32_t kernel, const Kernel& like, std::span<const std::int64_t> sizes);
  // Bounds the memory of sweeps without end. To be called where nothing of it is held.
  void ForgetWhenFull();
  // All roofs of a kernel.
  Bound BoundOf(const Kernel& kernel) const { return runner_.Run(kernel).bound; }
  const TimingDevice* timing() const { return runner_.timing(); }

 private:
  struct Key {
    std::uint32_t kernel;
    std::vector<std::int64_t> sizes;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  Runner runner_;
  std::unordered_map<Key, Time, KeyHash> known_;
};

}  // namespace dlcost
