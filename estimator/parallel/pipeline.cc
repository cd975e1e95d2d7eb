#include "estimator/parallel/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"

namespace dlcost {
namespace {

// A pass of a micro-batch through a chunk.
struct Pass {
  bool backward = false;
  int chunk = 0;  // of the device's own
  int batch = 0;
  bool weights = false;  // only their gradients, which nothing waits for
};

// "forward 3 of chunk 1": a task's name. There are many of them.
std::string NameOf(std::string_view what, int batch, std::string_view chunks, int chunk) {
  std::string name(what);
  name.append(" ").append(std::to_string(batch));
  return name.append(chunks).append(std::to_string(chunk));
}

// The k-th pass in one direction: with several chunks, as many micro-batches as there are devices
// go through the first chunk, then the same through the next (Narayanan et al., 2021).
Pass PassAt(int k, bool backward, int devices, int chunks) {
  const int round = devices * chunks;
  const int chunk = k % round / devices;
  return {backward, backward ? chunks - 1 - chunk : chunk, k / round * devices + k % devices};
}

// What a device does, in order.
std::vector<Pass> OrderOf(int device, int devices, int chunks, int batches,
                          PipelineSchedule schedule) {
  const int passes = chunks * batches;  // in each direction
  int ahead = passes;                   // forward passes before the first backward pass
  if (schedule == PipelineSchedule::kOneFOneB || schedule == PipelineSchedule::kZeroBubble) {
    ahead = devices - device;
  }
  if (schedule == PipelineSchedule::kInterleaved) {
    ahead = 2 * (devices - device - 1) + (chunks - 1) * devices + 1;
  }
  ahead = std::min(ahead, passes);
  const auto at = [&](int k, bool backward) {
    return chunks == 1 ? Pass{backward, 0, k} : PassAt(k, backward, devices, chunks);
  };
  std::vector<Pass> order;
  for (int k = 0; k < ahead; ++k) order.push_back(at(k, false));
  // ZB-H1: gradients of weights stay behind by as many passes as there are stages before this one,
  // so that the next stage back never waits for them.
  const bool apart = schedule == PipelineSchedule::kZeroBubble;
  for (int k = 0; k < passes; ++k) {
    order.push_back(at(k, true));
    if (apart && k >= device) order.push_back({true, 0, k - device, true});
    if (k + ahead < passes) order.push_back(at(k + ahead, false));
  }
  for (int k = std::max(0, passes - device); apart && k < passes; ++k) {
    order.push_back({true, 0, k, true});
  }
  return order;
}

// A stage may take so much more than it must where less is passed on for it.
constexpr double kSlack = 1.05;

// The least time that the slowest of `stages` runs of kernels takes; `until`: time before each
// kernel, and of all.
double LeastLimit(const std::vector<double>& until, int stages) {
  const auto fits = [&](double limit) {
    int used = 0;
    for (std::size_t i = 0; i + 1 < until.size(); ++used) {
      // The first kernel is in the stage whatever it takes.
      std::size_t next = i + 1;
      while (next + 1 < until.size() && until[next + 1] - until[i] <= limit) ++next;
      if (until[next] - until[i] > limit) return false;
      i = next;
    }
    return used <= stages;
  };
  double low = 0, high = until.back();
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (fits(middle) ? high : low) = middle;
  }
  return high;
}

// The last kernels of `stages` runs, none above the limit, between which the fewest bytes pass.
std::vector<std::size_t> CheapestCuts(const std::vector<double>& until, int stages, double limit,
                                      const std::function<double(std::size_t)>& passed) {
  const std::size_t kernels = until.size() - 1;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  // Bytes passed by the first s + 1 runs when they end before kernel i, and where the last begins.
  std::vector<std::vector<std::size_t>> begin(static_cast<std::size_t>(stages));
  std::vector<double> before(kernels + 1, kNever);
  before[0] = 0;
  for (auto& begins : begin) {
    begins.assign(kernels + 1, 0);
    std::vector<double> now(kernels + 1, kNever);
    // Beginnings that the limit allows, the cheapest first (minimum of a sliding window).
    std::deque<std::size_t> window;
    for (std::size_t i = 1; i <= kernels; ++i) {
      while (!window.empty() && before[window.back()] >= before[i - 1]) window.pop_back();
      window.push_back(i - 1);
      while (!window.empty() && until[i] - until[window.front()] > limit) window.pop_front();
      if (window.empty()) continue;
      now[i] = before[window.front()] + (i < kernels ? passed(i - 1) : 0);
      begins[i] = window.front();
    }
    before = std::move(now);
  }
  std::vector<std::size_t> ends;
  for (std::size_t s = begin.size(), i = kernels; s-- > 0; i = begin[s][i]) ends.push_back(i - 1);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

}  // namespace

std::string_view Name(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::kGPipe:
      return "gpipe";
    case PipelineSchedule::kOneFOneB:
      return "1f1b";
    case PipelineSchedule::kZeroBubble:
      return "zb-h1";
    case PipelineSchedule::kInterleaved:
      return "interleaved";
  }
  return "";
}

