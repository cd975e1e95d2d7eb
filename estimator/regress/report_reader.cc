#include "estimator/regress/report_reader.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "estimator/regress/field_reader.h"
#include "estimator/regress/regroup.h"
#include "estimator/report/fields/report.h"

namespace dlcost {
namespace {

using Json = FieldReader::Json;

void CheckSchema(const Json& json) {
  const std::string schema = json.is_object() ? json.value("schema", "") : "";
  if (schema == kReportSchema) return;
  constexpr std::string_view kFamily = "dlcost.report/";
  if (schema.starts_with(kFamily)) {
    throw Error(
        "schema {} is not the one this dlcost reads ({}): use the dlcost that wrote it, "
        "or write it anew",
        Printable(schema), kReportSchema);
  }
  throw Error("not a dlcost report (no \"schema\": \"{}\"); write one with --format json",
              kReportSchema);
}

FieldReader::Nodes NodesOf(const Json& report) {
  FieldReader::Nodes nodes;
  if (!report.contains("nodes")) return nodes;
  std::size_t index = 0;
  for (const Json& node : report["nodes"]) {
    const Json name = node.is_object() ? node.value("name", Json()) : Json();
    if (name.is_string()) nodes[name.get<std::string>()] = index;
    ++index;
  }
  return nodes;
}

// The main node of a kernel is one of its own; before it was written, it was the first one of its
// operator.
void CheckMain(KernelRow& kernel, bool written, const FieldReader::Nodes& nodes,
               const Report& report) {
  bool found = false;
  for (const std::string& name : kernel.nodes) {
    const auto at = nodes.find(name);
    if (at == nodes.end())
      throw Error("kernel {} has a node that is not there", Printable(kernel.id));
    if (found || (written ? at->second != kernel.main : report.nodes[at->second].op != kernel.op)) {
      continue;
    }
    kernel.main = at->second;
    found = true;
  }
  if (!found) throw Error("kernel {} has no main node", Printable(kernel.id));
}

Report ReportOf(const Json& json) {
  CheckSchema(json);
  const FieldReader::Nodes nodes = NodesOf(json);
  Report report;
  std::set<std::string> untold;
  FieldReader reader(json, nodes, &untold);
  Fields(reader, report);
  report.untold.assign(untold.begin(), untold.end());
  report.totals.nodes = report.model.nodes;
  for (std::size_t k = 0; k < report.kernels.size(); ++k) {
    CheckMain(report.kernels[k], json["kernels"][k].contains("main"), nodes, report);
  }
  Regroup(report, nodes);
  if (!json.contains("certainty")) AddCertainty(report);
  return report;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("{}: {}", Printable(path), std::strerror(errno));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) throw Error("{}: cannot be read", Printable(path));
  return text;
}

}  // namespace

Report ReadReportFromText(std::string_view text, const std::string& path) {
  try {
    return ReportOf(Json::parse(text));
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1": the text behind the bracket.
    std::string what = error.what();
    what.erase(0, what.find(']') == std::string::npos ? 0 : what.find(']') + 2);
    throw Error("{}: not a readable dlcost report: {}", Printable(path), Printable(what));
  } catch (const Error& error) {
    throw error.At(Printable(path));
  }
}

Report ReadReport(const std::string& path) { return ReadReportFromText(Contents(path), path); }

bool IsJsonFile(const std::string& path) {
  if (path == "-") return false;  // a model on standard input, which is read once
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("{}: {}", Printable(path), std::strerror(errno));
  char c = 0;
  while (file.get(c)) {
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') break;
  }
  return c == '{';
}

}  // namespace dlcost
