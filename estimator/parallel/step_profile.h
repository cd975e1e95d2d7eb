#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/infer/infer.h"
#include "estimator/report/report.h"

namespace dlcost {

// A kernel of a training step as plans for many devices see it.
struct StepKernel {
  std::string name;
  Phase phase = Phase::kForward;
  Seconds time;     // expected
  Bytes gradients;  // of parameters, complete once it has run, as they are sent
  Bytes trained;    // the parameters of these gradients, as they are stored
  Bytes weights;    // that no kernel before it reads
  // Behind a forward kernel: results of kernels up to it that later forward kernels read.
  Bytes passed;
};

// A training step of one device: what runs in which order, and what memory it holds.
struct StepProfile {
  std::vector<StepKernel> kernels;  // in order
  std::int64_t items = 1;           // trained by the step: its batch
  Bytes weights;
  Bytes gradients;    // in memory
  Bytes states;       // of the optimizer
  Bytes activations;  // the most that is live beside those
  Bytes
      sent_gradients;  // what all-reduces send: `gradients` in another type where one is asked for

  std::int64_t unknown = 0;  // nodes whose work nobody knows: times are at least these

  // A line for people about `unknown`; "" where everything is known.
  std::string Note() const;
  Seconds Time(Phase phase) const;
  Seconds Time() const;
};

// Profile of a step (--train) from its report, which has rows of kernels and a device. `send_as`:
// the type that gradients are sent in; none: as they are stored. Throws Error for a model that does
// not train, and for one whose kernels have no expected time.
StepProfile ProfileOf(const InferredModel& step, const Report& report, std::int64_t items,
                      std::optional<DType> send_as = std::nullopt);

}  // namespace dlcost