PipelineSchedule ParsePipelineSchedule(const std::string& name) {
  std::vector<std::string> names;
  for (const PipelineSchedule schedule :
       {PipelineSchedule::kGPipe, PipelineSchedule::kOneFOneB, PipelineSchedule::kZeroBubble,
        PipelineSchedule::kInterleaved}) {
    if (Name(schedule) == name) return schedule;
    names.emplace_back(Name(schedule));
  }
  throw Error("schedule '{}' is none of gpipe, 1f1b, zb-h1, interleaved{}", Printable(name),
              DidYouMean(name, names));
}

Timeline PipelineTimeline(const std::vector<PipelineChunk>& chunks, int devices, int micro_batches,
                          PipelineSchedule schedule) {
  const int all = static_cast<int>(chunks.size());
  if (devices < 1 || micro_batches < 1 || all % devices != 0) {
    throw Error("{} chunks of a pipeline do not divide among {} devices", all, devices);
  }
  const int own = all / devices;
  if (own > 1 && micro_batches % devices != 0) {
    throw Error(
        "an interleaved schedule of {} devices needs a multiple of {} micro-batches, not {}",
        devices, devices, micro_batches);
  }
  Timeline timeline;
  for (int d = 0; d < devices; ++d) timeline.AddResource(fmt::format("device {}", d));
  // Sends take time and no device: one engine for each pair and direction.
  const std::size_t engines = timeline.AddResource("links", 2 * all * micro_batches);
  std::vector<std::vector<Pass>> orders;
  for (int d = 0; d < devices; ++d) {
    orders.push_back(OrderOf(d, devices, own, micro_batches, schedule));
  }
  // A task for every pass, numbered by chunk, batch and direction; tasks are added device by
  // device, so that numbers are known beforehand.
  std::vector<std::size_t> number(2 * chunks.size() * static_cast<std::size_t>(micro_batches));
  const auto slot = [&](int chunk, int batch, bool backward) -> std::size_t& {
    return number[2 * (static_cast<std::size_t>(chunk) * static_cast<std::size_t>(micro_batches) +
                       static_cast<std::size_t>(batch)) +
                  static_cast<std::size_t>(backward)];
  };
  std::size_t next = 0;
  for (int d = 0; d < devices; ++d) {
    for (const Pass& pass : orders[static_cast<std::size_t>(d)]) {
      if (!pass.weights) slot(pass.chunk * devices + d, pass.batch, pass.backward) = next;
      ++next;
    }
  }
  // Sends follow all passes: one forward and one backward for every boundary and micro-batch.
  const std::size_t first_send = next;
  const auto send = [&](int boundary, int batch, bool backward) {
    return first_send + static_cast<std::size_t>((boundary * micro_batches + batch) * 2 + backward);
  };
  const bool split = schedule == PipelineSchedule::kZeroBubble;
  for (int d = 0; d < devices; ++d) {
    std::optional<std::size_t> before;
    for (const Pass& pass : orders[static_cast<std::size_t>(d)]) {
      const int chunk = pass.chunk * devices + d;
      const PipelineChunk& work = chunks[static_cast<std::size_t>(chunk)];
      const char* what = pass.weights ? "weights" : pass.backward ? "backward" : "forward";
      Task task{NameOf(what, pass.batch, " of chunk ", chunk), TaskKind::kKernel,
                static_cast<std::size_t>(d), work.forward};
      task.after.reserve(2);
      if (pass.backward) {
        const Seconds later = split ? work.for_weights : Seconds();
        task.duration = pass.weights ? later : work.backward - later;
      }
      if (before) task.after.push_back(*before);
      if (!pass.backward && chunk > 0) task.after.push_back(send(chunk - 1, pass.batch, false));
      if (pass.backward && !pass.weights) {
        task.after.push_back(chunk + 1 < all ? send(chunk, pass.batch, true)
                                             : slot(chunk, pass.batch, false));
      }
      before = timeline.Add(std::move(task));
    }
  }
  for (int boundary = 0; boundary + 1 < all; ++boundary) {
    for (int batch = 0; batch < micro_batches; ++batch) {
      for (const bool backward : {false, true}) {
        timeline.Add(
            {NameOf("send", batch, backward ? " back to chunk " : " on from chunk ", boundary),
             TaskKind::kCommunication,
             engines,
             chunks[static_cast<std::size_t>(boundary)].send,
             {slot(boundary + (backward ? 1 : 0), batch, backward)}});
      }
    }
  }
  timeline.Schedule();
  return timeline;
}

