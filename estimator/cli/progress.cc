#include "estimator/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "estimator/core/integer.h"

namespace dlcost {
namespace {

std::size_t ErrorWidth() {
  winsize size{};
  constexpr std::size_t kUnknown = 80;
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUnknown;
}

bool IsShown() {
  struct stat output {};
  const bool piped = fstat(STDOUT_FILENO, &output) == 0 && S_ISFIFO(output.st_mode);
  return isatty(STDERR_FILENO) != 0 && !piped;
}

// Draws from a thread of its own, because what takes long does not come by.
class Drawer {
 public:
  explicit Drawer(std::string command) : command_(std::move(command)), thread_([this] { Run(); }) {}
  ~Drawer() {
    End();
    thread_.join();
  }

  void End() {
    const std::lock_guard lock(mutex_);
    if (drawn_) std::fputs("\r\x1b[K", stderr);
    drawn_ = false;
    ended_ = true;
    wake_.notify_all();
  }
  void Push(const Progress* part) {
    const std::lock_guard lock(mutex_);
    parts_.push_back(part);
  }
  void Pop(const Progress* part) {
    const std::lock_guard lock(mutex_);
    parts_.erase(std::remove(parts_.begin(), parts_.end(), part), parts_.end());
  }

 private:
  using Clock = std::chrono::steady_clock;

  void Run() {
    const Clock::time_point start = Clock::now();
    std::unique_lock lock(mutex_);
    const auto ended = [this] { return ended_; };
    if (wake_.wait_for(lock, std::chrono::seconds(1), ended)) return;
    do {
      const std::size_t width = ErrorWidth() - 1;
      const double passed = std::chrono::duration<double>(Clock::now() - start).count();
      std::string text = parts_.empty() ? fmt::format("{}: {:.0f} s", command_, passed)
                                        : parts_.back()->Text(width);
      text.resize(std::min(text.size(), width));
      std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
      drawn_ = true;
    } while (!wake_.wait_for(lock, std::chrono::milliseconds(200), ended));
  }

  const std::string command_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<const Progress*> parts_;
  bool ended_ = false, drawn_ = false;
  std::thread thread_;  // last: it uses the rest
};

std::unique_ptr<Drawer>& TheDrawer() {
  static std::unique_ptr<Drawer> drawer;
  return drawer;
}

}  // namespace

ProgressLine::ProgressLine(const std::string& command, bool quiet) {
  if (!quiet && IsShown()) TheDrawer() = std::make_unique<Drawer>(command);
}

ProgressLine::~ProgressLine() { TheDrawer().reset(); }

void EndProgress() {
  if (TheDrawer() != nullptr) TheDrawer()->End();
}

Progress::Progress(std::int64_t all, std::string things) : all_(all), things_(std::move(things)) {
  if (TheDrawer() != nullptr) TheDrawer()->Push(this);
}

Progress::~Progress() {
  if (TheDrawer() != nullptr) TheDrawer()->Pop(this);
}

std::string Progress::Text(std::size_t width) const {
  const std::int64_t done = done_;
  const double passed = std::chrono::duration<double>(Clock::now() - start_).count();
  if (all_ <= 0) return fmt::format("{} {}, {:.0f} s", done, things_, passed);
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(all_));
  constexpr double kEnough = 0.02;  // for an estimate: much is done in blocks
  std::string text = fmt::format("{} of {} {}", done, all_, things_);
  if (share > kEnough) text += fmt::format(", {:.0f} s left", passed * (1 - share) / share);
  constexpr std::size_t kMostCells = 30, kFrame = 3;
  if (text.size() + kFrame >= width) return text;
  const std::size_t cells = std::min(kMostCells, width - text.size() - kFrame);
  const auto full = Truncate<std::size_t>(share * static_cast<double>(cells));
  return fmt::format("[{}{}] {}", std::string(full, '='), std::string(cells - full, ' '), text);
}

}  // namespace dlcost
