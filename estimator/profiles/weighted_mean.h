#pragma once

#include <optional>

namespace dlcost {

// The mean of what launches have each: by time where every launch with a value tells its time (long
// kernels count for what they are), else by launch.
class WeightedMean {
 public:
  // Of `launches` that have this value each; `time` is of all of them, in seconds.
  void Add(double value, double launches, const std::optional<double>& time) {
    by_launch_ += value * launches;
    launches_ += launches;
    if (time) {
      by_time_ += value * *time;
      time_ += *time;
    } else {
      timed_ = false;
    }
  }
  void Add(const WeightedMean& other) {
    by_time_ += other.by_time_;
    time_ += other.time_;
    by_launch_ += other.by_launch_;
    launches_ += other.launches_;
    timed_ = timed_ && other.timed_;
  }
  std::optional<double> Value() const {
    if (timed_ && time_ > 0) return by_time_ / time_;
    if (launches_ > 0) return by_launch_ / launches_;
    return std::nullopt;
  }

 private:
  double by_time_ = 0, time_ = 0, by_launch_ = 0, launches_ = 0;
  bool timed_ = true;
};

}  // namespace dlcost
