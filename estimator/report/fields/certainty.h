#pragma once

#include "estimator/report/certainty.h"
#include "estimator/report/certainty_text.h"
#include "estimator/report/fields/vocabulary.h"

namespace dlcost {

void Fields(auto& v, fields::IsA<Doubt::Part> auto& part) {
  v.Field("nodes", part.nodes);
  v.Field("macs", part.macs);
  v.Field("flops", part.flops);
  v.Field("bytes", part.bytes);
  v.If(v.timed(), "bound_s", part.time);
  v.If(v.timed(), "expected_s", part.expected);
}

void Fields(auto& v, fields::IsA<OpenBranch::Cost> auto& cost) {
  v.Field("macs", cost.macs);
  v.Field("flops", cost.flops);
  v.Field("bytes", cost.bytes);
}

void Fields(auto& v, fields::IsA<OpenBranch> auto& branch) {
  v.Field("node", branch.node);
  v.Field("counted", fields::Either(branch.then_counted, "then", "else"));
  v.Field("cost", branch.counted);
  v.Field("other_cost", branch.other);
  v.If(!branch.other, "why", branch.why);
}

void Fields(auto& v, fields::IsA<Certainty::Cause> auto& cause) {
  v.Field("node", cause.node);
  v.Field("op", cause.op);
  v.Field("why", cause.why);
  v.Field("nodes", cause.nodes);
  v.Field("macs", cause.macs);
  v.Field("flops", cause.flops);
}

void Fields(auto& v, fields::IsA<Settled> auto& settled) {
  v.Field("option", settled.option);
  v.Field("subject", settled.subject);
  v.Field("answer", settled.answer);
  v.Field("assumed", settled.assumed);
}

namespace fields {

// The summary tells how much of the totals is certain.
void OfTotals(auto& v, fields::IsA<Certainty> auto& certainty, const Sums& totals) {
  v.Field("exact", Told{certainty.Exact()});
  v.Field("summary", Told{[&] {
            std::vector<std::string> sentences;
            for (const CertaintyLine& line : CertaintyLines(certainty, totals)) {
              sentences.push_back(line.label.empty() ? line.text : line.label + ": " + line.text);
            }
            return sentences;
          }});
  v.Field("at_most", certainty.doubt.at_most);
  v.Field("assumed", certainty.doubt.assumed);
  v.Field("unknown", certainty.doubt.unknown);
  v.Field("bounded", certainty.doubt.bounded);
  v.Field("causes", certainty.causes);
  v.Field("folded", Object{[&](auto& in) {
            in.Field("nodes", certainty.folded_nodes);
            in.Field("macs", certainty.folded_macs);
          }});
  v.Field("branches", certainty.branches);
  v.Field("settled", certainty.settled);
}

}  // namespace fields
}  // namespace dlcost
