#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimator/profile_report/activity.h"
#include "estimator/profile_report/group.h"

namespace dlcost {

inline constexpr std::string_view kMeasuredSchema = "dlcost.measured/1";

// Launches that take less time than a launch costs: a device that runs nothing else waits for its
// host.
struct LaunchTail {
  Seconds threshold;
  std::string threshold_from;  // "a framework's call on NVIDIA A100"
  std::int64_t launches = 0, of_launches = 0;
  Seconds time, of_time;
};

// What the rows of one counter became.
struct CounterUse {
  std::string metric;                // "flops_f32"
  std::vector<std::string> sources;  // the raw counters' names, each once
};

// What a profile tells alone, without a model.
struct ProfileReport {
  std::string path, format;
  bool sampled = false;  // rows are sums over threads, not launches
  std::int64_t runs = 0;
  // Rows of the file, or launches folded; counted by kind.
  ProfileGroup kernels_total, copies_total, calls_total, ops_total;
  // A dot of the roofline each: launches of equal name, operator, grid, block and FLOPs. The most
  // time first, as in all tables; by FLOPs where no times were taken.
  std::vector<ProfileGroup> kernels;
  std::vector<ProfileGroup> by_name, by_family, by_op_type, by_op, by_module;
  std::vector<ProfileGroup> copies, calls;
  std::vector<DeviceActivity> activity;
  std::optional<LaunchTail> tail;
  std::vector<CounterUse> counters;
  std::vector<std::string> unknown_counters;
  std::vector<std::string> notes;
};

// Kernels are the rows that ran on a device; where a file has none, its operators.
ProfileReport BuildProfileReport(const Measurement& measurement,
                                 const ProfileReportOptions& options);

}  // namespace dlcost
