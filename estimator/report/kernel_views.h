#pragma once

#include <string>

#include "estimator/report/report.h"

namespace dlcost {

// Every kernel that is a matrix product: batch, m, n, k; with a device its tiles, blocks, waves
// over the device's units and the share of multiply-accumulates that only pad. "" when there is
// none.
std::string RenderGemmView(const Report& report, std::size_t max_width = 0);

// What every product, convolution, attention and recurrent layer executes, term by term, next to
// the algorithmic count, and what profilers' counters would show. Needs a device. `node` limits it
// to kernels with a node of that name; an Error with the nearest spelling when there is none.
std::string RenderWorkView(const Report& report, const std::string& node = "");

// "128x64x8", "128x64x8 split 6": rows, columns and step, and the blocks that share k.
std::string TileText(const TileGrid& grid);

// The kernel as a product, where it is one.
std::optional<GemmNest> ProductOf(const KernelRow& kernel);

}  // namespace dlcost
