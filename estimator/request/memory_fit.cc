#include "estimator/request/memory_fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/plan/kernel_memory.h"
#include "estimator/report/format.h"
#include "estimator/training/recompute.h"

namespace dlcost {
namespace {

constexpr std::int64_t kLargestBatch = std::int64_t{1} << 30;

class Fitter {
 public:
  Fitter(const ModelOptions& options, const Device& device, const ReportOptions& report)
      : options_(options), device_(device), report_(report), model_(ModelOf(options)) {
    options_.fit = options_.batch_max = false;
    report_.detail = ReportDetail::kOperators;
  }

  // Throws Error where another option binds what --batch max is to find.
  void RequireOpenBatch() {
    const std::optional<BatchDim> bound = BatchBoundApart(model_, BindingsOf(options_));
    if (!bound) return;
    throw Error("--batch max: dimension '{}' is {} by another option; leave that out",
                Printable(bound->key), bound->size);
  }

  Bytes memory() const { return *device_.memory.size; }

  InferredModel InferWith(std::optional<std::int64_t> batch, const std::string& recompute) const {
    ModelOptions options = options_;
    options.recompute = recompute;
    if (batch) options.batch = batch;
    return InferModel(Model(model_), options, BindingsOf(options));
  }

  Bytes Needed(std::optional<std::int64_t> batch, const std::string& recompute) const {
    const InferredModel model = InferWith(batch, recompute);
    const std::vector<Bytes> live = LiveBytes(model, report_.plan);
    return model.weight_bytes + *std::max_element(live.begin(), live.end());
  }
  bool Fits(std::optional<std::int64_t> batch, const std::string& recompute) const {
    return Needed(batch, recompute) <= memory();
  }

  // Expected time of a step, or its bound where nothing is known of the device's times.
  double Time(std::optional<std::int64_t> batch, const std::string& recompute) const {
    const Report report = BuildReport(InferWith(batch, recompute), device_, report_);
    return report.totals.expected.value_or(report.totals.bound).value();
  }

  // The largest batch that fits; 0 where none does.
  std::int64_t LargestBatch(const std::string& recompute) const {
    if (!Fits(1, recompute)) return 0;
    std::int64_t fits = 1, fails = 2;
    while (Fits(fails, recompute)) {
      fits = fails;
      if (fits >= kLargestBatch) {
        throw Error("--batch max: a batch of {} still fits; memory does not follow the batch",
                    fits);
      }
      fails *= 2;
    }
    while (fails - fits > 1) {
      const std::int64_t middle = fits + (fails - fits) / 2;
      (Fits(middle, recompute) ? fits : fails) = middle;
    }
    return fits;
  }

  std::size_t Modules() const {
    return RepeatedModules(InferWith(options_.batch.value_or(1), "none").model->graph).size();
  }

  // The fewest first modules whose recomputation makes the step fit; 0 where none do.
  std::size_t FewestModules(std::optional<std::int64_t> batch, std::size_t all) const {
    if (all == 0 || !Fits(batch, Scopes(all))) return 0;
    std::size_t fails = 0, fits = all;
    while (fits - fails > 1) {
      const std::size_t middle = fails + (fits - fails) / 2;
      (Fits(batch, Scopes(middle)) ? fits : fails) = middle;
    }
    return fits;
  }

  static std::string Scopes(std::size_t modules) { return fmt::format("scopes:{}", modules); }

 private:
  ModelOptions options_;
  const Device& device_;
  ReportOptions report_;
  Model model_;
};

// Each in the way that takes least time of those that fit.
std::string CheapestRecompute(const Fitter& fitter, std::optional<std::int64_t> batch,
                              std::vector<std::string>& notes) {
  const Bytes without = fitter.Needed(batch, "none");
  if (without <= fitter.memory()) {
    notes.push_back("--fit: the step fits without recomputation");
    return "none";
  }
  std::vector<std::string> candidates = {"selective:pointwise", "full"};
  const std::size_t modules = fitter.Modules();
  if (const std::size_t few = fitter.FewestModules(batch, modules); few > 0) {
    candidates.push_back(Fitter::Scopes(few));
  }
  std::string best;
  double least = 0;
  Bytes smallest = without;
  for (const std::string& candidate : candidates) {
    const Bytes needed = fitter.Needed(batch, candidate);
    smallest = std::min(smallest, needed);
    if (needed > fitter.memory()) continue;
    const double time = fitter.Time(batch, candidate);
    if (!best.empty() && time >= least) continue;
    best = candidate;
    least = time;
  }
  if (best.empty()) {
    throw Error("--fit: the step needs {} of the device's {}, and {} with recomputation",
                ReadableBytes(without), ReadableBytes(fitter.memory()), ReadableBytes(smallest));
  }
  notes.push_back(
      fmt::format("--fit: recompute {} is the cheapest that fits; without it the step "
                  "needs {} of {}",
                  best, ReadableBytes(without), ReadableBytes(fitter.memory())));
  return best;
}

}  // namespace

std::vector<std::string> ResolveFit(ModelOptions& model, const std::optional<Device>& device,
                                    const ReportOptions& report) {
  std::vector<std::string> notes;
  if (!model.fit && !model.batch_max) return notes;
  const char* option = model.fit ? "--fit" : "--batch max";
  if (!device) throw Error("{} needs a device: add --gpu", option);
  if (!device->memory.size) throw Error("{}: the memory of {} is not known", option, device->id);
  if (model.fit && model.train.empty()) throw Error("--fit needs --train");
  if (model.fit && model.recompute != "none") {
    throw Error("--fit finds what to recompute; leave out --recompute {}",
                Printable(model.recompute));
  }
  Fitter fitter(model, *device, report);
  if (model.batch_max) {
    fitter.RequireOpenBatch();
    std::vector<std::string> candidates = {model.recompute};
    if (model.fit) candidates.insert(candidates.end(), {"selective:pointwise", "full"});
    if (model.fit && fitter.Modules() > 0) candidates.emplace_back("scopes");
    std::int64_t largest = 0;
    std::string with = candidates.front();
    for (const std::string& candidate : candidates) {
      const std::int64_t batch = fitter.LargestBatch(candidate);
      if (batch <= largest) continue;
      largest = batch;
      with = candidate;
    }
    if (largest == 0) {
      throw Error("--batch max: a batch of 1 needs {} of the device's {}{}",
                  ReadableBytes(fitter.Needed(1, with)), ReadableBytes(fitter.memory()),
                  model.train.empty() || model.fit ? "" : "; see --recompute and --fit");
    }
    model.batch = largest;
    notes.push_back(fmt::format("--batch max: {} fits with {} of {}, {} would need {}", largest,
                                ReadableBytes(fitter.Needed(largest, with)),
                                ReadableBytes(fitter.memory()), largest + 1,
                                ReadableBytes(fitter.Needed(largest + 1, with))));
  }
  if (model.fit) model.recompute = CheapestRecompute(fitter, model.batch, notes);
  model.fit = model.batch_max = false;
  return notes;
}

}  // namespace dlcost
