#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "estimator/request/count_options.h"

namespace dlcost {

// A model to report on, or a report that was written before, for the commands that take both.
struct Source {
  ModelOptions model;
  DeviceOptions device;
  CountOptions count;
  const Report* report = nullptr;                 // instead, where it was read already
  ReportDetail detail = ReportDetail::kOperands;  // of a model's report
  // Takes the given dimensions that this model does not have: they may be another's. Null: they are
  // an error.
  std::set<std::string>* foreign_dims = nullptr;
  // Keeps the model to the end of the process: to free a large one piece by piece takes a tenth of
  // the time that it takes to report on it.
  bool keeps_model = false;
};

// Whether the file is JSON that is no model: a report, where a command takes both. Throws Error
// when it cannot be read.
bool IsReportFile(const std::string& path);

// The same of a source.
bool IsReport(const Source& source);

// The report of `source`: read, when the file is a report in JSON; else the model's.
// What the options leave open is taken from `like`: device, conventions, and the sizes of
// dimensions that the model has. Throws Error when a report contradicts a given device option.
Report LoadReport(const Source& source, const Report* like = nullptr);

// Both reports, at the same time where neither needs the other: two models under options that are
// given. Where one is a report and `alike`, the model beside it is measured by the same. A given
// dimension may be of one of them alone.
std::pair<Report, Report> LoadReports(const Source& before, const Source& after, bool alike);

}  // namespace dlcost
