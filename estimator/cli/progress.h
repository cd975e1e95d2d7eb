#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace dlcost {

// What takes longer than a second says so on a line of standard error, where that is a terminal and
// standard output is no pipe, whose reader may draw there too: a bar where it is known how much
// there is, else for how long it runs. It leaves nothing behind.

// For a command as a whole; the program makes one.
class ProgressLine {
 public:
  ProgressLine(const std::string& command, bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
};

// Nothing is shown from here on: results go to the same terminal, or all is done.
void EndProgress();

// A part of a command that can be counted, shown while it lives; the innermost one where several
// do. Without a ProgressLine nothing is shown.
class Progress {
 public:
  // `all` of what `things` names, "points"; 0: nobody knows how many there will be.
  Progress(std::int64_t all, std::string things);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Add(std::int64_t done = 1) { done_ += done; }
  // How much is done in all.
  void Set(std::int64_t done) { done_ = done; }

  // "[===   ] 12 of 40 points, 3 s left", of at most `width` columns; "12 points, 2 s" without
  // `all`.
  std::string Text(std::size_t width) const;

 private:
  using Clock = std::chrono::steady_clock;

  const std::int64_t all_;
  const std::string things_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<std::int64_t> done_ = 0;
};

}  // namespace dlcost
