#include "estimator/report/certainty_json.h"

#include "estimator/report/certainty_text.h"

namespace dlcost {
namespace {

void WritePart(JsonWriter& json, const Doubt::Part& part, bool timed) {
  json.BeginObject();
  json.Member("nodes", part.nodes);
  json.Member("macs", part.macs);
  json.Member("flops", part.flops);
  json.Member("bytes", part.bytes);
  if (timed) {
    json.Member("bound_s", part.time);
    json.Member("expected_s", part.expected);
  }
  json.EndObject();
}

void WriteCost(JsonWriter& json, const OpenBranch::Cost& cost) {
  json.BeginObject();
  json.Member("macs", cost.macs);
  json.Member("flops", cost.flops);
  json.Member("bytes", cost.bytes);
  json.EndObject();
}

void WriteBranch(JsonWriter& json, const OpenBranch& branch) {
  json.BeginObject();
  json.Member("node", branch.node);
  json.Member("counted", branch.then_counted ? "then" : "else");
  json.Key("cost");
  WriteCost(json, branch.counted);
  json.Key("other_cost");
  if (branch.other) {
    WriteCost(json, *branch.other);
  } else {
    json.Null();
    json.Member("why", branch.why);
  }
  json.EndObject();
}

}  // namespace

void WriteCertainty(JsonWriter& json, const Certainty& certainty, const Sums& totals, bool timed) {
  json.BeginObject();
  json.Member("exact", certainty.Exact());
  json.Key("summary").BeginArray();
  for (const CertaintyLine& line : CertaintyLines(certainty, totals)) {
    json.Value(line.label.empty() ? line.text : line.label + ": " + line.text);
  }
  json.EndArray();
  const Doubt& doubt = certainty.doubt;
  json.Key("at_most");
  WritePart(json, doubt.at_most, timed);
  json.Key("assumed");
  WritePart(json, doubt.assumed, timed);
  json.Member("unknown", doubt.unknown);
  json.Member("bounded", doubt.bounded);
  json.Key("causes").BeginArray();
  for (const Certainty::Cause& cause : certainty.causes) {
    json.BeginObject();
    json.Member("node", cause.node);
    json.Member("op", cause.op);
    json.Member("why", cause.why);
    json.Member("nodes", cause.nodes);
    json.Member("macs", cause.macs);
    json.Member("flops", cause.flops);
    json.EndObject();
  }
  json.EndArray();
  json.Key("folded").BeginObject();
  json.Member("nodes", certainty.folded_nodes);
  json.Member("macs", certainty.folded_macs);
  json.EndObject();
  json.Key("branches").BeginArray();
  for (const OpenBranch& branch : certainty.branches) WriteBranch(json, branch);
  json.EndArray();
  json.Key("settled").BeginArray();
  for (const Settled& settled : certainty.settled) {
    json.BeginObject();
    json.Member("option", settled.option);
    json.Member("subject", settled.subject);
    json.Member("answer", settled.answer);
    json.Member("assumed", settled.assumed);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace dlcost
