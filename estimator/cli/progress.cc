#include "estimator/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "estimator/core/integer.h"

namespace dlcost {

Progress::Progress(std::int64_t all, bool quiet)
    : all_(std::max<std::int64_t>(all, 1)), shown_(!quiet && isatty(STDERR_FILENO) != 0) {}

void Progress::Add(std::int64_t done) {
  done_ += done;
  if (!shown_) return;
  const Clock::time_point now = Clock::now();
  if (now >= next_) Draw(now);
}

void Progress::Draw(Clock::time_point now) {
  constexpr int kCells = 30;
  next_ = now + std::chrono::milliseconds(200);
  const double share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(all_));
  const double passed = std::chrono::duration<double>(now - start_).count();
  const auto cells = Truncate<std::size_t>(share * kCells);
  constexpr double kEnough = 0.02;  // for an estimate: points come in blocks
  const std::string left = share > kEnough
                               ? fmt::format(", {:.0f} s left", passed * (1 - share) / share)
                               : std::string();
  const std::string line = fmt::format("\r[{}{}] {} of {} points{}\x1b[K", std::string(cells, '='),
                                       std::string(kCells - cells, ' '), done_, all_, left);
  std::fputs(line.c_str(), stderr);
  drawn_ = true;
}

void Progress::Clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

}  // namespace dlcost
