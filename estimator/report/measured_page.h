#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estimator/hardware/device.h"

namespace dlcost {

// The page of what a profiler measured: lines, tables, and a roofline with a dot for each kernel or
// layer. page/profile.js draws it. Not for headers that others include.

inline constexpr std::size_t kMostDots = 5000;      // that a browser draws without a pause
inline constexpr std::size_t kMostPageRows = 1000;  // of a table

// What was measured of a kernel or layer, in seconds, FLOP, bytes and their rates. None: not known;
// nor is a sum that is a lower bound, which has no place on a roofline.
struct MeasuredDot {
  std::string label, op, scope, algorithm;
  std::string limiter = "unknown";
  std::optional<double> launches, time, flops, bytes, bound, flop_rate, byte_rate, occupancy;
};

struct MeasuredTable {
  std::string key, title;
  std::vector<std::string> head;
  std::vector<bool> left;  // columns that align to the left
  std::vector<std::vector<std::string>> rows;
  std::size_t left_out = 0;  // rows
};

struct MeasuredPage {
  std::string title;
  std::vector<std::pair<std::string, std::string>> lines;  // label, text
  std::vector<MeasuredDot> dots;
  std::vector<MeasuredTable> tables;
  const Device* device = nullptr;
  std::vector<std::string> roofs;  // that the dots are held against, "tensor fp16"
};
nlohmann::ordered_json MeasuredPageJson(const MeasuredPage& page);

}  // namespace dlcost
