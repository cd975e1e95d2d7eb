#include "estimator/report/certainty_text.h"

#include <fmt/format.h>

#include "estimator/core/error.h"
#include "estimator/report/format.h"

namespace dlcost {
namespace {

std::string Nodes(std::int64_t count) {
  return fmt::format("{} node{}", count, count == 1 ? "" : "s");
}

// "6.881 M of 7.086 M MACs (97.1%)"; "" when the total is 0.
std::string ShareText(double part, double whole, const char* unit) {
  if (whole == 0 || part == 0) return "";
  return fmt::format("{} of {} {} ({})", Readable(part), Readable(whole), unit,
                     Percent(part / whole));
}

// "6.881 M of 7.086 M MACs (97.1%), 14.2 M of 14.6 M FLOPs (97.0%), 3.1 MB of 4.2 MB"
std::string PartText(const Doubt::Part& part, const Sums& totals) {
  std::string text;
  const auto add = [&](const std::string& what) {
    if (!what.empty()) text += (text.empty() ? "" : ", ") + what;
  };
  add(ShareText(part.macs.AsDouble(), totals.macs.AsDouble(), "MACs"));
  if (part.macs == Macs()) add(ShareText(part.flops.AsDouble(), totals.flops.AsDouble(), "FLOPs"));
  if (part.bytes > Bytes()) {
    add(fmt::format("{} of {} traffic ({})", ReadableBytes(part.bytes),
                    ReadableBytes(totals.bytes()),
                    Percent(part.bytes.AsDouble() / totals.bytes().AsDouble())));
  }
  return text.empty() ? "no work and no traffic" : text;
}

std::string CostText(const OpenBranch::Cost& cost) {
  if (cost.macs > Macs()) return Readable(cost.macs.AsDouble()) + " MACs";
  if (cost.flops > Flops()) return Readable(cost.flops.AsDouble()) + " FLOPs";
  return ReadableBytes(cost.bytes);
}

std::string BranchText(const OpenBranch& branch) {
  const char* counted = branch.then_counted ? "then" : "else";
  const char* other = branch.then_counted ? "else" : "then";
  std::string text = fmt::format("{} is open: {} is counted ({})", Printable(branch.node), counted,
                                 CostText(branch.counted));
  if (!branch.other) return text + fmt::format("; {} cannot run: {}", other, branch.why);
  return text + fmt::format("; {} would be {}", other, CostText(*branch.other));
}

std::string SettledText(const Settled& settled) {
  std::string text = settled.option + " ";
  if (!settled.subject.empty()) text += Printable(settled.subject) + "=";
  return text + settled.answer;
}

class Lines {
 public:
  Lines(const Certainty& certainty, const Sums& totals, std::size_t most)
      : certainty_(certainty), totals_(totals), most_(most) {}

  std::vector<CertaintyLine> Run() {
    AtMost();
    Assumed();
    Branches();
    Folded();
    Unknown();
    Given();
    return std::move(lines_);
  }

 private:
  // A list under one label, cut.
  template <typename Items, typename Text>
  void List(const char* label, const Items& items, Text text_of) {
    std::size_t shown = 0;
    for (const auto& item : items) {
      if (most_ != 0 && shown == most_) {
        lines_.push_back(
            {"", fmt::format("... {} more; --format json lists all", items.size() - shown)});
        return;
      }
      lines_.push_back({shown == 0 ? label : "", text_of(item)});
      ++shown;
    }
  }

  void AtMost() {
    const Doubt::Part& part = certainty_.doubt.at_most;
    if (part == Doubt::Part()) return;
    lines_.push_back({"at most", fmt::format("{}, in {} whose size only the run knows",
                                             PartText(part, totals_), Nodes(part.nodes))});
    List("", certainty_.causes, [](const Certainty::Cause& cause) {
      const std::string why =
          cause.why.empty() ? "the size of its output is in the data" : cause.why;
      std::string work = cause.macs > Macs() ? Readable(cause.macs.AsDouble()) + " MACs"
                                             : Readable(cause.flops.AsDouble()) + " FLOPs";
      return fmt::format("from {} ({}): {} in {}; {}", Printable(cause.node), Printable(cause.op),
                         work, Nodes(cause.nodes), why);
    });
    if (part.time > Seconds()) {
      lines_.push_back({"", fmt::format("the bound is that of the rest: all of it would add {}",
                                        ReadableTime(part.time))});
    }
  }

  void Assumed() {
    const Doubt::Part& part = certainty_.doubt.assumed;
    if (part == Doubt::Part()) return;
    lines_.push_back({"assumed", fmt::format("{}, in {} that rest on an assumption",
                                             PartText(part, totals_), Nodes(part.nodes))});
    std::vector<Settled> assumed;
    for (const Settled& settled : certainty_.settled) {
      if (settled.assumed) assumed.push_back(settled);
    }
    List("", assumed, SettledText);
  }

  void Branches() { List("branch", certainty_.branches, BranchText); }

  void Folded() {
    if (certainty_.folded_macs == Macs()) return;
    lines_.push_back(
        {"folded",
         fmt::format("{} MACs in {} known before the run, in no total: runtimes that "
                     "fold constants skip them, others run them",
                     Readable(certainty_.folded_macs.AsDouble()), Nodes(certainty_.folded_nodes))});
  }

  void Unknown() {
    const Doubt& doubt = certainty_.doubt;
    std::string text;
    if (doubt.unknown > 0) text = fmt::format("{} in no total", Nodes(doubt.unknown));
    if (doubt.bounded > 0) {
      text += fmt::format("{}{} with bytes and without work", text.empty() ? "" : ", ",
                          Nodes(doubt.bounded));
    }
    if (!text.empty()) lines_.push_back({"unknown", text + ": totals are too low"});
  }

  void Given() {
    std::vector<Settled> given;
    for (const Settled& settled : certainty_.settled) {
      if (!settled.assumed) given.push_back(settled);
    }
    List("given", given, SettledText);
  }

  const Certainty& certainty_;
  const Sums& totals_;
  std::size_t most_;
  std::vector<CertaintyLine> lines_;
};

}  // namespace

std::vector<CertaintyLine> CertaintyLines(const Certainty& certainty, const Sums& totals,
                                          std::size_t most) {
  return Lines(certainty, totals, most).Run();
}

std::vector<std::string> CertaintyNotes(const Report& report) {
  std::vector<std::string> notes;
  if (report.certainty.Exact()) return notes;
  for (const CertaintyLine& line : CertaintyLines(report.certainty, report.totals)) {
    const bool doubtful =
        line.label == "at most" || line.label == "assumed" || line.label == "unknown";
    if (doubtful) notes.push_back(line.label + ": " + line.text);
  }
  return notes;
}

std::string Marked(Standing standing, const std::string& number) {
  const bool none = number == "-" || number == "0";
  if (none && standing == Standing::kAtLeast) return "?";
  return none ? number : std::string(Mark(standing)) + number;
}

}  // namespace dlcost
