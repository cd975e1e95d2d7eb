#pragma once

#include <memory>
#include <vector>

#include "estimator/sweep/sweep.h"

namespace dlcost {

// A sweep's model at any sizes. Safe to ask from several threads.
class SweepModel {
 public:
  explicit SweepModel(const Sweep& sweep);

  // A point for each setup and device, in this order, by inferring the model anew.
  std::vector<SweepPoint> At(const Point& sizes) const;

  // The points of one setup alone.
  std::vector<SweepPoint> At(const Point& sizes, std::size_t setup) const;
  // The inferred model itself. Throws Error where it does not take the sizes.
  InferredModel Infer(const Point& sizes, std::size_t setup) const;
  // Fills in items and tokens.
  void SetSizes(const InferredModel& model, SweepPoint& point) const;

 private:
  std::int64_t ItemsOf(const InferredModel& model, const Point& sizes) const;

  const Sweep& sweep_;
};

}  // namespace dlcost
