#include "estimator/cli/read_profile.h"

#include <filesystem>

#include "estimator/cli/progress.h"
#include "estimator/core/error.h"

namespace dlcost {

Measurement ReadProfile(const std::string& path, ReadOptions options) {
  constexpr std::uint64_t kMegabyte = 1'000'000;
  std::error_code error;
  // What a compressed file unpacks to is not known.
  const std::uintmax_t size = path.ends_with(".gz") ? 0 : std::filesystem::file_size(path, error);
  Progress progress(error ? 0 : static_cast<std::int64_t>(size / kMegabyte),
                    "MB of " + Printable(path, 60));
  options.progress = [&](std::uint64_t bytes) {
    progress.Set(static_cast<std::int64_t>(bytes / kMegabyte));
  };
  return ReadMeasurementFile(path, options);
}

}  // namespace dlcost
