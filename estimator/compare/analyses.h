#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/compare/join.h"

namespace dlcost {

struct CompareRow;

// A joined run seen by another key than its operators: by kernel name, or by algorithm.
struct SliceRow {
  std::string key;     // "maxwell_scudnn_winograd_128x128_tile148n_nt"; "Winograd F(2x2, 3x3)"
  std::string family;  // "convolution"
  std::size_t operators = 0;  // rows of the comparison that it has a part in
  double launches = 0;        // per run
  std::optional<double> flops, bytes;
  std::optional<Seconds> time;

  // FLOP/byte as counted.
  std::optional<double> intensity() const;
};

// Largest time first, then FLOPs, launches. Kernels without an operator are not in it.
std::vector<SliceRow> ByKernel(const std::vector<CompareRow>& rows);
// The algorithm that kernels' names tell; those that tell none by what they do.
std::vector<SliceRow> ByAlgorithm(const std::vector<CompareRow>& rows);

}  // namespace dlcost
