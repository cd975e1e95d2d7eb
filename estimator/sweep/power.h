#pragma once

#include <optional>

#include "estimator/hardware/device.h"

namespace dlcost {

// What an idle board draws that holds a model, of its rated power. Assumed, and on the high side: a
// context was measured to add 26 to 66 W to a bare idle H100, A100 or L40S (arXiv:2605.23918),
// which is 0.07 to 0.19 of what they are rated for, to a bare idle state of about 0.1.
inline constexpr double kIdlePower = 0.3;

// W, over a run that takes `expected` of which kernels run for `busy`: the rated power while they
// run, which nothing but the hottest kernels draws, and kIdlePower of it while the board waits for
// launches. An estimate on the high side. nullopt where the rated power is not public.
std::optional<double> ExpectedWatts(const Device& device, Seconds expected, Seconds busy);

}  // namespace dlcost
