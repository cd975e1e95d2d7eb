#include <fmt/format.h>

#include "estimator/profile_report/render.h"
#include "estimator/profile_report/tables.h"
#include "estimator/report/csv_field.h"

namespace dlcost {
namespace {

void AddRow(std::string& out, const ProfileReport& report, std::string_view table,
            const ProfileGroup& group) {
  out += fmt::format("{},{},{}", CsvField(report.path), table, CsvField(group.name()));
  for (const ProfileLabel& label : KernelLabels()) out += "," + CsvField(label.of(group));
  out += fmt::format(",{},{}", GridText(group.grid), GridText(group.block));
  std::string at_least;  // fields that are lower bounds
  for (const ProfileField& field : ProfileFields(false)) {
    out += ',';
    if (report.sampled && field.key == "launches") continue;
    const ProfileCell cell = field.of(group);
    if (cell.value) out += fmt::format("{}", *cell.value);
    if (cell.value && !cell.whole)
      at_least += (at_least.empty() ? "" : " ") + std::string(field.key);
  }
  const auto limiter = group.Limiter();
  out += fmt::format(",{},{}\n", limiter ? Name(*limiter) : "", at_least);
}

}  // namespace

std::string RenderProfileCsv(const std::vector<ProfileReport>& reports) {
  std::string out = "file,table,name";
  for (const ProfileLabel& label : KernelLabels()) out += fmt::format(",{}", label.key);
  out += ",grid,block";
  for (const ProfileField& field : ProfileFields(false)) out += fmt::format(",{}", field.key);
  out += ",limited_by,at_least\n";
  for (const ProfileReport& report : reports) {
    for (const ProfileGroup& kernel : report.kernels) AddRow(out, report, "kernels", kernel);
    for (const ProfileTable& table : TablesOf(report)) {
      for (const ProfileGroup& group : *table.groups) AddRow(out, report, table.key, group);
    }
  }
  return out;
}

}  // namespace dlcost
