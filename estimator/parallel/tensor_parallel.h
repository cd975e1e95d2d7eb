#pragma once

#include "estimator/infer/infer.h"
#include "estimator/onnx/device_configuration.h"

namespace dlcost {

// Operators split among devices.
struct TensorParallel {
  int devices = 1;        // tp
  bool sequence = false;  // sp: what is not split is divided along the sequence
  // Where a file says itself what is split; null: what divides the most work is.
  const DeviceConfiguration* annotations = nullptr;
  bool trains = false;  // results stay split, and gradients that are parts are added up
  // With `sequence`, mixtures of experts work on a device's part of it and keep whole experts:
  // those are shared out elsewhere, and so are the sums of their gradients.
  bool whole_experts = false;
};

// The model of one of the devices: weights, shapes, heads and groups are its part, and what devices
// exchange are nodes of dlcost.parallel. A product along a split axis leaves parts of sums, which
// are all-reduced; what goes whole into products that split it gets back the sum of all gradients
// (Shoeybi et al., Megatron-LM, 2019). With `sequence` the sums are scattered along the sequence
// instead, and gathered before the next product (Korthikanti et al., 2022). Throws Error where the
// model does not split so.
InferredModel InferRank(const InferredModel& model, const TensorParallel& plan,
                        const InferOptions& options);

}  // namespace dlcost
