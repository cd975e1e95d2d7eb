#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "estimator/profiles/trace.h"

namespace dlcost {

// The modules of a PyTorch model in a trace taken with stacks: calls named "nn.Module: Conv2d_3"
// that lie in each other on a thread.
class ModuleSpans {
 public:
  // Whether a Python call is one of a module.
  static bool IsModule(std::string_view call) { return call.starts_with(kPrefix); }
  void Add(std::uint32_t thread, std::int64_t start, std::int64_t end, std::string_view call);
  // After the last one: finds what lies in what.
  void Nest();
  // "ResNet_0/Sequential_1/Conv2d_3": what ran on the thread at that time; "" for none.
  std::string At(std::uint32_t thread, std::int64_t time) const;

 private:
  static constexpr std::string_view kPrefix = "nn.Module: ";
  struct Call {
    std::int64_t start = 0, end = 0, parent = -1;
    std::uint32_t name = 0;
  };
  NamePool names_;
  std::unordered_map<std::uint32_t, std::vector<Call>> threads_;
};

}  // namespace dlcost