double BubbleOf(const Timeline& timeline) {
  Seconds busy;
  int devices = 0;
  for (std::size_t r = 0; r < timeline.resources().size(); ++r) {
    if (timeline.resources()[r].lanes > 1) continue;
    busy += UseOf(timeline, r).busy;
    ++devices;
  }
  return 1 - busy / (timeline.Span() * devices);
}

namespace {

// The last kernels of the stages that the profile is annotated with, as positions among its forward
// kernels.
std::vector<std::size_t> AnnotatedEnds(const StepProfile& profile,
                                       const std::vector<std::size_t>& forward, int stages) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    const int stage = profile.stages[forward[i]];
    const bool last = i + 1 == forward.size();
    const int next = last ? stage : profile.stages[forward[i + 1]];
    if (next < stage) {
      throw Error(
          "{} of pipeline stage {} runs before {} of stage {}: such stages are not laid out",
          Printable(profile.kernels[forward[i]].name), stage,
          Printable(profile.kernels[forward[i + 1]].name), next);
    }
    if (last || next > stage) ends.push_back(i);
  }
  if (ends.size() != static_cast<std::size_t>(stages)) {
    throw Error("pp={}: the file's annotations make {} stages", stages, ends.size());
  }
  return ends;
}

// The last kernels of stages of equally many modules that repeat, as Megatron-LM lays out layers:
// what is before the first is in the first stage, what is behind the last in the last. Where fewest
// bytes pass between the kernels of two modules there is the cut. None where they do not divide.
std::optional<std::vector<std::size_t>> LayerEnds(const StepProfile& profile,
                                                  const std::vector<std::size_t>& forward,
                                                  int stages) {
  std::vector<std::size_t> begins;  // of modules, in `forward`
  const auto module = [&](std::size_t i) -> const std::string& {
    return profile.kernels[forward[i]].module;
  };
  std::size_t before = 0;  // the last kernel of the module before
  std::vector<std::size_t> previous;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    if (module(i).empty()) continue;
    if (begins.empty() || module(i) != module(before)) {
      begins.push_back(i);
      previous.push_back(before);
    }
    before = i;
  }
  const auto count = static_cast<std::size_t>(stages);
  if (begins.size() < count || begins.size() % count != 0) return std::nullopt;
  std::vector<std::size_t> ends;
  for (std::size_t s = 1; s < count; ++s) {
    const std::size_t m = s * (begins.size() / count);
    std::size_t end = previous[m];
    for (std::size_t i = end; i < begins[m]; ++i) {
      if (profile.kernels[forward[i]].passed < profile.kernels[forward[end]].passed) end = i;
    }
    ends.push_back(end);
  }
  ends.push_back(forward.size() - 1);
  return ends;
}

}  // namespace

