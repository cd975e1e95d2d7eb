#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/profiles/json_events.h"
#include "estimator/profiles/module_spans.h"
#include "estimator/profiles/number.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/text.h"
#include "estimator/profiles/trace.h"

// Traces of PyTorch (Kineto) and TensorFlow in the Trace Event Format. PyTorch names the kind of an
// event in "cat" and ties a kernel to its launch by args.correlation; TensorFlow tells the device
// by the name of the process and the operator by args.tf_op or args.name.
namespace dlcost {
namespace {

// Old versions of Kineto cut starts and durations to whole microseconds, each for itself, so that a
// call may seem to end up to one after its caller.
constexpr std::int64_t kSlack = 1000;

enum class Role { kSkip, kAnnotation, kOp, kRuntime, kKernel, kCopy, kCounters };

Role RoleOf(const JsonEvent& event) {
  static const std::map<std::string_view, Role> kRoles = {
      {"kernel", Role::kKernel},
      {"gpu_memcpy", Role::kCopy},
      {"gpu_memset", Role::kCopy},
      {"cpu_op", Role::kOp},
      {"operator", Role::kOp},
      {"user_annotation", Role::kAnnotation},
      {"cuda_runtime", Role::kRuntime},
      {"cuda_driver", Role::kRuntime},
      {"runtime", Role::kRuntime},
      {"hip_runtime", Role::kRuntime},
      {"privateuse1_runtime", Role::kRuntime},
      {"cuda_profiler_range", Role::kCounters},
      // What repeats other events or is no work: Python frames, waits, the profiler itself.
      {"python_function", Role::kSkip},
      {"cuda_sync", Role::kSkip},
      {"gpu_user_annotation", Role::kSkip},
      {"overhead", Role::kSkip},
      {"Trace", Role::kSkip}};
  const auto found = kRoles.find(Lower(event.cat));
  if (found != kRoles.end()) return found->second;
  return event.cat == "Trace" ? Role::kSkip : Role::kOp;
}

// "[864,1,1]"; zeros for anything else.
std::array<std::int32_t, 3> ParseTraceTriple(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return {};
  text = text.substr(1, text.size() - 2);
  std::array<std::int32_t, 3> list{};
  for (std::int32_t& value : list) {
    const auto number = ParseInteger(TakeUntil(text, ','));
    if (!number || *number < 0 || *number > INT32_MAX) return {};
    value = static_cast<std::int32_t>(*number);
  }
  return list;
}

std::optional<std::array<std::int64_t, 3>> Widen(const std::array<std::int32_t, 3>& triple) {
  if (triple[0] == 0) return std::nullopt;
  return std::array<std::int64_t, 3>{triple[0], triple[1], triple[2]};
}

class ChromeReader {
 public:
  explicit ChromeReader(Measurement& measurement) : out_(measurement) {}

  void Handle(const JsonEvent& event) {
    if (event.ph == "M") {
      if (event.name == "process_name") processes_[event.pid] = event.Arg("name");
      return;
    }
    if (event.name == "[memory]") {
      AddMemory(event);
      return;
    }
    if (!event.start) return;
    if (event.ph == "B" || event.ph == "E") {
      marks_[{event.pid, event.tid}].push_back(
          {*event.start, event.ph == "B", names_.Id(event.name)});
    } else if (event.ph == "X") {
      Complete(event);
    }
  }

