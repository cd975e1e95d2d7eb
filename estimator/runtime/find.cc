#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/hardware/spec_files.h"
#include "estimator/runtime/runtime.h"

namespace dlcost {
namespace {

constexpr const char* kFolder = "runtimes";  // of hw_specs/

}  // namespace

std::vector<Runtime> AllRuntimes(const std::vector<std::string>& directories) {
  std::map<std::string, std::string> files;  // the earlier directory wins
  for (const std::string& folder : SpecFolders(directories, kFolder)) {
    for (const auto& file : SpecFiles(folder)) files.emplace(file.stem().string(), file.string());
  }
  std::vector<Runtime> runtimes;
  for (const auto& [id, file] : files) runtimes.push_back(ReadRuntime(file));
  return runtimes;
}

Runtime FindRuntime(const std::string& name, const std::vector<std::string>& directories) {
  if (IsSpecPath(name)) return ReadRuntime(name);
  const std::vector<std::string> folders = SpecFolders(directories, kFolder);
  if (const auto file = LocateSpec(folders, name)) return ReadRuntime(file->string());
  throw Error("unknown runtime '{}'{}; `dlcost runtimes` lists the known ones", Printable(name),
              DidYouMean(name, SpecNames(folders)));
}

bool RunsOn(const Runtime& runtime, const Device& device) {
  const std::vector<std::string>& vendors = runtime.vendors;
  return vendors.empty() ||
         std::find(vendors.begin(), vendors.end(), device.vendor) != vendors.end();
}

void RequireRunsOn(const Runtime& runtime, const Device& device) {
  if (RunsOn(runtime, device)) return;
  throw Error(
      "--runtime {} runs on devices of {}, and {} is one of {}; `dlcost runtimes` lists "
      "the others",
      runtime.id, fmt::join(runtime.vendors, ", "), device.id, device.vendor);
}

void Assume(const Runtime& runtime, bool given, ReportOptions& options) {
  options.runtime = runtime.id;
  options.runtime_given = given;
  options.plan.fusion = Fusion::kDefault;
  options.plan.fuses = runtime.fuses;
  options.plan.attention_by_default = runtime.attention;
  options.plan.composed_apart = runtime.composed_apart;
  options.run.math = runtime.math;
  options.run.launch = runtime.launch;
  options.run.selection = runtime.selection;
  options.run.converts = runtime.converts;
  options.run.bias_apart = AddsBiasApart(runtime.fuses);
  options.run.planes_first = runtime.planes_first;
  options.run.odd_rows = runtime.odd_rows;
  options.run.int8_blocks = runtime.int8_blocks;
  options.run.timed_convolutions = runtime.timed_convolutions;
  options.run.update = runtime.update;
}

}  // namespace dlcost
