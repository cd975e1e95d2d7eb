#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/runtime/runtime.h"

namespace dlcost {
namespace {

namespace fs = std::filesystem;

bool SameName(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

bool IsPath(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

}  // namespace

std::vector<Runtime> AllRuntimes(const std::vector<std::string>& directories) {
  std::map<std::string, fs::path> files;  // the earlier directory wins
  for (const std::string& directory : directories) {
    std::error_code error;
    // A directory of the user's own may have none.
    fs::directory_iterator it(fs::path(directory) / "runtimes", error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      if (it->path().extension() == ".yaml") files.emplace(it->path().stem().string(), it->path());
    }
  }
  std::vector<Runtime> runtimes;
  for (const auto& [id, path] : files) runtimes.push_back(ReadRuntime(path.string()));
  return runtimes;
}

Runtime FindRuntime(const std::string& name, const std::vector<std::string>& directories) {
  if (IsPath(name)) return ReadRuntime(name);
  std::vector<std::string> known;
  for (Runtime& runtime : AllRuntimes(directories)) {
    known.push_back(runtime.id);
    known.insert(known.end(), runtime.aliases.begin(), runtime.aliases.end());
    for (std::size_t i = known.size() - runtime.aliases.size() - 1; i < known.size(); ++i) {
      if (SameName(known[i], name)) return std::move(runtime);
    }
  }
  throw Error("unknown runtime '{}'{}; `dlcost runtimes` lists the known ones", Printable(name),
              DidYouMean(name, known));
}

void RequireRunsOn(const Runtime& runtime, const Device& device) {
  const std::vector<std::string>& vendors = runtime.vendors;
  if (vendors.empty() || std::find(vendors.begin(), vendors.end(), device.vendor) != vendors.end())
    return;
  throw Error(
      "--runtime {} runs on devices of {}, and {} is one of {}; `dlcost runtimes` lists "
      "the others",
      runtime.id, fmt::join(vendors, ", "), device.id, device.vendor);
}

void Assume(const Runtime& runtime, bool given, ReportOptions& options) {
  options.runtime = runtime.id;
  options.runtime_given = given;
  options.plan.fusion = Fusion::kDefault;
  options.plan.fuses = runtime.fuses;
  options.plan.attention_by_default = runtime.attention;
  options.run.math = runtime.math;
  options.run.eager = runtime.eager;
  options.run.selection = runtime.selection;
  options.run.converts = runtime.converts;
}

}  // namespace dlcost
