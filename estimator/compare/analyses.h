#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/compare/join.h"

namespace dlcost {

struct CompareRow;

// A sum over parts, of which some may not tell theirs: then it is a lower bound.
struct PartSum {
  std::optional<double> value;
  bool whole = true;

  void Add(const std::optional<double>& part);
};

// A joined run seen by one key: by layer (the rows of the comparison), by type of operator, by name
// of kernel or by algorithm. Everything is of one run of the model.
struct SliceRow {
  std::string key;     // "maxwell_scudnn_winograd_128x128_tile148n_nt"; "Winograd F(2x2, 3x3)"
  std::string family;  // "convolution"; of a layer its operator's type; "" where the key says it
  std::size_t operators = 0;  // rows of the comparison that it has a part in
  double launches = 0;
  PartSum flops;  // on all pipes; a lower bound where the matrix pipe worked uncounted
  PartSum bytes;  // of device memory
  PartSum time;   // seconds
  // Seconds at the levels above, where other files or calls on the host tell them (LevelRow).
  std::optional<double> layer_time, library_time;
  std::optional<double> share;      // of the time of all joined rows
  std::optional<double> occupancy;  // mean, by time
  // Of layers and types of operators. What they hold if nothing is reused: weights, what their
  // kernels write, workspace of the algorithm. `allocated` is what the profiler saw.
  std::optional<Bytes> memory;
  std::optional<double> allocated;

  // FLOP/s, byte/s, FLOP/byte of what was counted; nothing where a part of either is missing.
  std::optional<double> flop_rate() const;
  std::optional<double> byte_rate() const;
  std::optional<double> intensity() const;
};

// The four views. Kernels without an operator are in none of them.
struct Analyses {
  // Largest time first, then FLOPs, launches; layers in the order of the rows.
  std::vector<SliceRow> by_layer, by_op, by_kernel;
  // The algorithm that kernels' names tell; of those that tell none, what they do.
  std::vector<SliceRow> by_algorithm;
};
Analyses AnalysesOf(const std::vector<CompareRow>& rows);

// A view for renderings: "layer" and "by_layer", "Layers", head of its keys.
struct SliceView {
  std::string_view name, key, title;
  const std::vector<SliceRow>* rows;
};
std::vector<SliceView> ViewsOf(const Analyses& analyses);

}  // namespace dlcost
