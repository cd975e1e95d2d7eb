#include <algorithm>
#include <string>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/profiles/json_events.h"
#include "estimator/profiles/number.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/text.h"

// ONNX Runtime's profile (SessionOptions.enable_profiling): a chrome trace whose "Node" events are
// named NODE_kernel_time, with "fence" events around them in old versions, "Kernel" events for GPU
// kernels, and one "model_run" per inference. Launches of a node are folded as they are read, so
// thousands of runs need no more memory than one, but for four bytes per launch.
namespace dlcost {
namespace {

constexpr std::string_view kKernelTime = "_kernel_time";

class OrtReader {
 public:
  explicit OrtReader(Measurement& measurement) : out_(measurement) {}

  void Handle(const JsonEvent& event) {
    if (event.name == "model_run") ++out_.runs;
    if (!event.start || !event.duration) return;
    if (event.name == "model_run" && *event.duration >= 0) {
      std::int64_t end = 0;
      if (!__builtin_add_overflow(*event.start, *event.duration, &end))
        out_.ranges.push_back({event.name, *event.start, end});
    }
    if (event.cat == "Node" && event.name.ends_with(kKernelTime)) {
      const std::string node = event.name.substr(0, event.name.size() - kKernelTime.size());
      MeasuredKernel kernel;
      kernel.kind = MeasuredKind::kOp;
      kernel.name = kernel.op = node;
      Add(std::move(kernel), event, 'n' + node);
    } else if (event.cat == "Kernel") {
      MeasuredKernel kernel;
      kernel.name = event.name;
      kernel.op = event.Arg("op_name");
      kernel.stream = event.Arg("stream");
      const std::string key = 'k' + kernel.op + '\n' + event.name;
      Add(std::move(kernel), event, key);
    }
  }

  // The median of the launches: neither the first, slow run nor a preempted one moves it.
  void Finish() {
    for (MeasuredKernel& kernel : out_.kernels) {
      std::vector<float> sorted = kernel.samples;
      std::sort(sorted.begin(), sorted.end());
      const std::size_t n = sorted.size();
      const double median =
          (static_cast<double>(sorted[(n - 1) / 2]) + static_cast<double>(sorted[n / 2])) / 2;
      kernel.duration = Seconds(median);
    }
  }

 private:
  void Add(MeasuredKernel kernel, const JsonEvent& event, const std::string& key) {
    const auto [found, added] = index_.emplace(key, out_.kernels.size());
    if (added) {
      kernel.op_type = event.cat == "Node" ? event.Arg("op_name") : "";
      kernel.device = event.Arg("provider");
      kernel.start = Seconds(static_cast<double>(*event.start) * 1e-9);
      kernel.line = event.number;
      kernel.launches = 0;
      out_.kernels.push_back(std::move(kernel));
    }
    MeasuredKernel& folded = out_.kernels[found->second];
    // The same in every run of one model at one size.
    if (const auto size = ParseNumber(event.Arg("output_size")); size && folded.counters.empty()) {
      CounterSet counters;
      counters.Add("output_size", size->value);
      folded.counters = counters.Normalize();
    }
    ++folded.launches;
    folded.samples.push_back(static_cast<float>(static_cast<double>(*event.duration) * 1e-9));
  }

  Measurement& out_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace

bool IsOnnxRuntime(std::string_view head) {
  const std::string_view text = Trim(head);
  return (text.starts_with('[') || text.starts_with('{')) &&
         (Contains(head, kKernelTime) || Contains(head, "\"model_loading") ||
          Contains(head, "\"session_initialization\"") ||
          (Contains(head, "\"Node\"") && Contains(head, "\"op_name\"")));
}

void ReadOnnxRuntime(Input& input, Measurement& measurement) {
  OrtReader reader(measurement);
  ForEachEvent(input, [&](const JsonEvent& event) { reader.Handle(event); });
  reader.Finish();
}

}  // namespace dlcost