std::vector<PipelineStage> BalancedStages(const StepProfile& profile, int stages) {
  constexpr std::string_view kGradient = "/grad/";
  // Forward kernels by name; a backward kernel is named after the forward node that it is for.
  std::vector<std::size_t> forward;
  std::unordered_map<std::string_view, std::size_t> position;
  position.reserve(profile.kernels.size());
  for (std::size_t k = 0; k < profile.kernels.size(); ++k) {
    const StepKernel& kernel = profile.kernels[k];
    if (kernel.phase != Phase::kForward) continue;
    position[kernel.name] = forward.size();
    forward.push_back(k);
  }
  if (stages < 1 || static_cast<std::size_t>(stages) > forward.size()) {
    throw Error("{} stages: the model has {} kernels to cut between", stages, forward.size());
  }
  std::vector<Seconds> front(forward.size()), back(forward.size()), weights(forward.size());
  std::vector<Bytes> gradients(forward.size()), experts(forward.size()), saved(forward.size());
  Seconds update;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    front[i] = profile.kernels[forward[i]].time;
    saved[i] = profile.kernels[forward[i]].saved;
  }
  std::size_t at = forward.size() - 1;
  for (const StepKernel& kernel : profile.kernels) {
    if (kernel.phase == Phase::kForward) continue;
    if (kernel.phase == Phase::kOptimizer) {
      update += kernel.time;
      continue;
    }
    const std::size_t end = kernel.name.find(kGradient);
    const auto known = position.find(std::string_view(kernel.name).substr(0, end));
    if (end != std::string::npos && known != position.end()) at = known->second;
    back[at] += kernel.time;
    if (kernel.phase == Phase::kBackwardWeights) weights[at] += kernel.time;
    gradients[at] += kernel.gradients;
    experts[at] += kernel.expert_gradients;
    saved[at] += kernel.saved;  // what the loss makes
  }
  std::vector<double> until(forward.size() + 1);  // time of the kernels before
  for (std::size_t i = 0; i < forward.size(); ++i) {
    until[i + 1] = until[i] + (front[i] + back[i]).value();
  }
  std::optional<std::vector<std::size_t>> ends;
  if (!profile.stages.empty()) ends = AnnotatedEnds(profile, forward, stages);
  if (!ends) ends = LayerEnds(profile, forward, stages);
  if (!ends) {
    ends = CheapestCuts(until, stages, LeastLimit(until, stages) * kSlack, [&](std::size_t i) {
      return profile.kernels[forward[i]].passed.AsDouble();
    });
  }
  std::vector<PipelineStage> result;
  std::size_t begin = 0;
  for (const std::size_t end : *ends) {
    PipelineStage stage;
    stage.first = forward[begin];
    stage.last = forward[end];
    for (std::size_t i = begin; i <= end; ++i) {
      stage.forward += front[i];
      stage.backward += back[i];
      stage.for_weights += weights[i];
      stage.gradients += gradients[i];
      stage.expert_gradients += experts[i];
      stage.expert_weights += profile.kernels[forward[i]].expert_weights;
      stage.saved += saved[i];
      stage.weights += profile.kernels[forward[i]].weights;
    }
    stage.passed = profile.kernels[forward[end]].passed;
    stage.update =
        update * (stage.gradients.AsDouble() / std::max(1.0, profile.sent_gradients.AsDouble()));
    result.push_back(stage);
    begin = end + 1;
  }
  result.back().passed = Bytes();
  return result;
}

}  // namespace dlcost
