#pragma once

#include <map>
#include <memory>
#include <string>

#include "estimator/sweep/region.h"

namespace dlcost {

// Counts points, each once.
class Sampler {
 public:
  explicit Sampler(CountAt count) : count_(std::move(count)) {}

  // Throws what the model says at this point.
  const CountTally& Require(const Point& point);
  // Null where the model is of another structure there, or takes no such sizes.
  const CountTally* Like(const Point& point, std::size_t structure);
  // Whether `holds(point, tally)` for every point of this structure that was counted.
  template <typename Holds>
  bool All(std::size_t structure, Holds holds) const {
    for (const auto& [point, sample] : samples_) {
      if (sample.error.empty() && sample.tally.structure == structure &&
          !holds(point, sample.tally)) {
        return false;
      }
    }
    return true;
  }
  // Why the model does not take the point; "" where it does.
  std::string WhyNot(const Point& point);
  // Forgets all points but this one.
  void Trim(const Point& but);
  std::int64_t counted() const { return counted_; }

 private:
  struct Sample {
    CountTally tally;
    std::string error;
  };
  const Sample& At(const Point& point);

  CountAt count_;
  std::map<Point, Sample> samples_;
  std::int64_t counted_ = 0;
};

}  // namespace dlcost
