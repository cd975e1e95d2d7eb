#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estimator/profile_report/profile_report.h"
#include "estimator/report/plot.h"

namespace dlcost {

// What every rendering shows: tables of groups, whose columns are fields of one list.

struct ProfileCell {
  std::optional<double> value;
  bool whole = true;  // false: a lower bound
};
struct ProfileField {
  std::string_view key;   // in JSON and CSV, where values are in base units
  std::string_view head;  // of a column in text
  enum Unit { kCount, kSeconds, kFlops, kBytes, kFlopRate, kByteRate, kRatio, kShare } unit;
  ProfileCell (*of)(const ProfileGroup& group);
};
// All of them; `sampled` profiles count no launches.
std::span<const ProfileField> ProfileFields(bool sampled);
// Those that any of the groups has.
std::vector<const ProfileField*> UsedFields(const std::vector<ProfileGroup>& groups, bool sampled);

// A text about a group.
struct ProfileLabel {
  std::string_view key, head;
  const std::string& (*of)(const ProfileGroup& group);
};

struct ProfileTable {
  std::string_view key;    // "by_name"
  std::string_view title;  // "Kernels by name"
  std::string_view head;   // of the names
  const std::vector<ProfileGroup>* groups;
  std::vector<ProfileLabel> labels;
  const ProfileGroup* total;  // whose time shares are of
};
// Those that are not empty. The dots of the roofline, `kernels`, are no table of people's.
std::vector<ProfileTable> TablesOf(const ProfileReport& report);
// The labels of a dot.
std::vector<ProfileLabel> KernelLabels();
// "64x1x1"; "" where not told.
std::string GridText(const std::optional<std::array<std::int64_t, 3>>& grid);

// A table for people: the columns that it has values for. At most `top` rows, 0 for all.
struct ProfileCells {
  std::vector<std::string> head;
  std::vector<bool> left;  // columns of texts
  std::vector<std::vector<std::string>> rows;
  std::size_t left_out = 0;  // rows
};
ProfileCells CellsOf(const ProfileTable& table, bool sampled, std::size_t top);

// "512 B", "4.089 GFLOP".
std::string WithUnit(double value, const char* unit);
// For people: "1.5 GFLOP/s", "-" where there is none, "≥ 3.2 G" for a lower bound.
std::string CellText(const ProfileCell& cell, ProfileField::Unit unit);
// "-" where there is none.
std::string ShareText(const ProfileGroup& group, const ProfileGroup& total);

// The groups that were summed: kernels, or operators in a file without any.
const ProfileGroup& MainTotal(const ProfileReport& report);

// Label and text of each line of the summary.
std::vector<std::pair<std::string, std::string>> SummaryLines(const ProfileReport& report,
                                                              const ProfileReportOptions& options);

// The roofs of the types that the file counted.
std::vector<DeviceFacts::RoofFact> RoofsOf(const ProfileReport& report,
                                           const ProfileReportOptions& options);
RooflineChart ChartOf(const ProfileReport& report, const ProfileReportOptions& options);

}  // namespace dlcost
