#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlcost/device.h"
#include "dlcost/model.h"
#include "dlcost/options.h"
#include "dlcost/system.h"

namespace dlcost::api {

// A model laid out on the devices of a system (docs/job.md); a forward pass without
// Options::optimizer.
struct ParallelRequest {
  Bindings bindings;  // without a batch: micro_batch and global_batch say it
  Options options;
  std::optional<Device> device;  // none: the system's
  // "dp=4,tp=2,sp=1,cp=2,ep=2,pp=2,zero=1,chunks=2"; "auto": all plans of `devices`, the best
  // first; "annotated": as the file says.
  std::string plan = "auto";
  std::int64_t micro_batch = 1;  // items that pass a stage at a time
  std::int64_t global_batch =
      0;  // of a step on all devices; 0: a micro-batch per replica and stage
  std::string schedule = "1f1b";  // gpipe, 1f1b or zb-h1
  int devices = 0;                // for auto; 0: a node's
  // Standard deviation of the devices' speeds, as a share: a step is that of the slowest. None: as
  // measured on many (docs/job.md).
  std::optional<double> spread;
  double expert_load = 1;  // tokens of the busiest device's experts over the mean
  // Exchanges that run beside computation: "tp,cp,ep,dp" of split operators, the sequence, experts,
  // replicas.
  std::string overlap;
  // Of replicas without a pipeline, as in ScaleRequest.
  std::optional<std::int64_t> bucket_bytes;
  bool overlaps_gradients = true;
  std::string gradients;
  std::string sums;         // type that gradients of micro-batches add up in; "": float32
  bool fuses_sums = false;  // products add their gradients up themselves
};

struct ParallelPlan {
  std::string plan;  // "dp=4,pp=2,zero=1"
  int devices = 1;
  std::int64_t micro_batch = 1, micro_batches = 1, global_batch = 1;
  std::string schedule;  // "" without a pipeline
  double step_s = 0;
  double items_per_s = 0;
  double bubble = 0;                   // share of the pipeline's time in which devices wait
  double exposed_communication_s = 0;  // between replicas, that nothing hides
  double split_communication_s = 0;    // of split operators
  std::int64_t sent_bytes = 0;         // by a device in a step
  std::int64_t memory_bytes = 0;       // of the device that needs the most
  std::optional<bool> fits;            // into the device's memory, where that is known
};

class ParallelPlans {
 public:
  std::vector<ParallelPlan> plans() const;  // the fastest first
  std::string left_out() const;             // what was not tried, and why; "": nothing
  std::vector<std::string> notes() const;
  // `top`: plans to show; 0: all.
  std::string Text(std::size_t top = 10) const;
  std::string Json(std::size_t top = 0) const;  // schema dlcost.parallel/1

  struct State;
  explicit ParallelPlans(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Throws Error for a plan that does not fit itself, the system or the model.
ParallelPlans Parallelize(const Model& model, const System& system,
                          const ParallelRequest& request = {});

// How items come to the devices of a node; what is absent is the system's, or not looked at.
struct InputPipeline {
  std::optional<double> item_bytes;    // on the device; none: the input is not looked at
  std::optional<double> stored_bytes;  // in storage, where that differs
  std::optional<double> storage_bytes_per_s, host_link_bytes_per_s;  // of a node; to one device
  std::optional<double> decode_items_per_s, augment_items_per_s;     // of one core
  int cores = 0;                                                     // of the host; 0: the system's
  int prefetch = 2;  // batches that are prepared ahead; 0: training and input take turns
};

// A training (Options::optimizer) on several numbers of devices.
struct ScaleRequest {
  std::vector<std::int64_t> devices;  // how many: {1, 2, 4, 8}
  Bindings bindings;                  // the batch is that of one device
  Options options;
  std::optional<Device> device;  // none: the system's
  bool strong = false;           // the batch is that of all devices together
  int zero = 0;  // shared out: 1 states of the optimizer, 2 gradients too, 3 parameters too
  std::optional<std::int64_t> bucket_bytes;  // gradients that are sent together; none: 25 MiB
  bool overlap = true;                       // send them while the backward pass goes on
  std::string gradients;                     // type to send them in; "": as they are stored
  std::optional<double> spread;              // as for ParallelRequest
  InputPipeline input;
  std::optional<double> samples;         // to train on in all: how long it takes
  std::optional<double> price_per_hour;  // of a device
};

struct ScalePoint {
  int devices = 1;
  std::int64_t batch_per_device = 1;
  double step_s = 0;
  double items_per_s = 0;
  double efficiency = 1;  // items/s per device, over those of one device alone
  double compute_s = 0, communication_s = 0, exposed_communication_s = 0;
  double waits_for_input_s = 0;
  std::int64_t sent_bytes = 0;    // by a device in a step
  std::int64_t memory_bytes = 0;  // of a device
  std::optional<bool> fits;
  std::optional<double> hours, price;  // of ScaleRequest::samples
};

class Scaling {
 public:
  std::vector<ScalePoint> points() const;
  std::optional<int> pays_up_to() const;  // devices, up to which more of them pay
  std::vector<std::string> notes() const;
  std::string Text() const;
  std::string Json() const;      // schema dlcost.scale/1
  std::string Perfetto() const;  // the step on the last number of devices over time

  struct State;
  explicit Scaling(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

Scaling Scale(const Model& model, const System& system, const ScaleRequest& request);

}  // namespace dlcost::api
