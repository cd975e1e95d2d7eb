#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace dlcost {

// Threads that ForEachInParallel uses at most.
inline std::size_t ParallelThreads() { return std::max(1u, std::thread::hardware_concurrency()); }

// Calls body(i, thread) for every i below `count`, on all cores; the first exception is thrown
// again once all threads have ended.
template <typename Body>
void ForEachInParallel(std::size_t count, const Body& body) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&](std::size_t thread) {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i, thread);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  const std::size_t threads = std::min(ParallelThreads(), count);
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  others.clear();  // joins
  if (failure) std::rethrow_exception(failure);
}

}  // namespace dlcost
