#include "estimator/regress/render_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/core/error.h"
#include "estimator/core/xml.h"
#include "estimator/regress/wording.h"
#include "estimator/report/wrap.h"

namespace dlcost {
namespace {

std::int64_t CountOf(const std::vector<CheckItem>& items, bool passed) {
  return std::count_if(items.begin(), items.end(),
                       [&](const CheckItem& item) { return item.passed == passed; });
}

// GitHub ends a message at a line break and a property at ':' and ','.
std::string Workflow(const std::string& text, bool property) {
  std::string escaped;
  for (const char c : text) {
    if (c == '%' || c == '\n' || c == '\r' || (property && (c == ':' || c == ','))) {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string Lines(const std::vector<std::string>& lines, const std::string& indent) {
  std::string text;
  for (const std::string& line : lines) text += indent + line + "\n";
  return text;
}

}  // namespace

bool AllPassed(const std::vector<CheckRun>& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const CheckRun& run) { return run.Passed(); });
}

std::string RenderCheckText(const std::vector<CheckRun>& runs, std::size_t max_width) {
  std::string text;
  for (const CheckRun& run : runs) {
    text += fmt::format(
        "{}: {}\n", run.title,
        run.Passed() ? "passed"
                     : fmt::format("{} of {} failed", CountOf(run.items, false), run.items.size()));
    const auto line = [&](const std::string& content, std::size_t indent) {
      text += Wrap(content, max_width, indent) + "\n";
    };
    for (const std::string& note : run.notes) line("  note  " + note, 8);
    for (const bool passed : {false, true}) {
      for (const CheckItem& item : run.items) {
        if (item.passed != passed) continue;
        line(fmt::format("  {}  {}: {}", passed ? "ok  " : "FAIL", item.name, item.detail), 8);
        for (const std::string& offender : item.offenders) {
          line(std::string(10, ' ') + offender, 12);
        }
      }
    }
  }
  return text;
}

std::string RenderCheckMarkdown(const std::vector<CheckRun>& runs) {
  std::string text = fmt::format("### dlcost: {}\n", AllPassed(runs) ? "passed" : "failed");
  for (const CheckRun& run : runs) {
    const std::int64_t passed = CountOf(run.items, true), failed = CountOf(run.items, false);
    text += fmt::format("\n**{}**", run.title);
    if (failed > 0) text += fmt::format(": {} of {} failed", failed, run.items.size());
    text += "\n\n";
    for (const std::string& note : run.notes) text += fmt::format("> {}\n\n", note);
    const std::vector<std::string>* told = nullptr;
    for (const CheckItem& item : run.items) {
      if (item.passed) continue;
      text += fmt::format("- ❌ **{}**: {}\n", item.name, item.detail);
      // Several limits fail for the same reasons, which are told once.
      if (told != nullptr && *told == item.reasons) continue;
      told = &item.reasons;
      for (const std::string& offender : item.offenders)
        text += fmt::format("  - `{}`\n", offender);
    }
    if (passed == 0) continue;
    text += fmt::format("\n<details><summary>{} passed</summary>\n\n", passed);
    for (const CheckItem& item : run.items) {
      if (item.passed) text += fmt::format("- {}: {}\n", item.name, item.detail);
    }
    text += "\n</details>\n";
  }
  return text;
}

std::string RenderCheckJunit(const std::vector<CheckRun>& runs) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"dlcost\">\n";
  for (const CheckRun& run : runs) {
    text += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n",
                        EscapeXml(run.title), run.items.size(), CountOf(run.items, false));
    for (const CheckItem& item : run.items) {
      text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", EscapeXml(run.title),
                          EscapeXml(item.name));
      if (item.passed) {
        text += "/>\n";
        continue;
      }
      text += fmt::format(">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                          EscapeXml(item.detail), EscapeXml(Lines(item.offenders, "")));
    }
    if (!run.notes.empty()) {
      text += fmt::format("    <system-out>{}</system-out>\n", EscapeXml(Lines(run.notes, "")));
    }
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

std::string RenderCheckGithub(const std::vector<CheckRun>& runs) {
  std::string text;
  const auto command = [&](const char* level, const CheckRun& run, const std::string& title,
                           const std::string& message) {
    text += fmt::format("::{} file={},title={}::{}\n", level, Workflow(run.path, true),
                        Workflow(title, true), Workflow(message, false));
  };
  for (const CheckRun& run : runs) {
    for (const std::string& note : run.notes) command("warning", run, "dlcost", note);
    for (const CheckItem& item : run.items) {
      if (item.passed) continue;
      std::string message = item.offenders.empty() ? "" : Lines(item.offenders, "");
      message += fmt::format("{}: {} ({})", item.name, item.detail, run.title);
      command("error", run, "dlcost: " + item.name, message);
    }
  }
  return text;
}

std::string RenderCheckJson(const std::vector<CheckRun>& runs) {
  using Json = nlohmann::ordered_json;
  Json json = {{"schema", "dlcost.check/1"}, {"passed", AllPassed(runs)}, {"runs", Json::array()}};
  for (const CheckRun& run : runs) {
    Json items = Json::array();
    for (const CheckItem& item : run.items) {
      const auto number = [](const std::optional<double>& n) { return n ? Json(*n) : Json(); };
      items.push_back({{"name", item.name},
                       {"passed", item.passed},
                       {"value", number(item.value)},
                       {"baseline", number(item.baseline)},
                       {"allowed", number(item.allowed)},
                       {"detail", item.detail},
                       {"offenders", item.offenders}});
      if (!item.point.empty()) {
        items.back()["point"] = item.point;
        items.back()["broken"] = item.broken;
      }
    }
    json["runs"].push_back({{"title", run.title},
                            {"path", run.path},
                            {"passed", run.Passed()},
                            {"notes", run.notes},
                            {"items", items}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlcost
