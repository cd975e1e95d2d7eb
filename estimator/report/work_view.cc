#include <fmt/format.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/report/format.h"
#include "estimator/report/kernel_views.h"
#include "estimator/report/runtime_text.h"
#include "estimator/report/table.h"
#include "models/algorithms/counters.h"

namespace dlcost {
namespace {

std::string CountOrDash(Count count) {
  return count == Count(0) ? "-" : std::to_string(count.value());
}

void AddTerm(Table& table, const std::string& stage, const Term& term) {
  const Instructions& i = term.instructions;
  table.Add({term.what, stage, std::string(Name(term.kind)),
             fmt::format("{} {}", Name(term.pipe), Name(term.type)), CountOrDash(i.fma),
             CountOrDash(i.add), CountOrDash(i.mul), CountOrDash(i.special),
             CountOrDash(i.flops().count())});
}

std::string Counters(const CounterReading& reading) {
  std::string text;
  const auto add = [&](const char* name, Count count) {
    if (count == Count(0)) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  };
  add("flop_count_sp", reading.flop_count_sp.count());
  add("flop_count_dp", reading.flop_count_dp.count());
  add("flop_count_hp", reading.flop_count_hp.count());
  add("fadd", reading.fadd);
  add("fmul", reading.fmul);
  add("ffma", reading.ffma);
  add("tensor FLOPs", reading.tensor_flops.count());
  return text.empty() ? "no floating-point instructions" : text;
}

std::string Section(const Report& report, const KernelRow& kernel) {
  const Execution& execution = *kernel.execution;
  std::string out =
      fmt::format("{}: {}\n", Printable(report.nodes[kernel.main].name), kernel.label);
  out += fmt::format("  {}, {} {}{}\n", execution.name, execution.Launches(),
                     execution.Launches() == Count(1) ? "launch" : "launches",
                     kernel.runner_up.empty() ? "" : "; runner-up " + kernel.runner_up);
  Table table({"  term", "stage", "kind", "pipe", "fma", "add", "mul", "special", "FLOPs"},
              {true, true, true, true});
  for (const Stage& stage : execution.stages) {
    for (const Term& term : stage.terms) {
      Term indented = term;
      indented.what = "  " + term.what;
      AddTerm(table, stage.name, indented);
    }
  }
  table.AddRule();
  Instructions sum = execution.On(Pipe::kVector);
  sum += execution.On(Pipe::kTensor);
  table.Add({"  executed", "", "", "", CountOrDash(sum.fma), CountOrDash(sum.add),
             CountOrDash(sum.mul), CountOrDash(sum.special), CountOrDash(sum.flops().count())});
  out += table.Render();
  const Count algorithmic = kernel.sums.macs.count() * Count(2);
  if (algorithmic > Count(0)) {
    out += fmt::format(
        "  {} FLOPs in multiply-accumulates by the mathematics: executed / algorithmic {:.6g}\n",
        algorithmic, execution.flops().AsDouble() / algorithmic.AsDouble());
  }
  out += fmt::format("  counters: {}\n", Counters(ReadCounters(execution)));
  const Bytes extra = execution.ExtraRead() + execution.ExtraWritten();
  if (extra > Bytes(0)) {
    out += fmt::format("  {} beside the operands, workspace {}\n", ReadableBytes(extra),
                       ReadableBytes(execution.workspace));
  }
  return out + "\n";
}

}  // namespace

std::string RenderWorkView(const Report& report, const std::string& node) {
  if (!report.device) throw Error("--view work shows what a device executes: add --gpu");
  std::string out;
  bool found = node.empty();
  for (const KernelRow& kernel : report.kernels) {
    const bool named = node.empty() || std::find(kernel.nodes.begin(), kernel.nodes.end(), node) !=
                                           kernel.nodes.end();
    found |= named;
    if (!named) continue;
    if (kernel.execution != nullptr) {
      out += Section(report, kernel);
    } else if (!node.empty()) {
      out += fmt::format("{}: {} streams data; what it executes is what it computes\n",
                         Printable(node), kernel.label);
    }
  }
  if (!found) {
    std::vector<std::string> names;
    for (const NodeRow& row : report.nodes) names.push_back(row.name);
    throw Error("no node '{}'{}", Printable(node), DidYouMean(node, names));
  }
  if (out.empty()) return "no kernel is a product, convolution, attention or recurrent layer\n";
  return fmt::format("runtime {}\n\n", RuntimeText(report.options)) + out;
}

}  // namespace dlcost
