#include "estimator/report/system_list.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "estimator/report/device_json.h"
#include "estimator/report/fact_table.h"
#include "estimator/report/format.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

bool IsOpenEnded(const SystemLink& link) { return link.joins == std::numeric_limits<int>::max(); }

std::string Reach(const SystemLink& link) {
  return IsOpenEnded(link) ? "any" : std::to_string(link.joins);
}

std::string Near(const System& system) {
  if (system.links.empty()) return "-";
  const SystemLink& link = system.links.front();
  return fmt::format("{} {}, {} devices", link.name, Name(link.shape), Reach(link));
}

std::string Far(const System& system) {
  if (!system.network) return "-";
  return fmt::format("{} x {:g} Gbit/s {}", *system.network->cards,
                     system.network->bandwidth->value() * 8 / 1e9, system.network->name);
}

Json LinkJson(const SystemLink& link) {
  Json protocols = Json::object();
  for (const auto& [protocol, constants] : link.timing.protocols) {
    protocols[std::string(Name(protocol))] = {
        {"start_s", constants.start}, {"hop_s", constants.hop}, {"share", constants.share}};
  }
  return {{"name", link.name},
          {"shape", std::string(Name(link.shape))},
          {"joins", IsOpenEnded(link) ? Json() : Json(link.joins)},
          {"bandwidth", link.bandwidth.value()},
          {"network", link.network},
          {"reduces", link.reduces},
          {"timing", link.timing.id},
          {"basis", link.timing.basis},
          {"protocols", std::move(protocols)}};
}

Json FieldsJson(const System& system) {
  Json json = {{"id", system.id},
               {"name", system.name},
               {"aliases", system.aliases},
               {"vendor", system.vendor},
               {"year", PlainOrNull(system.year)},
               {"confidence", system.confidence},
               {"device", system.device},
               {"node_devices", system.node_devices},
               {"sockets", PlainOrNull(system.sockets)},
               {"processor", system.processor},
               {"cores", PlainOrNull(system.cores)},
               {"host_memory_bytes", ValueOrNull(system.host_memory)},
               {"host_link_bandwidth", ValueOrNull(system.host_link)}};
  Json links = Json::array();
  for (const SystemLink& link : system.links) links.push_back(LinkJson(link));
  json["links"] = std::move(links);
  if (system.network) {
    json["network"] = {{"name", system.network->name},
                       {"shape", std::string(Name(system.network->shape))},
                       {"cards", *system.network->cards},
                       {"card_bandwidth", system.network->bandwidth->value()},
                       {"oversubscription", system.network->oversubscription},
                       {"leaf_nodes", PlainOrNull(system.network->leaf)}};
  }
  if (system.storage) {
    json["storage"] = {{"name", system.storage->name},
                       {"bytes", ValueOrNull(system.storage->size)},
                       {"read_bandwidth", ValueOrNull(system.storage->read)}};
  }
  return json;
}

}  // namespace

std::string SystemListText(const std::vector<System>& systems, std::size_t max_width) {
  Table table({"system", "year", "devices", "near", "per device", "between nodes"},
              {true, false, true, true, false, true});
  for (const System& system : systems) {
    table.Add(
        {system.id, system.year ? std::to_string(*system.year) : "-",
         fmt::format("{} x {}", system.node_devices, system.device), Near(system),
         system.links.empty() ? "-" : ReadableRate(system.links.front().bandwidth.value(), "B"),
         Far(system)});
  }
  table.MayDrop({"year", "between nodes", "near"});
  return table.Fit(max_width, "-o FILE or a pipe has them") +
         fmt::format(
             "\n{} system{}. Devices are those of one node, bandwidths one direction.\n"
             "`dlcost systems NAME` gives every value with its source.\n",
             systems.size(), systems.size() == 1 ? "" : "s");
}

std::string SystemListJson(const std::vector<System>& systems) {
  Json list = Json::array();
  for (const System& system : systems) list.push_back(FieldsJson(system));
  return Json({{"schema", "dlcost.systems/1"}, {"systems", std::move(list)}}).dump(2) + "\n";
}

std::string SystemText(const System& system, std::size_t max_width) {
  SourceList sources;
  std::string text = fmt::format("{}  ({})\n", system.name, system.id);
  if (!system.aliases.empty()) {
    text += fmt::format("also called: {}\n", fmt::join(system.aliases, ", "));
  }
  if (!system.confidence.empty()) text += fmt::format("confidence: {}\n", system.confidence);
  text += fmt::format("a node: {} x {}", system.node_devices, system.device);
  if (!system.processor.empty()) text += ", " + system.processor;
  if (!system.host_link_name.empty()) text += ", " + system.host_link_name + " to the host";
  text += "\n\n";
  Table table({"link", "shape", "joins", "per device", "constants", "basis"},
              {true, true, false, false, true, true});
  for (const SystemLink& link : system.links) {
    table.Add({link.name, std::string(Name(link.shape)) + (link.reduces ? ", reduces" : ""),
               Reach(link), ReadableRate(link.bandwidth.value(), "B"), link.timing.id,
               link.timing.basis});
  }
  table.MayDrop({"basis", "constants"});
  text +=
      table.Fit(max_width, "-o FILE or a pipe has them") + "\n" + FactTable(system.facts, sources);
  for (const SystemLink& link : system.links) {
    text += fmt::format("\nconstants of {} (basis: {})\n", link.timing.id, link.timing.basis) +
            FactTable(link.timing.facts, sources);
  }
  if (!system.notes.empty()) text += "\nnotes\n";
  for (const std::string& note : system.notes) text += "  - " + note + "\n";
  return text + "\nsources\n" + sources.Text();
}

std::string SystemJson(const System& system) {
  Json json = {{"schema", "dlcost.system/1"}};
  json.update(FieldsJson(system));
  json["facts"] = FactsJson(system.facts);
  json["notes"] = system.notes;
  return json.dump(2) + "\n";
}

}  // namespace dlcost
