#pragma once

#include <chrono>
#include <cstdint>

namespace dlcost {

// A bar on standard error for what takes longer than a second, where that is a terminal and what is
// written meanwhile goes elsewhere. It leaves nothing behind.
class Progress {
 public:
  // `quiet`: never shown, as where results go to the same terminal while they are made.
  Progress(std::int64_t all, bool quiet);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Add(std::int64_t done = 1);
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;
  void Draw(Clock::time_point now);

  const std::int64_t all_;
  const bool shown_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds(1);
  std::int64_t done_ = 0;
  bool drawn_ = false;
};

}  // namespace dlcost
