#include "estimator/report/operator_list.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/report/derivative_list.h"
#include "estimator/report/table.h"
#include "models/operators/case.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

std::string DomainName(std::string_view domain) {
  return domain.empty() ? "ai.onnx" : std::string(domain);
}

// Operators by domain, the standard one first, each sorted by name.
std::vector<std::pair<std::string, std::vector<const OpDef*>>> ByDomain() {
  std::map<std::string, std::vector<const OpDef*>> domains;
  for (const std::span<const OpDef> family : OperatorFamilies()) {
    for (const OpDef& def : family) domains[std::string(def.domain)].push_back(&def);
  }
  std::vector<std::pair<std::string, std::vector<const OpDef*>>> result;
  for (auto& [domain, defs] : domains) {
    std::sort(defs.begin(), defs.end(),
              [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
    result.emplace_back(DomainName(domain), std::move(defs));
  }
  return result;
}

std::string VersionsText(const OpDef& def) {
  std::string text = fmt::format("{}", fmt::join(def.since.begin(), def.since.end(), ", "));
  if (def.removed_in != 0) text += fmt::format(", gone in {}", def.removed_in);
  return text;
}

std::string WorkText(const Work& work) {
  std::vector<std::string> parts;
  for (const Work::Entry& entry : work.entries()) {
    for (int c = 0; c < kOpClassCount; ++c) {
      const Count count = entry.counts[static_cast<std::size_t>(c)];
      if (count == Count(0)) continue;
      parts.push_back(
          fmt::format("{} {} ({})", Name(static_cast<OpClass>(c)), count, Name(entry.dtype)));
    }
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string ExampleText(const OpDef& def, const OpCase& example) {
  const CaseResult result = RunCase(def, example);
  std::string text = fmt::format("\n{}", example.what);
  if (example.opset != 0) text += fmt::format(" (opset {})", example.opset);
  text += '\n';
  const auto line = [&text](std::string_view label, std::string_view value) {
    if (!value.empty()) text += fmt::format("  {:<12}{}\n", label, value);
  };
  line("attributes", example.attributes);
  line("inputs", example.inputs);
  line("outputs", OutputsText(result.outputs, true));
  line("status", Name(result.cost.status));
  line("work", WorkText(result.cost.work));
  line("MACs", std::to_string(result.cost.work.macs().value()));
  line("FLOPs", std::to_string(CountFlops(result.cost.work, Conventions().front()).value()));
  line("read", fmt::format("{} B", result.cost.BytesRead().value()));
  line("written", fmt::format("{} B", result.cost.BytesWritten().value()));
  line("note", result.cost.note);
  return text;
}

Error NoSuchDomain(const std::string& domain, const std::vector<std::string>& names) {
  return Error("no operators of domain '{}'{}; there are: {}", Printable(domain),
               DidYouMean(domain, names), fmt::join(names, ", "));
}

// '|' separates cells.
std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

}  // namespace

std::string OperatorListText(const std::string& domain, std::size_t max_width) {
  std::string text;
  std::vector<std::string> names;
  for (const auto& [name, defs] : ByDomain()) {
    names.push_back(name);
    if (!domain.empty() && domain != name) continue;
    if (!text.empty()) text += '\n';
    text += fmt::format("{}: {} operators\n\n", name, defs.size());
    Table table({"operator", "versions", "formula"}, {true, true, true});
    for (const OpDef* def : defs) {
      table.Add({std::string(def->name), VersionsText(*def), std::string(def->formula)});
    }
    table.MayStandBelow("formula");
    text += table.Fit(max_width, "-o FILE or a pipe has them");
  }
  if (text.empty()) throw NoSuchDomain(domain, names);
  return text;
}

std::vector<OperatorFacts> OperatorList(const std::string& domain) {
  std::vector<OperatorFacts> operators;
  std::vector<std::string> names;
  for (const auto& [name, defs] : ByDomain()) {
    names.push_back(name);
    if (!domain.empty() && domain != name) continue;
    for (const OpDef* def : defs) {
      operators.push_back({.name = std::string(def->name),
                           .domain = name,
                           .versions = {def->since.begin(), def->since.end()},
                           .removed_in = def->removed_in,
                           .formula = std::string(def->formula),
                           .derivative = std::string(DerivativeOf(*def))});
    }
  }
  if (operators.empty()) throw NoSuchDomain(domain, names);
  return operators;
}

std::string OperatorText(const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string wanted = colon == std::string::npos ? name : name.substr(colon + 1);
  std::string text;
  std::vector<std::string> names;
  for (const auto& [domain, defs] : ByDomain()) {
    for (const OpDef* def : defs) {
      names.emplace_back(def->name);
      if (def->name != wanted) continue;
      if (colon != std::string::npos && domain != name.substr(0, colon)) continue;
      if (!text.empty()) text += '\n';
      text += fmt::format("{} ({}), versions {}\n  {}\n", def->name, domain, VersionsText(*def),
                          def->formula);
      for (const OpCase& example : def->cases) text += ExampleText(*def, example);
    }
  }
  if (text.empty()) {
    throw Error("no operator '{}'{}; dlcost ops lists them", Printable(name),
                DidYouMean(wanted, names));
  }
  return text;
}

std::string OperatorsMarkdown() {
  std::string text =
      "# Operators\n\n"
      "Written by `dlcost ops --format markdown -o docs/operators.md` from the tables in\n"
      "`models/operators/`; a test keeps it so. `dlcost ops NAME` shows every worked example of "
      "an\n"
      "operator with its work by class. FLOPs are those of the default convention: a MAC is 2,\n"
      "other arithmetic and comparisons 1, exp, log and trig counted apart, integers none.\n";
  for (const auto& [domain, defs] : ByDomain()) {
    text += fmt::format("\n## {}\n\n{} operators.\n\n", domain, defs.size());
    text += "| operator | versions | formula | example | MACs | FLOPs | read, B | written, B |\n";
    text += "|---|---|---|---|---:|---:|---:|---:|\n";
    for (const OpDef* def : defs) {
      text += fmt::format("| {} | {} | {} |", def->name, VersionsText(*def), Cell(def->formula));
      if (def->cases.empty()) {
        text += " the nodes inside | | | | |\n";
        continue;
      }
      const OpCase& example = def->cases.front();
      const std::string inputs(example.inputs);
      text += fmt::format(" {}`{}` to `{}` | {} | {} | {} | {} |\n",
                          example.attributes.empty() ? "" : "`" + Cell(example.attributes) + "` ",
                          inputs.empty() ? "nothing" : inputs, example.outputs, example.macs,
                          example.flops, example.bytes_read, example.bytes_written);
    }
  }
  return text;
}

}  // namespace dlcost