  void Finish() {
    PairMarks();
    NoteMemory();
    modules_.Nest();
    calls_.resize(spans_.size());
    if (const std::int64_t ties = FindParents(spans_, kSlack); ties > 0) {
      out_.notes.push_back(fmt::format(
          "{} events lie in several parallel spans of equal length; the first was taken as parent",
          ties));
    }
    const bool on_device = !launches_.empty();
    if (on_device) {
      EmitLaunches();
    } else {
      for (std::size_t i = 0; i < spans_.size(); ++i) {
        if (IsOutermostOp(i)) EmitOp(i);
      }
    }
    for (const Span& span : spans_) {
      if (span.level == kModelLevel && span.parent < 0) {
        AddRange(span);
      } else if (!on_device && span.level == kRuntimeLevel && span.correlation > 0) {
        out_.launch_calls.push_back({span.correlation, span.start, span.end});
      }
    }
    std::stable_sort(
        out_.kernels.begin(), out_.kernels.end(),
        [](const MeasuredKernel& a, const MeasuredKernel& b) { return a.start < b.start; });
    const std::string kStep = "ProfilerStep#";
    for (const Span& span : spans_) out_.runs += names_.Name(span.name).starts_with(kStep);
  }

 private:
  struct Mark {
    std::int64_t time;
    bool begin;
    std::uint32_t name;
  };
  // What many launches have in common; names in names_.
  struct Kind {
    std::uint32_t name = 0, stream = 0, device = 0, op = 0;
    bool copy = false;
    std::array<std::int32_t, 3> grid{}, block{};  // zeros where not told
    auto operator<=>(const Kind&) const = default;
  };
  // What ran on a device: 40 bytes.
  struct Launch {
    std::int64_t start = 0, end = 0;  // nanoseconds
    std::int64_t correlation = 0;  // with the call that launched it, or, below 0, with the operator
    std::uint32_t kind = 0;        // in kinds_
    std::uint32_t number = 0;      // of the event
    std::uint32_t span = 0;        // without a correlation: the span that stands for it
  };

  struct Memory {
    double most = 0;  // bytes
    std::int64_t events = 0;
  };

  std::uint32_t Track(const std::string& pid, const std::string& tid) {
    return names_.Id(pid + '\n' + tid);
  }

  void Complete(const JsonEvent& event) {
    const Role role = RoleOf(event);
    if (ModuleSpans::IsModule(event.name)) {
      modules_.Add(Track(event.pid, event.tid), *event.start,
                   *event.start + event.duration.value_or(0), event.name);
    }
    if (role == Role::kSkip) return;
    Span span;
    span.start = *event.start;
    span.end = span.start + event.duration.value_or(0);
    span.name = names_.Id(event.name);
    span.track = Track(event.pid, event.tid);
    const std::string& id =
        event.Arg("correlation").empty() ? event.Arg("correlation_id") : event.Arg("correlation");
    span.correlation = ParseInteger(id).value_or(0);
    const bool device = role == Role::kKernel || role == Role::kCopy || role == Role::kCounters ||
                        IsDeviceProcess(event.pid);
    span.level = device                      ? kKernelLevel
                 : role == Role::kRuntime    ? kRuntimeLevel
                 : role == Role::kAnnotation ? kModelLevel
                                             : kLayerLevel;
    // Without a launch in the trace: the operator that has the same external id, told below 0.
    const bool by_op = device ? span.correlation == 0 : role != Role::kRuntime;
    if (by_op) span.correlation = -ExternalId(event);
    if (!device) {
      spans_.push_back(span);
      return;
    }
    Launch launch{.start = span.start, .end = span.end, .correlation = span.correlation};
    launch.kind = KindOf(event, role, span.name);
    launch.number = static_cast<std::uint32_t>(event.number);
    if (launch.correlation == 0) {
      span.asynchronous = true;
      launch.span = static_cast<std::uint32_t>(spans_.size());
      spans_.push_back(span);
    }
    std::vector<Counter> counters = CountersOf(event, role);
    if (!counters.empty()) counters_.emplace(launches_.size(), std::move(counters));
    launches_.push_back(launch);
  }

  static std::int64_t ExternalId(const JsonEvent& event) {
    return std::max<std::int64_t>(0, ParseInteger(event.Arg("External id")).value_or(0));
  }

