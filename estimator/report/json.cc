#include <algorithm>

#include "estimator/report/certainty_json.h"
#include "estimator/report/execution_json.h"
#include "estimator/report/json_writer.h"
#include "estimator/report/render.h"

namespace dlcost {
namespace {

void WriteClasses(JsonWriter& json, const std::array<Count, kOpClassCount>& counts) {
  json.BeginObject();
  for (std::size_t c = 0; c < kOpClassCount; ++c) {
    if (counts[c] != Count(0)) json.Member(Name(static_cast<OpClass>(c)), counts[c]);
  }
  json.EndObject();
}

// Operations by class, and the same per data type for those who check by hand.
void WriteWork(JsonWriter& json, const Work& work) {
  std::array<Count, kOpClassCount> sums;
  for (const Work::Entry& entry : work.entries()) {
    for (std::size_t c = 0; c < kOpClassCount; ++c) sums[c] += entry.counts[c];
  }
  json.Key("work");
  WriteClasses(json, sums);
  json.Key("work_by_type").BeginObject();
  for (const Work::Entry& entry : work.entries()) {
    json.Key(Name(entry.dtype));
    WriteClasses(json, entry.counts);
  }
  json.EndObject();
}

void WriteTimes(JsonWriter& json, const Sums& sums, bool timed) {
  if (!timed) return;
  json.Member("compute_s", sums.compute);
  json.Member("memory_s", sums.memory);
  json.Member("bound_s", sums.bound);
  json.Member("expected_s", sums.expected);
}

void WriteDoubt(JsonWriter& json, const Doubt& doubt) {
  if (!doubt.Exact()) json.Member("certainty", Word(doubt));
}

void WriteOperands(JsonWriter& json, std::string_view name, const Operands& operands) {
  json.Key(name).BeginArray();
  for (const Operand& operand : operands) {
    json.BeginObject();
    json.Member("name", operand.name);
    json.Member("dtype", Name(operand.dtype));
    json.Key("shape");
    operand.shape ? json.Value(operand.shape->dims()) : json.Null();
    if (operand.weight) json.Member("weight", true);
    json.EndObject();
  }
  json.EndArray();
}

void WriteModel(JsonWriter& json, const ModelFacts& model) {
  json.BeginObject();
  json.Member("path", model.path);
  json.Member("name", model.name);
  json.Member("producer", model.producer);
  json.Member("ir_version", model.ir_version);
  json.Key("opset").BeginObject();
  for (const auto& [domain, version] : model.opset) json.Member(domain, std::int64_t{version});
  json.EndObject();
  json.Member("nodes", model.nodes);
  json.Member("parameters", model.parameters);
  json.Member("weight_bytes", model.weight_bytes);
  json.Key("dims").BeginObject();
  for (const auto& [name, size] : model.dims) json.Member(name, size);
  json.EndObject();
  WriteOperands(json, "inputs", model.inputs);
  WriteOperands(json, "outputs", model.outputs);
  json.EndObject();
}

void WriteDevice(JsonWriter& json, const std::optional<DeviceFacts>& device) {
  if (!device) return json.Null();
  json.BeginObject();
  json.Member("id", device->id);
  json.Member("name", device->name);
  json.Key("roofs").BeginArray();
  for (const auto& roof : device->roofs) {
    json.BeginObject();
    json.Member("name", roof.name);
    json.Member("flop_per_s", roof.peak);
    json.Member("ridge", roof.ridge);
    json.EndObject();
  }
  json.EndArray();
  json.Member("bytes_per_s", device->bandwidth);
  json.Member("memory_bytes", device->memory);
  json.Member("timing_basis", Name(device->basis));
  json.EndObject();
}

void WriteOptions(JsonWriter& json, const ReportOptions& options) {
  json.BeginObject();
  json.Member("convention", options.convention);
  json.Member("math", Name(options.run.math));
  json.Key("dtype");
  options.dtype.empty() ? json.Null() : json.Value(options.dtype);
  json.Member("runtime", options.runtime);
  json.Member("runtime_given", options.runtime_given);
  json.Member("fusion", Name(options.plan.fusion));
  json.Key("fuses").BeginArray();
  for (const FusionStep step : FusionSteps()) {
    if (options.plan.fuses.Has(step)) json.Value(Name(step));
  }
  json.EndArray();
  json.Member("attention", Name(options.plan.Form()));
  json.Member("conv", options.run.conv ? Name(*options.run.conv) : "auto");
  json.Member("cache", Name(options.run.cache));
  json.Member("launch", options.run.eager ? "eager" : "graph");
  json.Member("selection", Name(options.run.selection));
  json.Member("layout", options.run.converts ? "file" : "kernels");
  json.Member("clock", options.run.rested ? "rested" : "sustained");
  json.EndObject();
}

void WriteTotals(JsonWriter& json, const Report& report, bool timed) {
  const Sums& totals = report.totals;
  json.BeginObject();
  json.Member("macs", totals.macs);
  json.Member("flops", totals.flops);
  WriteWork(json, totals.work);
  json.Member("bytes_read", totals.bytes_read);
  json.Member("bytes_written", totals.bytes_written);
  json.Member("bytes", totals.bytes());
  json.Member("intensity", totals.intensity());
  WriteTimes(json, totals, timed);
  if (totals.expected) {
    json.Key("expected_range_s").BeginArray();
    json.Value(report.expected_low);
    json.Value(report.expected_high);
    json.EndArray();
  }
  json.Member("peak_activation_bytes", report.peak_activation_bytes);
  json.Member("needed_bytes", report.needed());
  if (timed) json.Member("fits", report.fits());
  json.EndObject();
}

void WriteJob(JsonWriter& json, const JobFacts& job) {
  json.Key("job").BeginObject();
  json.Member("system", job.system);
  json.Member("plan", job.plan);
  json.Member("devices", job.devices);
  json.Member("step_s", job.step);
  json.Member("exposed_communication_s", job.exposed);
  json.Member("sent_bytes", job.sent);
  json.Member("memory_bytes", job.memory);
  json.EndObject();
}

void WriteCoverage(JsonWriter& json, const std::map<NodeStatus, std::int64_t>& coverage) {
  json.BeginObject();
  for (const NodeStatus status : {NodeStatus::kCounted, NodeStatus::kView, NodeStatus::kMetadata,
                                  NodeStatus::kBounded, NodeStatus::kUnknown}) {
    const auto found = coverage.find(status);
    json.Member(Name(status), found == coverage.end() ? std::int64_t{0} : found->second);
  }
  json.EndObject();
}

void WriteGroups(JsonWriter& json, const std::vector<GroupRow>& groups, const char* key,
                 bool timed) {
  json.BeginArray();
  for (const GroupRow& group : groups) {
    json.BeginObject();
    json.Member(key, group.name);
    json.Member("nodes", group.sums.nodes);
    json.Member("macs", group.sums.macs);
    json.Member("flops", group.sums.flops);
    json.Member("bytes", group.sums.bytes());
    json.Member("kernel_flops", group.kernel_flops);
    json.Member("intensity", group.intensity());
    WriteTimes(json, group.sums, timed);
    WriteDoubt(json, group.doubt);
    json.EndObject();
  }
  json.EndArray();
}

// Linear and quadratic terms of a transformer.
void WriteAttention(JsonWriter& json, const AttentionShare& share) {
  json.BeginObject();
  json.Member("phase", Name(share.phase));
  json.Member("q_len", share.q_len);
  json.Member("kv_len", share.kv_len);
  json.Member("macs", share.scores);
  json.Member("other_macs", share.products);
  json.Member("crossover_kv_len", share.Crossover());
  json.EndObject();
}

// A training step: its phases, what lasts from one to the next, and why backward is not twice
// forward.
void WriteStep(JsonWriter& json, const Report& report, bool timed) {
  const StepFacts& step = *report.step;
  json.BeginObject();
  json.Member("optimizer", step.optimizer);
  json.Member("loss", step.loss);
  json.Member("precision", step.precision);
  json.Member("recompute", step.recompute);
  json.Member("micro_batches", step.micro_batches);
  json.Member("clips", step.clips);
  json.Member("trained_parameters", step.trained);
  json.Member("trained_bytes", step.trained_bytes);
  json.Member("gradient_bytes", step.gradient_bytes);
  json.Member("state_bytes", step.state_bytes);
  json.Member("master_bytes", step.master_bytes);
  json.Member("saved_bytes", step.saved_bytes);
  json.Member("backward_over_forward", report.BackwardRatio());
  json.Key("without_data_gradient").BeginArray();
  for (const StepFacts::NoGradient& product : step.without_data_gradient) {
    json.BeginObject();
    json.Member("node", product.node);
    json.Member("macs", product.macs);
    json.EndObject();
  }
  json.EndArray();
  json.Key("phases");
  WriteGroups(json, report.by_phase, "phase", timed);
  json.EndObject();
}

void WriteKernel(JsonWriter& json, const KernelRow& kernel, const std::string& main, bool timed,
                 Count units) {
  json.BeginObject();
  json.Member("id", kernel.id);
  json.Member("op", kernel.op);
  json.Member("main", main);
  json.Member("nodes", kernel.nodes);
  json.Member("algorithm", kernel.algorithm);
  json.Member("launches", kernel.launches);
  json.Member("macs", kernel.sums.macs);
  json.Member("flops", kernel.sums.flops);
  json.Member("executed_flops", kernel.executed);
  json.Member("least_flops", kernel.least);
  json.Member("bytes", kernel.sums.bytes());
  json.Member("executed_bytes", kernel.executed_bytes());
  json.Member("intensity", kernel.sums.intensity());
  json.Member("limiter", kernel.limiter);
  if (!kernel.waits_for.empty()) json.Member("limited_by", kernel.waits_for);
  if (kernel.repeat > Count(1)) json.Member("repeat", kernel.repeat);
  WriteTimes(json, kernel.sums, timed);
  if (kernel.expected_low && kernel.expected_high) {
    json.Key("expected_range_s").BeginArray();
    json.Value(*kernel.expected_low);
    json.Value(*kernel.expected_high);
    json.EndArray();
  }
  WriteExecution(json, kernel, units);
  WriteDoubt(json, kernel.doubt);
  json.EndObject();
}

// An attribute that a file has twice is told once, as it was last.
void WriteAttributes(JsonWriter& json,
                     const std::vector<std::pair<std::string, std::string>>& attributes) {
  const auto same = [](const std::string& name) {
    return [&name](const auto& attribute) { return attribute.first == name; };
  };
  json.BeginObject();
  for (auto at = attributes.begin(); at != attributes.end(); ++at) {
    if (std::find_if(attributes.begin(), at, same(at->first)) != at) continue;
    const auto last = std::find_if(attributes.rbegin(), attributes.rend(), same(at->first));
    json.Member(at->first, last->second);
  }
  json.EndObject();
}

void WriteNode(JsonWriter& json, const NodeRow& node, bool timed, bool step) {
  json.BeginObject();
  json.Member("name", node.name);
  json.Member("op", node.op);
  json.Member("domain", node.domain);
  json.Member("status", Name(node.status));
  if (step) json.Member("phase", Name(node.phase));
  json.Member("scope", node.scope);
  json.Member("kernel", node.kernel);
  WriteOperands(json, "inputs", node.inputs);
  WriteOperands(json, "outputs", node.outputs);
  json.Member("macs", node.sums.macs);
  json.Member("flops", node.sums.flops);
  WriteWork(json, node.sums.work);
  json.Member("bytes_read", node.sums.bytes_read);
  json.Member("bytes_written", node.sums.bytes_written);
  if (!node.attributes.empty()) {
    json.Key("attributes");
    WriteAttributes(json, node.attributes);
  }
  if (node.valid_macs != Macs()) json.Member("valid_macs", node.valid_macs);
  if (node.parameters != Count()) {
    json.Member("parameters", node.parameters);
    json.Member("weight_bytes", node.weight_bytes);
  }
  if (node.repeat != Count(1)) json.Member("repeat", node.repeat);
  if (node.upper_bound) json.Member("upper_bound", true);
  if (node.assumed) json.Member("assumed", true);
  if (!node.note.empty()) json.Member("note", node.note);
  WriteTimes(json, node.sums, timed);
  json.EndObject();
}

void WriteMerges(JsonWriter& json, const std::vector<Merge>& merges) {
  json.Key("merges").BeginArray();
  for (const Merge& merge : merges) {
    json.BeginObject();
    json.Member("nodes", merge.nodes);
    json.Member("operand", merge.operand);
    json.Member("batch", merge.batch);
    json.Member("m", merge.m);
    json.Member("n", merge.n);
    json.Member("k", merge.k);
    json.Member("apart_s", merge.apart);
    json.Member("merged_s", merge.merged);
    json.EndObject();
  }
  json.EndArray();
}

void WriteUnknown(JsonWriter& json, const std::vector<UnknownRow>& rows) {
  json.BeginArray();
  for (const UnknownRow& row : rows) {
    json.BeginObject();
    json.Member("node", row.node);
    json.Member("op", row.op);
    json.Member("domain", row.domain);
    json.Member("why", row.why);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

void WriteJson(const Report& report, const TextSink& sink) {
  const bool timed = report.device.has_value();
  JsonWriter json(sink);
  json.BeginObject();
  json.Member("schema", kReportSchema);
  json.Key("model");
  WriteModel(json, report.model);
  json.Key("device");
  WriteDevice(json, report.device);
  json.Key("options");
  WriteOptions(json, report.options);
  json.Key("certainty");
  WriteCertainty(json, report.certainty, report.totals, timed);
  json.Key("totals");
  WriteTotals(json, report, timed);
  if (report.job) WriteJob(json, *report.job);
  json.Key("coverage");
  WriteCoverage(json, report.coverage);
  json.Key("by_op");
  WriteGroups(json, report.by_op, "op", timed);
  json.Key("by_scope");
  WriteGroups(json, report.by_scope, "scope", timed);
  if (report.step != nullptr) {
    json.Key("step");
    WriteStep(json, report, timed);
  }
  if (report.attention) {
    json.Key("attention");
    WriteAttention(json, *report.attention);
  }
  const Count units = report.device ? report.device->units : Count(1);
  json.Key("kernels").BeginArray();
  for (const KernelRow& kernel : report.kernels) {
    if (kernel.launches == Count(0)) continue;
    WriteKernel(json, kernel, report.nodes[kernel.main].name, timed, units);
  }
  json.EndArray();
  json.Key("nodes").BeginArray();
  for (const NodeRow& node : report.nodes) WriteNode(json, node, timed, report.step != nullptr);
  json.EndArray();
  json.Key("unknown");
  WriteUnknown(json, report.unknown);
  if (report.device) WriteMerges(json, report.merges);
  json.Member("notes", report.notes);
  json.EndObject();
  json.Finish();
}

std::string RenderJson(const Report& report) {
  std::string text;
  WriteJson(report, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace dlcost
