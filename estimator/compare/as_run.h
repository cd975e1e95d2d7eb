#pragma once

#include <memory>

#include "estimator/hardware/device.h"
#include "estimator/profiles/kernel_name.h"
#include "estimator/report/report.h"
#include "models/algorithms/execution.h"

namespace dlcost {

// What the kernel executes with the algorithm, tile and pipe that the measured kernel's name tells,
// where these are not what was planned: the plan is what a library would probably choose, the name
// is what it did choose. The planned execution where the name tells nothing else, or tells an
// algorithm that cannot run this loop nest; null without a device and for kernels that only stream
// data.
std::shared_ptr<const Execution> ExecutionAsRun(const KernelRow& kernel, const KernelName& name,
                                                const Device& device);

}  // namespace dlcost