  std::uint32_t KindOf(const JsonEvent& event, Role role, std::uint32_t name) {
    Kind kind{.name = name, .stream = names_.Id(event.Arg("stream"))};
    kind.device =
        names_.Id(event.Arg("device").empty() ? processes_[event.pid] : event.Arg("device"));
    kind.op = names_.Id(event.Arg("tf_op").empty() ? event.Arg("name") : event.Arg("tf_op"));
    kind.grid = ParseTraceTriple(event.Arg("grid"));
    kind.block = ParseTraceTriple(event.Arg("block"));
    kind.copy = role == Role::kCopy || event.name.starts_with("Mem");
    const auto [at, added] = kind_ids_.emplace(kind, static_cast<std::uint32_t>(kinds_.size()));
    if (added) kinds_.push_back(kind);
    return at->second;
  }

  std::vector<Counter> CountersOf(const JsonEvent& event, Role role) {
    CounterSet counters;
    for (const auto& [key, value] : event.args) {
      const bool counter = FindCounterRule(key) != nullptr;
      const auto number = counter || role == Role::kCounters ? ParseNumber(value) : std::nullopt;
      if (!number) continue;
      if (counter) {
        counters.Add(key, number->value);
      } else if (Contains(key, "__")) {  // CUPTI's; the rest is about the range
        out_.AddUnknownCounter(key);
      }
    }
    return counters.Normalize();
  }

  // PyTorch's profile_memory=True: a mark for each allocation, with what is allocated from then on.
  void AddMemory(const JsonEvent& event) {
    const auto total = ParseNumber(event.Arg("Total Allocated"));
    if (!total || total->value < 0) return;
    // By the numbers of c10::DeviceType; the processor's has no number of its own.
    const std::string& type = event.Arg("Device Type");
    const std::string device =
        type == "0" ? "the host" : fmt::format("device {}", Printable(event.Arg("Device Id"), 20));
    Memory& memory = memory_[device];
    memory.most = std::max(memory.most, total->value);
    ++memory.events;
  }

  void NoteMemory() {
    for (const auto& [device, memory] : memory_) {
      out_.notes.push_back(fmt::format(
          "memory: at most {:.1f} MB allocated on {}, by {} allocations and frees; they are not "
          "split by operator",
          memory.most * 1e-6, device, memory.events));
    }
  }

  void AddRange(const Span& span) {
    out_.ranges.push_back({names_.Name(span.name), span.start, span.end});
  }

  // TensorFlow: "/device:GPU:0/stream:all Compute", "/device:GPU:0".
  bool IsDeviceProcess(const std::string& pid) const {
    const auto found = processes_.find(pid);
    return found != processes_.end() && Contains(found->second, "/device:GPU");
  }

  // "B" and "E" events, in any order in the file. An "E" closes the last open "B" of its thread.
  void PairMarks() {
    for (auto& [thread, marks] : marks_) {
      std::stable_sort(marks.begin(), marks.end(),
                       [](const Mark& a, const Mark& b) { return a.time < b.time; });
      std::vector<Mark> open;
      for (const Mark& mark : marks) {
        if (mark.begin) {
          open.push_back(mark);
        } else if (open.empty()) {
          ++unpaired_;
        } else {
          Span span;
          span.start = open.back().time;
          span.end = mark.time;
          span.name = open.back().name;
          span.track = Track(thread.first, thread.second);
          span.level = kLayerLevel;
          spans_.push_back(span);
          open.pop_back();
        }
      }
      unpaired_ += static_cast<std::int64_t>(open.size());
    }
    if (unpaired_ > 0) {
      out_.notes.push_back(
          fmt::format("{} begin or end events have no partner; left out", unpaired_));
    }
  }

  bool IsOutermostOp(std::size_t index) const {
    const Span& span = spans_[index];
    if (span.level != kLayerLevel) return false;
    return span.parent < 0 || spans_[static_cast<std::size_t>(span.parent)].level < kLayerLevel;
  }

