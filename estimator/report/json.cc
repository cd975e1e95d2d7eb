#include <nlohmann/json.hpp>

#include "estimator/report/execution_json.h"
#include "estimator/report/render.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

Json WorkJson(const Work& work) {
  Json json = Json::object();
  for (int c = 0; c < kOpClassCount; ++c) {
    const Count count = work.Of(static_cast<OpClass>(c));
    if (count != Count(0)) json[std::string(Name(static_cast<OpClass>(c)))] = count.value();
  }
  return json;
}

// The same per data type, for those who check by hand.
Json WorkByType(const Work& work) {
  Json json = Json::object();
  for (const Work::Entry& entry : work.entries()) {
    Json& of_type = json[std::string(Name(entry.dtype))] = Json::object();
    for (std::size_t c = 0; c < kOpClassCount; ++c) {
      if (entry.counts[c] == Count(0)) continue;
      of_type[std::string(Name(static_cast<OpClass>(c)))] = entry.counts[c].value();
    }
  }
  return json;
}

Json IntensityJson(const Sums& sums) {
  const auto intensity = sums.intensity();
  return intensity ? Json(intensity->value()) : Json();
}

void AddTimes(Json& json, const Sums& sums, bool timed) {
  if (!timed) return;
  json["compute_s"] = sums.compute.value();
  json["memory_s"] = sums.memory.value();
  json["bound_s"] = sums.bound.value();
  json["expected_s"] = sums.expected ? Json(sums.expected->value()) : Json();
}

Json OperandsJson(const Operands& operands) {
  Json json = Json::array();
  for (const Operand& operand : operands) {
    Json one = {{"name", operand.name}};
    one["dtype"] = std::string(Name(operand.dtype));
    one["shape"] = operand.shape ? Json(operand.shape->dims()) : Json();
    if (operand.weight) one["weight"] = true;
    json.push_back(std::move(one));
  }
  return json;
}

Json ModelJson(const ModelFacts& model) {
  Json opset = Json::object(), dims = Json::object();
  for (const auto& [domain, version] : model.opset) opset[domain] = version;
  for (const auto& [name, size] : model.dims) dims[name] = size;
  return {{"path", model.path},
          {"name", model.name},
          {"producer", model.producer},
          {"ir_version", model.ir_version},
          {"opset", opset},
          {"nodes", model.nodes},
          {"parameters", model.parameters.value()},
          {"weight_bytes", model.weight_bytes.value()},
          {"dims", dims},
          {"inputs", OperandsJson(model.inputs)},
          {"outputs", OperandsJson(model.outputs)}};
}

Json DeviceJson(const std::optional<DeviceFacts>& device) {
  if (!device) return {};
  Json roofs = Json::array();
  for (const auto& roof : device->roofs) {
    roofs.push_back({{"name", roof.name},
                     {"flop_per_s", roof.peak.value()},
                     {"ridge", roof.ridge ? Json(roof.ridge->value()) : Json()}});
  }
  return {{"id", device->id},
          {"name", device->name},
          {"roofs", roofs},
          {"bytes_per_s", device->bandwidth ? Json(device->bandwidth->value()) : Json()},
          {"memory_bytes", device->memory ? Json(device->memory->value()) : Json()}};
}

Json NodeJson(const NodeRow& node, bool timed) {
  Json json = {{"name", node.name},
               {"op", node.op},
               {"domain", node.domain},
               {"status", std::string(Name(node.status))},
               {"scope", node.scope},
               {"kernel", node.kernel},
               {"inputs", OperandsJson(node.inputs)},
               {"outputs", OperandsJson(node.outputs)},
               {"macs", node.sums.macs.value()},
               {"flops", node.sums.flops.value()},
               {"work", WorkJson(node.sums.work)},
               {"work_by_type", WorkByType(node.sums.work)},
               {"bytes_read", node.sums.bytes_read.value()},
               {"bytes_written", node.sums.bytes_written.value()}};
  if (!node.attributes.empty()) {
    Json& attributes = json["attributes"] = Json::object();
    for (const auto& [name, text] : node.attributes) attributes[name] = text;
  }
  if (node.valid_macs != Macs()) json["valid_macs"] = node.valid_macs.value();
  if (node.parameters != Count()) {
    json["parameters"] = node.parameters.value();
    json["weight_bytes"] = node.weight_bytes.value();
  }
  if (node.repeat != Count(1)) json["repeat"] = node.repeat.value();
  if (node.upper_bound) json["upper_bound"] = true;
  if (!node.note.empty()) json["note"] = node.note;
  AddTimes(json, node.sums, timed);
  return json;
}

