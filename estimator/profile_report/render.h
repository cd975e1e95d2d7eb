#pragma once

#include <string>
#include <vector>

#include "estimator/profile_report/profile_report.h"
#include "estimator/report/json_writer.h"
#include "estimator/report/plot.h"

namespace dlcost {

struct ProfileTextOptions {
  std::size_t top = 20;   // rows of each table; 0: all
  std::size_t width = 0;  // columns of the terminal; 0: any number
  PlotOptions plot;
};

std::string RenderProfileText(const ProfileReport& report, const ProfileReportOptions& options,
                              const ProfileTextOptions& text);
std::string RenderProfileMarkdown(const ProfileReport& report, const ProfileReportOptions& options,
                                  std::size_t top);
// Several, one below the other.
std::string RenderProfilesText(const std::vector<ProfileReport>& reports,
                               const ProfileReportOptions& options, const ProfileTextOptions& text);
std::string RenderProfilesMarkdown(const std::vector<ProfileReport>& reports,
                                   const ProfileReportOptions& options, std::size_t top);
// All reports in one document each.
void WriteProfileJson(const std::vector<ProfileReport>& reports,
                      const ProfileReportOptions& options, const TextSink& sink);
std::string RenderProfileCsv(const std::vector<ProfileReport>& reports);
// Without a `title`: the first file's name.
std::string RenderProfileHtml(const std::vector<ProfileReport>& reports,
                              const ProfileReportOptions& options, std::string title = "");

}  // namespace dlcost