  // From the first to the last in the file; each is gone when it was told.
  void EmitLaunches() {
    out_.Expect(launches_.size());
    const Launchers launchers(spans_);
    for (std::size_t i = 0; !launches_.empty(); ++i) {
      const Launch launch = launches_.front();
      launches_.pop_front();
      const Kind& kind = kinds_[launch.kind];
      MeasuredKernel kernel;
      kernel.name = names_.Name(kind.name);
      kernel.SetTimes(launch.start, launch.end);
      if (launch.correlation > 0) kernel.correlation = launch.correlation;
      const std::int32_t parent = launch.correlation == 0
                                      ? spans_[launch.span].parent
                                      : launchers.Of(launch.correlation, kKernelLevel);
      TellCallers(parent, kernel);
      kernel.kind = kind.copy ? MeasuredKind::kCopy : MeasuredKind::kKernel;
      kernel.stream = names_.Name(kind.stream);
      kernel.device = names_.Name(kind.device);
      kernel.grid = Widen(kind.grid);
      kernel.block = Widen(kind.block);
      kernel.line = launch.number;
      if (const auto counters = counters_.find(i); counters != counters_.end())
        kernel.counters = std::move(counters->second);
      if (!names_.Name(kind.op).empty()) {
        // "model/conv1/Conv2D:Conv2D": the node and its type.
        std::string_view op = names_.Name(kind.op);
        kernel.op = TakeUntil(op, ':');
        kernel.op_type = op;
      }
      out_.Add(std::move(kernel));
    }
  }

  void EmitOp(std::size_t index) {
    const Span& span = spans_[index];
    MeasuredKernel kernel;
    kernel.name = names_.Name(span.name);
    kernel.SetTimes(span.start, span.end);
    // The module that was running when the operator ran, where no call around it tells.
    if (span.parent < 0) kernel.module = modules_.At(span.track, span.start);
    TellCallers(span.parent, kernel);
    kernel.kind = MeasuredKind::kOp;
    kernel.op = kernel.op_type = kernel.name;
    out_.Add(std::move(kernel));
  }

  // What the host was in when it called: the innermost span, and all around it.
  void TellCallers(std::int32_t innermost, MeasuredKernel& kernel) {
    std::vector<std::int64_t> chain;
    if (innermost >= 0) {
      chain = Ancestors(spans_, innermost);
      chain.push_back(innermost);
      const Span& call = spans_[static_cast<std::size_t>(innermost)];
      kernel.module = modules_.At(call.track, call.start);
    }
    for (const std::int64_t i : chain) {
      const Span& outer = spans_[static_cast<std::size_t>(i)];
      if (outer.level == kRuntimeLevel) continue;
      kernel.scope.push_back(names_.Name(outer.name));
      // The operator that the model called, not the one that the framework called for it.
      if (outer.level == kLayerLevel && kernel.op.empty()) {
        kernel.op = kernel.op_type = kernel.scope.back();
        kernel.call = i;
        if (Once(calls_, i))
          kernel.host = Seconds(static_cast<double>(outer.end - outer.start) * 1e-9);
      }
    }
  }

  Measurement& out_;
  NamePool names_;
  ModuleSpans modules_;
  Spans spans_;                  // of the host
  std::deque<Launch> launches_;  // on devices
  std::vector<Kind> kinds_;
  std::map<Kind, std::uint32_t> kind_ids_;
  std::unordered_map<std::size_t, std::vector<Counter>> counters_;  // of launches
  std::vector<bool> calls_;  // spans whose time a kernel tells as its host's
  std::map<std::string, std::string> processes_;
  std::map<std::string, Memory> memory_;  // by device
  std::map<std::pair<std::string, std::string>, std::vector<Mark>> marks_;
  std::int64_t unpaired_ = 0;
};

}  // namespace

bool IsChromeTrace(std::string_view head) {
  const std::string_view text = Trim(head);
  return text.starts_with('[') || text.starts_with('{');
}

void ReadChromeTrace(Input& input, Measurement& measurement) {
  ChromeReader reader(measurement);
  ForEachEvent(input, [&](const JsonEvent& event) { reader.Handle(event); });
  reader.Finish();
}

}  // namespace dlcost
