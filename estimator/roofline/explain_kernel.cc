#include "estimator/roofline/explain_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "estimator/roofline/call_queue.h"
#include "estimator/roofline/terms.h"
#include "estimator/roofline/timing_device.h"

namespace dlcost {
namespace {

// Whether the library computes in a wider type than the fastest unit could.
bool AddsUpWider(const Target& target, const Kernel& kernel) {
  if (!IsProduct(kernel.nest)) return false;
  const std::optional<ComputeUnit> unit = FindUnit(target, kernel.math),
                                   fastest = FindFastestUnit(target, kernel.math);
  return unit && fastest && unit->peak < fastest->peak;
}

// What a framework adds around the device's time: the terms beside which that stands.
TermWriter AroundTheDevice(const RunOptions& options, const Device& device,
                           const Expected& expected, TermWriter& top) {
  const bool own_host = IsOwnHost(device);
  const double together = CallsAndDevice(expected, device);
  TermWriter model = top.Sum("time model", expected.host + expected.prepared + together);
  if (!own_host) {
    model.Time("host", expected.host, "to the first call, and back from the last kernel");
  }
  const bool asked = options.selection == Selection::kCall;
  model.TimeIfAny("library call", expected.prepared,
                  asked ? "it chooses a kernel before it launches"
                        : "the host sets up a kernel that was chosen before");
  TermWriter side = own_host ? model.Sum("calls and device", together)
                             : model.Longest("calls and device", together);
  std::string calls = own_host ? "the cores make them before they compute"
                               : "the host prepares them while the device runs";
  if (expected.between > 0) {
    const bool python = options.launch == Launch::kEager;
    calls += fmt::format("; {:.3g} us later, for {}, it comes to the next kernel",
                         expected.between * 1e6, python ? "views and Python" : "views");
  }
  side.Time("framework calls", expected.calls, calls);
  return side;
}

void AddAdvice(const std::vector<std::string>& more, std::vector<std::string>& advice) {
  for (const std::string& each : more) {
    if (std::find(advice.begin(), advice.end(), each) == advice.end()) advice.push_back(each);
  }
}

// On what limits the whole kernel: before what its parts advise.
void AdviseOnLimiter(Expected& expected) {
  if (expected.limiter == "launch") {
    expected.advice.insert(
        expected.advice.begin(),
        "The launch takes longer than the work: larger batches, fusion or CUDA graphs help.");
  } else if (expected.limiter == "device memory") {
    expected.advice.insert(expected.advice.begin(),
                           "Device memory is the limit: fewer bytes (fusion, narrower types) "
                           "help, more FLOP/s do not.");
  }
}

void ExplainPart(const Target& target, const PartTime& part, int level, Expected& expected) {
  for (TimeTerm term : part.terms) {
    term.level += level;
    expected.terms.push_back(std::move(term));
  }
  if (part.power > 0) {
    TermWriter(expected.terms, level)
        .Time("waiting for power", part.power,
              fmt::format("{:.4g} W carry no more while kernels follow each other",
                          target.timing->power));
  }
  AddAdvice(part.advice, expected.advice);
}

}  // namespace

void ExplainKernel(const Target& target, const TimedKernel& timed, Expected& expected) {
  const double times = timed.kernel.repeat.AsDouble();
  const bool calls = target.options.Calls();
  TermWriter root(expected.terms);
  TermWriter top = root.Longest("expected", expected.time.expected);
  top.Time("bound", timed.bound.time.value(), "what nothing beats: " + timed.bound.limiter);
  if (timed.bound.limiter == "device memory" && timed.bound.on_chip > Bytes(0)) {
    top.Below().Fact("on the chip", timed.bound.on_chip.AsDouble(), "B", "need not cross it");
  }
  if (AddsUpWider(target, timed.kernel)) {
    top.Text("adds up in", "fp32", "frameworks ask their library for it");
  }
  TermWriter device = calls ? AroundTheDevice(target.options, target.device, expected, top) : top;
  TermWriter model =
      times > 1 ? device.Times("runs", expected.device, times).Sum("one run", timed.seconds)
                : device.Sum(calls ? "on the device" : "time model", timed.seconds);
  for (std::size_t i = 0; i < timed.parts.size(); ++i) {
    const PartTime& part = *timed.parts[i].time;
    int level = model.level();
    if (timed.parts.size() > 1) {
      model.Sum(std::string(timed.kernel.parts[i].name), part.seconds);
      ++level;
    }
    ExplainPart(target, part, level, expected);
  }
  AdviseOnLimiter(expected);
}

}  // namespace dlcost
