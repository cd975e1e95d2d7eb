#include "estimator/regress/report_reader.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"

namespace dlcost {
namespace {

using Json = nlohmann::json;

// A required member; nlohmann's exception for a missing one names it.
template <typename T>
T Get(const Json& json, const char* name) {
  return json.at(name).get<T>();
}

std::optional<double> Optional(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return found->get<double>();
}

NodeStatus StatusOf(const std::string& name) {
  for (const NodeStatus status : {NodeStatus::kCounted, NodeStatus::kView, NodeStatus::kMetadata,
                                  NodeStatus::kBounded, NodeStatus::kUnknown}) {
    if (Name(status) == name) return status;
  }
  throw Error("no node status '{}'", Printable(name));
}

Work WorkOf(const Json& by_type) {
  Work work;
  for (const auto& [type, counts] : by_type.items()) {
    const std::optional<DType> dtype = ParseDType(type);
    if (!dtype) throw Error("no data type '{}'", Printable(type));
    for (int c = 0; c < kOpClassCount; ++c) {
      const auto op_class = static_cast<OpClass>(c);
      const auto found = counts.find(std::string(Name(op_class)));
      if (found != counts.end()) work.Add(op_class, *dtype, found->get<std::int64_t>());
    }
  }
  return work;
}

// Work, traffic and times, as far as the row has them.
Sums SumsOf(const Json& json) {
  Sums sums;
  sums.macs = Macs(Get<std::int64_t>(json, "macs"));
  sums.flops = Flops(Get<std::int64_t>(json, "flops"));
  if (json.contains("work_by_type")) sums.work = WorkOf(json["work_by_type"]);
  if (json.contains("nodes") && json["nodes"].is_number()) {
    sums.nodes = Get<std::int64_t>(json, "nodes");
  }
  if (json.contains("bytes_read")) {
    sums.bytes_read = Bytes(Get<std::int64_t>(json, "bytes_read"));
    sums.bytes_written = Bytes(Get<std::int64_t>(json, "bytes_written"));
  } else {
    sums.bytes_read = Bytes(Get<std::int64_t>(json, "bytes"));  // only the sum is stored
  }
  sums.compute = Seconds(Optional(json, "compute_s").value_or(0));
  sums.memory = Seconds(Optional(json, "memory_s").value_or(0));
  sums.bound = Seconds(Optional(json, "bound_s").value_or(0));
  if (const auto expected = Optional(json, "expected_s")) sums.expected = Seconds(*expected);
  return sums;
}

Operands OperandsOf(const Json& json) {
  Operands operands;
  for (const Json& one : json) {
    Operand operand;
    operand.name = Get<std::string>(one, "name");
    operand.dtype = ParseDType(Get<std::string>(one, "dtype")).value_or(DType::kUndefined);
    if (!one.at("shape").is_null()) {
      operand.shape = Shape(Get<std::vector<std::int64_t>>(one, "shape"));
    }
    operand.weight = one.value("weight", false);
    operands.Add(std::move(operand));
  }
  return operands;
}

NodeRow NodeOf(const Json& json) {
  NodeRow row;
  row.name = Get<std::string>(json, "name");
  row.op = Get<std::string>(json, "op");
  row.domain = Get<std::string>(json, "domain");
  row.scope = Get<std::string>(json, "scope");
  row.kernel = Get<std::string>(json, "kernel");
  row.note = json.value("note", "");
  if (json.contains("attributes")) {
    for (const auto& [name, text] : json["attributes"].items()) {
      row.attributes.push_back({name, text.get<std::string>()});
    }
  }
  row.status = StatusOf(Get<std::string>(json, "status"));
  row.inputs = OperandsOf(json.at("inputs"));
  row.outputs = OperandsOf(json.at("outputs"));
  row.sums = SumsOf(json);
  row.sums.nodes = 1;
  row.valid_macs = Macs(json.value("valid_macs", std::int64_t{0}));
  row.parameters = Count(json.value("parameters", std::int64_t{0}));
  row.weight_bytes = Bytes(json.value("weight_bytes", std::int64_t{0}));
  row.repeat = Count(json.value("repeat", std::int64_t{1}));
  row.upper_bound = json.value("upper_bound", false);
  row.assumed = json.value("assumed", false);
  return row;
}

KernelRow KernelOf(const Json& json) {
  KernelRow row;
  row.id = Get<std::string>(json, "id");
  row.op = json.value("op", "");
  row.algorithm = Get<std::string>(json, "algorithm");
  row.limiter = Get<std::string>(json, "limiter");
  row.nodes = Get<std::vector<std::string>>(json, "nodes");
  row.sums = SumsOf(json);
  row.sums.nodes = static_cast<std::int64_t>(row.nodes.size());
  row.executed = Flops(Get<std::int64_t>(json, "executed_flops"));
  row.least = Flops(json.value("least_flops", row.sums.flops.value()));
  row.launches = Count(json.value("launches", std::int64_t{1}));
  return row;
}

// A kernel is as doubtful as its nodes.
Doubt DoubtOf(const KernelRow& row, const Report& report,
              const std::unordered_map<std::string_view, std::size_t>& index) {
  Doubt doubt;
  for (const std::string& name : row.nodes) {
    Doubt of_node = report.nodes[index.at(name)].doubt();
    for (Doubt::Part* part : {&of_node.at_most, &of_node.assumed}) {
      part->bytes = Bytes();
      part->time = part->expected = Seconds();
    }
    Accumulate(doubt, of_node);
  }
  for (Doubt::Part* part : {&doubt.at_most, &doubt.assumed}) {
    if (part->nodes == 0) continue;
    part->bytes = row.sums.bytes();
    part->time = row.sums.bound;
    part->expected = row.sums.expected.value_or(Seconds());
  }
  return doubt;
}

// A kernel's main node is written by name; before it was, it was the first one of its operator.
void AddKernels(const Json& json, Report& report) {
  std::unordered_map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < report.nodes.size(); ++i) index[report.nodes[i].name] = i;
  for (const Json& one : json) {
    KernelRow row = KernelOf(one);
    const std::string main = one.value("main", "");
    bool found = false;
    for (const std::string& name : row.nodes) {
      const auto at = index.find(name);
      if (at == index.end()) throw Error("kernel {} has a node that is not there", row.id);
      if (found || (main.empty() ? report.nodes[at->second].op != row.op : name != main)) continue;
      row.main = at->second;
      found = true;
    }
    if (!found) throw Error("kernel {} has no main node", Printable(row.id));
    row.doubt = DoubtOf(row, report, index);
    report.kernels.push_back(std::move(row));
  }
}

ModelFacts ModelOf(const Json& json) {
  ModelFacts model;
  model.path = Get<std::string>(json, "path");
  model.name = Get<std::string>(json, "name");
  model.producer = json.value("producer", "");
  model.ir_version = Get<std::int64_t>(json, "ir_version");
  model.opset = Get<std::map<std::string, int>>(json, "opset");
  model.nodes = Get<std::int64_t>(json, "nodes");
  model.parameters = Count(Get<std::int64_t>(json, "parameters"));
  model.weight_bytes = Bytes(Get<std::int64_t>(json, "weight_bytes"));
  model.dims = Get<std::map<std::string, std::int64_t>>(json, "dims");
  model.inputs = OperandsOf(json.at("inputs"));
  model.outputs = OperandsOf(json.at("outputs"));
  return model;
}

std::optional<DeviceFacts> DeviceOf(const Json& json) {
  if (json.is_null()) return std::nullopt;
  DeviceFacts device;
  device.id = Get<std::string>(json, "id");
  device.name = Get<std::string>(json, "name");
  for (const Json& roof : json.value("roofs", Json::array())) {
    DeviceFacts::RoofFact fact;
    fact.name = Get<std::string>(roof, "name");
    fact.peak = FlopRate(Get<double>(roof, "flop_per_s"));
    if (const auto ridge = Optional(roof, "ridge")) fact.ridge = Intensity(*ridge);
    device.roofs.push_back(std::move(fact));
  }
  if (const auto rate = Optional(json, "bytes_per_s")) device.bandwidth = ByteRate(*rate);
  if (const auto size = Optional(json, "memory_bytes")) {
    device.memory = Bytes(Truncate(*size));
  }
  return device;
}

ReportOptions OptionsOf(const Json& json) {
  ReportOptions options;
  options.convention = json.value("convention", "dlcost");
  if (json.contains("dtype") && !json["dtype"].is_null()) options.dtype = json["dtype"];
  options.run.math = ParseMathMode(json.value("math", "default")).value_or(MathMode::kDefault);
  options.run.cache = ParseCacheState(json.value("cache", "cold")).value_or(CacheState::kCold);
  options.plan.fusion = ParseFusion(json.value("fusion", "none")).value_or(Fusion::kNone);
  if (json.contains("fuses")) {
    options.plan.fuses = FusionSet();
    for (const Json& one : json["fuses"]) {
      const auto step = ParseFusionStep(one.get<std::string>());
      if (!step) throw Error("no fusion '{}'", Printable(one.get<std::string>()));
      options.plan.fuses.Add(*step);
    }
  }
  options.plan.attention_by_default =
      ParseAttentionForm(json.value("attention", "flash")).value_or(AttentionForm::kFlash);
  options.run.conv = ParseAlgorithm(json.value("conv", "auto"));  // none for auto
  options.run.eager = json.value("launch", "graph") == "eager";
  options.run.selection =
      ParseSelection(json.value("selection", "call")).value_or(Selection::kCall);
  options.run.converts = json.value("layout", "file") == "file";
  options.runtime = json.value("runtime", "");  // older reports name none
  options.runtime_given = json.value("runtime_given", false);
  return options;
}

Doubt::Part PartOf(const Json& json) {
  return {.nodes = Get<std::int64_t>(json, "nodes"),
          .macs = Macs(Get<std::int64_t>(json, "macs")),
          .flops = Flops(Get<std::int64_t>(json, "flops")),
          .bytes = Bytes(Get<std::int64_t>(json, "bytes")),
          .time = Seconds(Optional(json, "bound_s").value_or(0)),
          .expected = Seconds(Optional(json, "expected_s").value_or(0))};
}

OpenBranch::Cost CostOf(const Json& json) {
  return {Macs(Get<std::int64_t>(json, "macs")), Flops(Get<std::int64_t>(json, "flops")),
          Bytes(Get<std::int64_t>(json, "bytes"))};
}

// Reports of older versions say it of nodes alone.
Certainty CertaintyOf(const Json& report_json, const Report& report) {
  Certainty certainty;
  if (!report_json.contains("certainty")) {
    for (const KernelRow& kernel : report.kernels) Accumulate(certainty.doubt, kernel.doubt);
    const auto nodes = [&](NodeStatus status) {
      const auto found = report.coverage.find(status);
      return found == report.coverage.end() ? 0 : found->second;
    };
    certainty.doubt.unknown = nodes(NodeStatus::kUnknown);
    certainty.doubt.bounded = nodes(NodeStatus::kBounded);
    return certainty;
  }
  const Json& json = report_json["certainty"];
  certainty.doubt = {PartOf(json.at("at_most")), PartOf(json.at("assumed")),
                     Get<std::int64_t>(json, "unknown"), Get<std::int64_t>(json, "bounded")};
  for (const Json& one : json.at("causes")) {
    certainty.causes.push_back({Get<std::string>(one, "node"), Get<std::string>(one, "op"),
                                Get<std::string>(one, "why"), Get<std::int64_t>(one, "nodes"),
                                Macs(Get<std::int64_t>(one, "macs")),
                                Flops(Get<std::int64_t>(one, "flops"))});
  }
  certainty.folded_nodes = Get<std::int64_t>(json.at("folded"), "nodes");
  certainty.folded_macs = Macs(Get<std::int64_t>(json.at("folded"), "macs"));
  for (const Json& one : json.at("branches")) {
    OpenBranch branch{.node = Get<std::string>(one, "node"),
                      .then_counted = Get<std::string>(one, "counted") == "then",
                      .counted = CostOf(one.at("cost")),
                      .why = one.value("why", "")};
    if (!one.at("other_cost").is_null()) branch.other = CostOf(one["other_cost"]);
    certainty.branches.push_back(std::move(branch));
  }
  for (const Json& one : json.at("settled")) {
    certainty.settled.push_back({Get<std::string>(one, "option"), Get<std::string>(one, "subject"),
                                 Get<std::string>(one, "answer"), Get<bool>(one, "assumed")});
  }
  return certainty;
}

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

JobFacts JobOf(const Json& json) {
  JobFacts job;
  job.system = Get<std::string>(json, "system");
  job.plan = Get<std::string>(json, "plan");
  job.devices = Get<std::int64_t>(json, "devices");
  job.step = Seconds(Get<double>(json, "step_s"));
  job.exposed = Seconds(Get<double>(json, "exposed_communication_s"));
  job.sent = Bytes(Get<std::int64_t>(json, "sent_bytes"));
  job.memory = Bytes(Get<std::int64_t>(json, "memory_bytes"));
  return job;
}

// What the time of a group waits for is not in the file.
std::vector<GroupRow> GroupsOf(const Json& rows, const char* name) {
  std::vector<GroupRow> groups;
  for (const Json& row : rows) {
    const Sums sums = SumsOf(row);
    const Flops kernel_flops(row.value("kernel_flops", sums.flops.value()));
    groups.push_back({Get<std::string>(row, name), sums, kernel_flops});
  }
  return groups;
}

Report ReportOf(const Json& json) {
  CheckSchema(json);
  Report report;
  report.model = ModelOf(json.at("model"));
  report.device = DeviceOf(json.at("device"));
  report.options = OptionsOf(json.at("options"));
  report.totals = SumsOf(json.at("totals"));
  report.totals.nodes = report.model.nodes;
  report.peak_activation_bytes =
      Bytes(Get<std::int64_t>(json.at("totals"), "peak_activation_bytes"));
  if (json.contains("job")) report.job = JobOf(json.at("job"));
  for (const auto& [status, nodes] : json.at("coverage").items()) {
    if (nodes.get<std::int64_t>() != 0) report.coverage[StatusOf(status)] = nodes;
  }
  if (json.contains("step")) {
    StepFacts step;
    step.optimizer = Get<std::string>(json.at("step"), "optimizer");
    step.loss = Get<std::string>(json.at("step"), "loss");
    // Reports of before these options have neither.
    if (json.at("step").contains("precision")) {
      step.precision = Get<std::string>(json.at("step"), "precision");
    }
    if (json.at("step").contains("micro_batches")) {
      step.micro_batches = Get<std::int64_t>(json.at("step"), "micro_batches");
      step.clips = Get<bool>(json.at("step"), "clips");
    }
    if (json.at("step").contains("recompute")) {
      step.recompute = Get<std::string>(json.at("step"), "recompute");
    }
    report.step = std::make_shared<const StepFacts>(std::move(step));
    report.by_phase = GroupsOf(json.at("step").value("phases", Json::array()), "phase");
  }
  report.by_op = GroupsOf(json.at("by_op"), "op");
  report.by_scope = GroupsOf(json.value("by_scope", Json::array()), "scope");
  for (const Json& row : json.at("nodes")) report.nodes.push_back(NodeOf(row));
  AddKernels(json.at("kernels"), report);
  report.certainty = CertaintyOf(json, report);
  for (const Json& row : json.at("unknown")) {
    report.unknown.push_back({Get<std::string>(row, "node"), Get<std::string>(row, "op"),
                              Get<std::string>(row, "domain"), Get<std::string>(row, "why")});
  }
  for (const Json& note : json.value("notes", Json::array())) {
    report.notes.push_back(note.get<std::string>());
  }
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
    // "[json.exception.out_of_range.403] key 'macs' not found": the text behind the bracket.
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