Json KernelJson(const KernelRow& kernel, const std::string& main, bool timed, Count units) {
  Json json = {{"id", kernel.id},
               {"op", kernel.op},
               {"main", main},
               {"nodes", kernel.nodes},
               {"algorithm", kernel.algorithm},
               {"launches", kernel.launches.value()},
               {"macs", kernel.sums.macs.value()},
               {"flops", kernel.sums.flops.value()},
               {"executed_flops", kernel.executed.value()},
               {"least_flops", kernel.least.value()},
               {"bytes", kernel.sums.bytes().value()},
               {"intensity", IntensityJson(kernel.sums)},
               {"limiter", kernel.limiter}};
  AddTimes(json, kernel.sums, timed);
  if (kernel.expected_low && kernel.expected_high) {
    json["expected_range_s"] = {kernel.expected_low->value(), kernel.expected_high->value()};
  }
  AddExecution(json, kernel, units);
  return json;
}

// Linear and quadratic terms of a transformer.
Json AttentionJson(const AttentionShare& share) {
  return {{"phase", std::string(Name(share.phase))}, {"q_len", share.q_len.value()},
          {"kv_len", share.kv_len.value()},          {"macs", share.scores.value()},
          {"other_macs", share.products.value()},    {"crossover_kv_len", share.Crossover()}};
}

Json GroupsJson(const std::vector<GroupRow>& groups, const char* key, bool timed) {
  Json rows = Json::array();
  for (const GroupRow& group : groups) {
    Json row = {{key, group.name},
                {"nodes", group.sums.nodes},
                {"macs", group.sums.macs.value()},
                {"flops", group.sums.flops.value()},
                {"bytes", group.sums.bytes().value()},
                {"intensity", IntensityJson(group.sums)}};
    AddTimes(row, group.sums, timed);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string ConvName(const PlanOptions& plan) {
  return plan.conv ? std::string(Name(*plan.conv)) : "auto";
}

Json TotalsJson(const Report& report, bool timed) {
  const Sums& totals = report.totals;
  Json json = {{"macs", totals.macs.value()},
               {"flops", totals.flops.value()},
               {"work", WorkJson(totals.work)},
               {"work_by_type", WorkByType(totals.work)},
               {"bytes_read", totals.bytes_read.value()},
               {"bytes_written", totals.bytes_written.value()},
               {"bytes", totals.bytes().value()},
               {"intensity", IntensityJson(totals)}};
  AddTimes(json, totals, timed);
  json["peak_activation_bytes"] = report.peak_activation_bytes.value();
  json["needed_bytes"] = report.needed().value();
  if (timed) json["fits"] = report.fits() ? Json(*report.fits()) : Json();
  return json;
}

}  // namespace

std::string RenderJson(const Report& report) {
  const bool timed = report.device.has_value();
  Json json;
  json["schema"] = std::string(kReportSchema);
  json["model"] = ModelJson(report.model);
  json["device"] = DeviceJson(report.device);
  json["options"] = {{"convention", report.options.convention},
                     {"math", std::string(Name(report.options.bound.math))},
                     {"dtype", report.options.dtype.empty() ? Json() : Json(report.options.dtype)},
                     {"fusion", std::string(Name(report.options.plan.fusion))},
                     {"attention", std::string(Name(report.options.plan.attention))},
                     {"conv", ConvName(report.options.plan)},
                     {"cache", std::string(Name(report.options.bound.cache))},
                     {"launch", report.options.eager ? "eager" : "graph"}};
  json["totals"] = TotalsJson(report, timed);
  Json coverage = Json::object();
  for (const NodeStatus status : {NodeStatus::kCounted, NodeStatus::kView, NodeStatus::kMetadata,
                                  NodeStatus::kBounded, NodeStatus::kUnknown}) {
    const auto found = report.coverage.find(status);
    coverage[std::string(Name(status))] = found == report.coverage.end() ? 0 : found->second;
  }
  json["coverage"] = coverage;
  json["by_op"] = GroupsJson(report.by_op, "op", timed);
  json["by_scope"] = GroupsJson(report.by_scope, "scope", timed);
  if (report.attention) json["attention"] = AttentionJson(*report.attention);
  const Count units = report.device ? report.device->units : Count(1);
  json["kernels"] = Json::array();
  for (const KernelRow& kernel : report.kernels) {
    if (kernel.launches == Count(0)) continue;
    json["kernels"].push_back(KernelJson(kernel, report.nodes[kernel.main].name, timed, units));
  }
  json["nodes"] = Json::array();
  for (const NodeRow& node : report.nodes) json["nodes"].push_back(NodeJson(node, timed));
  json["unknown"] = Json::array();
  for (const UnknownRow& row : report.unknown) {
    json["unknown"].push_back(
        {{"node", row.node}, {"op", row.op}, {"domain", row.domain}, {"why", row.why}});
  }
  json["notes"] = report.notes;
  // Names in a file are arbitrary bytes; JSON is UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlcost
