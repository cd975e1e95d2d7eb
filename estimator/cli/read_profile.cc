#include "estimator/cli/read_profile.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

// One line that a terminal rewrites, for files that take longer than a moment.
class Progress {
 public:
  explicit Progress(const std::string& path) : path_(Printable(path, 60)) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    // What a compressed file unpacks to is not known.
    if (!error && !path.ends_with(".gz")) size_ = size;
  }
  ~Progress() {
    if (shown_) std::fprintf(stderr, "\r\x1b[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(std::uint64_t bytes) {
    shown_ = true;
    const double read = static_cast<double>(bytes);
    std::fprintf(stderr, "\r%s: %.0f MB read", path_.c_str(), read / 1e6);
    if (size_ > 0) std::fprintf(stderr, ", %.0f %%", 100 * read / static_cast<double>(size_));
  }

 private:
  std::string path_;
  std::uintmax_t size_ = 0;
  bool shown_ = false;
};

}  // namespace

Measurement ReadProfile(const std::string& path, ReadOptions options) {
  Progress progress(path);
  if (isatty(STDERR_FILENO) != 0) {
    options.progress = [&](std::uint64_t bytes) { progress.Show(bytes); };
  }
  return ReadMeasurementFile(path, options);
}

}  // namespace dlcost
