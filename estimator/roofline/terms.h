#pragma once

#include <string>
#include <vector>

#include "estimator/roofline/expected.h"
#include "estimator/roofline/timing_device.h"

namespace dlcost {

// Writes the terms of an expected time, depth first.
class TermWriter {
 public:
  explicit TermWriter(std::vector<TimeTerm>& terms, int level = 0) : terms_(terms), level_(level) {}

  // A time of the current level.
  TermWriter& Time(std::string what, double seconds, std::string reason = "");
  // Nothing where it is zero.
  TermWriter& TimeIfAny(std::string what, double seconds, std::string reason = "");
  // A time that the terms written to the result make up.
  TermWriter Sum(std::string what, double seconds, std::string reason = "");
  TermWriter Longest(std::string what, double seconds);
  TermWriter Norm(std::string what, double seconds, double exponent);
  TermWriter Times(std::string what, double seconds, double times, std::string reason = "");
  // Facts beside the times of the current level.
  TermWriter& Fact(std::string what, double value, std::string unit, std::string reason = "");
  TermWriter& Text(std::string what, std::string text, std::string reason = "");

  int level() const { return level_; }
  // For facts about the time that was written last.
  TermWriter Below() const { return TermWriter(terms_, level_ + 1); }

 private:
  TermWriter Combined(TimeTerm term);

  std::vector<TimeTerm>& terms_;
  int level_;
};

}  // namespace dlcost
