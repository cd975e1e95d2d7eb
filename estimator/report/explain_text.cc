#include "estimator/core/error.h"
#include "estimator/report/explain.h"
#include "estimator/report/format.h"
#include "estimator/report/term_text.h"
#include "estimator/report/wrap.h"

namespace dlcost {
namespace {

// The reason stands beside the term where there is room for it, else below.
std::string WithReason(std::string line, const TimeTerm& term, std::size_t width) {
  if (term.reason.empty()) return line;
  constexpr std::size_t kLeast = 24, kGap = 2;  // columns that are worth a text beside it
  const std::size_t beside = line.size() + kGap;
  if (width == 0 || beside + term.reason.size() <= width || width >= beside + kLeast) {
    return Wrap(line + std::string(kGap, ' ') + term.reason, width, beside);
  }
  const std::size_t below = 6 + 2 * static_cast<std::size_t>(term.level);
  return line + "\n" + Wrap(std::string(below, ' ') + term.reason, width, below);
}

}  // namespace

std::string ExplanationText(const Explanation& explained, std::size_t width) {
  std::string out = fmt::format("{} on {}\n", Printable(explained.node), explained.device_name);
  const std::string nodes = explained.nodes.size() == 1
                                ? std::string()
                                : fmt::format(", {} nodes", explained.nodes.size());
  out += fmt::format("kernel {}: {}{}\n", explained.kernel, explained.algorithm, nodes);
  out += fmt::format("runtime {}\n\n", explained.runtime_text);
  std::size_t what = 0, value = 0;
  for (const TimeTerm& term : explained.terms) {
    what = std::max(what, term.what.size() + 2 * static_cast<std::size_t>(term.level));
    value = std::max(value, TermText(term).size());
  }
  for (const TimeTerm& term : explained.terms) {
    const std::string indent(2 * static_cast<std::size_t>(term.level), ' ');
    std::string line =
        fmt::format("  {:<{}}  {:>{}}", indent + term.what, what, TermText(term), value);
    out += WithReason(std::move(line), term, width) + "\n";
  }
  out += fmt::format("\n  four of five measurements lie between {} and {}\n",
                     ReadableTime(Seconds(explained.time.low)),
                     ReadableTime(Seconds(explained.time.high)));
  out += fmt::format("  limited by {}; ", explained.limited_by);
  if (explained.upper_bound) {
    out += fmt::format(
        "its counts are upper bounds: all of it would take {} ({}), and what runs "
        "may take less, so that it has no bound\n",
        ReadableTime(explained.bound), explained.bound_limited_by);
  } else {
    out += fmt::format("the bound is {} ({})\n", ReadableTime(explained.bound),
                       explained.bound_limited_by);
  }
  if (explained.assumed) out += "  its counts rest on an assumption: these times do, too\n";
  if (explained.constants_assumed) {
    out += "  no kernel of this machine was measured: its constants are assumed\n";
  } else if (!explained.constants_of.empty()) {
    out +=
        fmt::format("  no row of this architecture was measured: the constants are those of {}\n",
                    explained.constants_of);
  }
  for (const std::string& advice : explained.advice) out += "  - " + advice + "\n";
  return out;
}

}  // namespace dlcost
