#pragma once

#include "estimator/report/fields/certainty.h"
#include "estimator/report/fields/kernel.h"
#include "estimator/report/fields/options.h"
#include "estimator/report/fields/sums.h"

// Every field of a report's JSON, in the order in which it is written (fields/vocabulary.h). What a
// field means: docs/schema/fields.txt.

namespace dlcost {

void Fields(auto& v, fields::IsA<ModelFacts> auto& model) {
  v.Field("path", model.path);
  v.Field("name", model.name);
  v.Later("producer", model.producer);
  v.Field("ir_version", model.ir_version);
  v.Field("opset", fields::Map(model.opset));
  v.Field("nodes", model.nodes);
  v.Field("parameters", model.parameters);
  v.Field("weight_bytes", model.weight_bytes);
  v.Field("dims", fields::Map(model.dims));
  v.Later("inputs", model.inputs);
  v.Later("outputs", model.outputs);
}

void Fields(auto& v, fields::IsA<DeviceFacts::RoofFact> auto& roof) {
  v.Field("name", roof.name);
  v.Field("flop_per_s", roof.peak);
  v.Field("ridge", roof.ridge);
}

void Fields(auto& v, fields::IsA<DeviceFacts> auto& device) {
  v.Field("id", device.id);
  v.Field("name", device.name);
  v.Later("roofs", device.roofs);
  v.Later("bytes_per_s", device.bandwidth);
  v.Later("memory_bytes", device.memory);
  v.Later("timing_basis", device.basis);
}

void Fields(auto& v, fields::IsA<JobFacts> auto& job) {
  v.Field("system", job.system);
  v.Field("plan", job.plan);
  v.Field("devices", job.devices);
  v.Field("step_s", job.step);
  v.Field("exposed_communication_s", job.exposed);
  v.Field("sent_bytes", job.sent);
  v.Field("memory_bytes", job.memory);
}

// Linear and quadratic terms of a transformer.
void Fields(auto& v, fields::IsA<AttentionShare> auto& share) {
  v.Field("phase", share.phase);
  v.Field("q_len", share.q_len);
  v.Field("kv_len", share.kv_len);
  v.Field("macs", share.scores);
  v.Field("other_macs", share.products);
  v.Field("crossover_kv_len", fields::Told{[&] { return share.Crossover(); }});
}

void Fields(auto& v, fields::IsA<NodeRow> auto& node) {
  v.Field("name", node.name);
  v.Field("op", node.op);
  v.Field("domain", node.domain);
  v.Field("status", node.status);
  v.If(v.training(), "phase", node.phase);
  v.Field("scope", node.scope);
  v.Field("kernel", node.kernel);
  v.Field("inputs", node.inputs);
  v.Field("outputs", node.outputs);
  fields::Counts(v, node.sums);
  fields::WorkOf(v, node.sums);
  fields::Traffic(v, node.sums);
  fields::Attributes attributes(node.attributes);
  v.If(!node.attributes.empty(), "attributes", fields::Map(attributes));
  v.If(node.valid_macs != Macs(), "valid_macs", node.valid_macs);
  v.If(node.parameters != Count(), "parameters", node.parameters);
  v.If(node.parameters != Count(), "weight_bytes", node.weight_bytes);
  v.If(node.repeat != Count(1), "repeat", node.repeat);
  v.If(node.upper_bound, "upper_bound", node.upper_bound);
  v.If(node.assumed, "assumed", node.assumed);
  v.If(!node.note.empty(), "note", node.note);
  fields::Times(v, node.sums);
  fields::Keep(node.sums.nodes, 1);
}

void Fields(auto& v, fields::IsA<UnknownRow> auto& row) {
  v.Field("node", row.node);
  v.Field("op", row.op);
  v.Field("domain", row.domain);
  v.Field("why", row.why);
}

void Fields(auto& v, fields::IsA<Merge> auto& merge) {
  v.Field("nodes", merge.nodes);
  v.Field("operand", merge.operand);
  v.Field("batch", merge.batch);
  v.Field("m", merge.m);
  v.Field("n", merge.n);
  v.Field("k", merge.k);
  v.Field("apart_s", merge.apart);
  v.Field("merged_s", merge.merged);
}

void Fields(auto& v, fields::IsA<StepFacts::NoGradient> auto& product) {
  v.Field("node", product.node);
  v.Field("macs", product.macs);
}

void Fields(auto& v, fields::IsA<StepFacts> auto& step) {
  v.Field("optimizer", step.optimizer);
  v.Field("loss", step.loss);
  v.Later("precision", step.precision);
  v.Later("recompute", step.recompute);
  v.Later("micro_batches", step.micro_batches);
  v.Later("clips", step.clips);
  v.Field("trained_parameters", step.trained);
  v.Field("trained_bytes", step.trained_bytes);
  v.Field("gradient_bytes", step.gradient_bytes);
  v.Field("state_bytes", step.state_bytes);
  v.Later("master_bytes", step.master_bytes);
  v.Field("saved_bytes", step.saved_bytes);
}

namespace fields {

// An operator, a module or a phase; `key` is what names it.
void Group(auto& v, IsA<GroupRow> auto& group, std::string_view key) {
  v.Field(key, group.name);
  v.Field("nodes", group.sums.nodes);
  Counts(v, group.sums);
  BothWays(v, group.sums);
  v.Later("kernel_flops", group.kernel_flops, group.sums.flops);
  v.Field("intensity", Told{group.intensity()});
  Times(v, group.sums);
  DoubtWord(v, group.doubt);
}
auto Groups(auto& groups, std::string_view key) {
  return List(groups, [key](auto& v, auto& group) { Group(v, group, key); });
}

void Totals(auto& v, auto& report) {
  Counts(v, report.totals);
  WorkOf(v, report.totals);
  Traffic(v, report.totals);
  v.Field("bytes", Told{report.totals.bytes()});
  v.Field("intensity", Told{report.totals.intensity()});
  Times(v, report.totals);
  v.If(report.totals.expected.has_value(), "expected_range_s",
       Range(report.expected_low, report.expected_high));
  v.Field("peak_activation_bytes", report.peak_activation_bytes);
  v.Later("needed_bytes", Told{report.needed()});
  v.If(v.timed(), "fits", Told{report.fits()});
}

// Its phases, what lasts from one to the next, and why backward is not twice forward.
void Step(auto& v, auto& report) {
  WithShared(report.step, [&](auto& step) {
    Fields(v, step);
    v.Field("backward_over_forward", Told{[&] { return report.BackwardRatio(); }});
    v.Field("without_data_gradient", step.without_data_gradient);
  });
  v.Field("phases", Groups(report.by_phase, "phase"));
}

}  // namespace fields

void Fields(auto& v, fields::IsA<Report> auto& report) {
  using fields::List;
  using fields::Object;
  v.Field("schema", fields::Told{kReportSchema});
  v.Field("model", report.model);
  v.Field("device", report.device);
  v.Field("options", report.options);
  v.Later("certainty",
          Object{[&](auto& in) { fields::OfTotals(in, report.certainty, report.totals); }});
  v.Field("totals", Object{[&](auto& in) { fields::Totals(in, report); }});
  v.IfKnown("job", report.job);
  v.Field("coverage", Object{[&](auto& in) { fields::Coverage(in, report.coverage); }});
  v.Field("by_op", fields::Groups(report.by_op, "op"));
  v.Later("by_scope", fields::Groups(report.by_scope, "scope"));
  v.If(report.step != nullptr, "step", Object{[&](auto& in) { fields::Step(in, report); }});
  v.IfKnown("attention", report.attention);
  v.Field("kernels",
          List(
              report.kernels, [&](auto& in, auto& kernel) { fields::Kernel(in, kernel, report); },
              [](const KernelRow& kernel) { return kernel.launches != Count(0); }));
  v.Field("nodes", report.nodes);
  v.Field("unknown", report.unknown);
  v.If(v.timed(), "merges", report.merges);
  v.Later("notes", report.notes);
}

}  // namespace dlcost
