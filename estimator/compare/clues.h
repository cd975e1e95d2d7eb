#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "estimator/compare/belief.h"

namespace dlcost {

// What clues are drawn from, and where they go. Internal to this folder.
struct ClueSource {
  const Report& report;
  const Joined& joined;
  const std::optional<Device>& device;
  const std::vector<Slot>& slots;
  Belief& belief;

  void Add(double bits, std::string text) const { belief.clues.push_back({bits, std::move(text)}); }
};

// What was found and what was left over: names, products, holes between them, poolings and the
// like, shapes in names, time without an operator.
void AddFoundClues(const ClueSource& source);
// Kernels of recurrent cells, where the model has some or none.
void AddCellClues(const ClueSource& source);
// How much it was: FLOPs, bytes, times.
void AddAmountClues(const ClueSource& source);

// A line through points (x, y), constant beyond the first and the last.
double Along(double x, std::initializer_list<std::pair<double, double>> points);

}  // namespace dlcost
