#pragma once

#include <string>

#include "estimator/core/units.h"

namespace dlcost {

// Numbers for people: four significant digits with a decimal prefix. "4.089 G", "512", "97.53 M".
std::string Readable(double value);
// "204.8 MB" (10^6 bytes), "512 B".
std::string ReadableBytes(Bytes bytes);
// "12.34 us", "1.500 ms", "-" for zero.
std::string ReadableTime(Seconds time);
// "312 TFLOP/s", "2.039 TB/s".
std::string ReadableRate(double per_second, const std::string& unit);
// "41.3", "0.25", "-" where none.
std::string ReadableRatio(double ratio);
std::string Percent(double fraction);

}  // namespace dlcost
