#pragma once

#include <optional>
#include <string_view>

#include "models/operators/op_cost.h"

namespace dlcost {

// Whether the shape that a row's name spells is that of the loop nest: oneDNN's problem of a
// convolution ("mb1_ic3oc64_ih224oh112kh7sh2dh0ph3_iw224ow112kw7sw2dw0pw3") or of a matrix product
// ("128x3584:3584x37888", "mb128ic9216oc4096"). Nothing where the name spells no shape or the nest
// is of another kind.
std::optional<bool> SpellsShapeOf(std::string_view name, const LoopNest& nest);

}  // namespace dlcost
