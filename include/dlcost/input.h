#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlcost/parallel.h"
#include "dlcost/system.h"

namespace dlcost::api {

// Which stage bounds a training on a node: storage, decoding, copies or the devices (docs/job.md).
struct InputRequest {
  InputPipeline input;           // `item_bytes` is needed, `prefetch` not looked at
  std::optional<System> system;  // whose values hold where `input` leaves them open
  int devices = 1;               // that train
  // What one device does: either items/s, or FLOP/s with the FLOP to train on one item. None: not
  // looked at.
  std::optional<double> compute_items_per_s, compute_flops_per_s, flops_per_item;
};

struct InputStage {
  std::string name;
  double items_per_s = 0;
  std::string how;  // the arithmetic: "10 GB/s / 150528 B"
};

class InputBounds {
 public:
  std::vector<InputStage> stages() const;
  std::string bound_by() const;  // the slowest of them
  double items_per_s() const;
  std::string Text() const;
  std::string Json() const;  // schema dlcost.input/1

  struct State;
  explicit InputBounds(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Throws Error without the size of an item, and where no stage is given.
InputBounds BoundInput(const InputRequest& request);

}  // namespace dlcost::api
