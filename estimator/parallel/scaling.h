#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "estimator/parallel/data_parallel.h"

namespace dlcost {

// A training on some number of devices.
struct ScalePoint {
  int devices = 1;
  std::int64_t batch = 1;  // of a device
  ParallelStep step;
  Seconds input;          // what preparing the items of a step takes, where that is known
  Seconds waits;          // for input, that the step does not hide
  double efficiency = 1;  // items/s per device, over those of one device with all it trains alone

  Seconds Time() const { return step.time + waits; }
  double Throughput() const {
    return static_cast<double>(batch) * devices / Time().value();
  }  // items/s
};

// What is asked for beside the step.
struct ScaleQuestion {
  std::optional<double> samples;  // to train on
  std::optional<double> price;    // of a device, per hour
  std::optional<Bytes> memory;    // of a device
};

struct Scaling {
  std::string model, system, device;
  bool strong = false;  // the batch of all devices is the same
  DataParallelPlan plan;
  ScaleQuestion question;
  std::vector<ScalePoint> points;
  std::vector<std::string> notes;
  std::string bound_by;           // the slowest stage of the input, where there is one
  std::optional<int> pays_up_to;  // PaysUpTo
};

// Fills in efficiencies: against `alone`, the step of one device (weak: with the same batch;
// strong: with the batch of all).
void SetEfficiencies(Scaling& scaling, const ScalePoint& alone);

// The most devices up to which scaling pays: from one point to the next, an added device brings at
// least half of what the first one does. None where the first step does not pay.
std::optional<int> PaysUpTo(const Scaling& scaling, const ScalePoint& alone);

// Of training on all samples, and its price; none where they are not asked for.
std::optional<double> HoursOf(const Scaling& scaling, const ScalePoint& point);
std::optional<double> PriceOf(const Scaling& scaling, const ScalePoint& point);

std::string ScalingText(const Scaling& scaling, std::size_t max_width = 0);
std::string ScalingJson(const Scaling& scaling);
// The step on the last number of devices over time, as Chrome's trace events: for Perfetto.
std::string StepTrace(const Scaling& scaling);

}  // namespace dlcost
