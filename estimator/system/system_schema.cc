#include "estimator/system/system_schema.h"

#include <algorithm>
#include <limits>

#include "estimator/core/error.h"
#include "estimator/hardware/section_reader.h"

namespace dlcost {
namespace {

constexpr LinkShape kShapes[] = {LinkShape::kSwitch, LinkShape::kMesh,    LinkShape::kTorus,
                                 LinkShape::kTree,   LinkShape::kFatTree, LinkShape::kRails};

class SystemReader : SectionReader {
 public:
  SystemReader(const Entry& root, const LinkTimingFinder& timing)
      : SectionReader(root), timing_(timing) {}

  System Read(const std::string& id) {
    system_.id = id;
    Section(root_, "",
            {{"name", TextInto(system_.name)},
             {"aliases", TextsInto(system_.aliases)},
             {"vendor", TextInto(system_.vendor)},
             {"year", Year(&system_.year)},
             {"confidence",
              [this](const Entry& e, const std::string&) {
                system_.confidence = WantOneOf(e, {"high", "medium", "low"});
              }},
             {"device", TextInto(system_.device)},
             {"node", [this](const Entry& e, const std::string& p) { Node(e, p); }},
             {"links", [this](const Entry& e, const std::string& p) { Links(e, p); }},
             {"network", [this](const Entry& e, const std::string& p) { ReadNetwork(e, p); }},
             {"storage", [this](const Entry& e, const std::string& p) { ReadStorage(e, p); }},
             {"notes", TextsInto(system_.notes)},
             {"sources", [](const Entry&, const std::string&) {}}});
    Require(!system_.name.empty(), "name", "name: My Cluster");
    Require(!system_.device.empty(), "device", "device: a100-sxm4-80gb");
    Require(devices_.has_value(), "node.devices", "node: {devices: 8}");
    Require(!system_.links.empty() || *devices_ == 1, "links",
            "links: {NVLink3: {shape: switch, joins: 8, bandwidth: 300 GB/s, timing: nvlink3}}");
    system_.node_devices = *devices_;
    const int near = system_.links.empty() ? 1 : system_.links.back().joins;
    if (near < *devices_) {
      throw Error("{}: the links join {} devices, a node has {}", root_.Where(), near, *devices_);
    }
    if (system_.network) AddNetworkLevels(near);
    system_.facts = std::move(facts_);
    return std::move(system_);
  }

 private:
  Setter Shape(LinkShape& shape) {
    return [&shape](const Entry& entry, const std::string&) {
      std::vector<std::string> names;
      for (const LinkShape known : kShapes) names.emplace_back(Name(known));
      const std::string& text = WantOneOf(entry, names);
      shape = *std::find_if(std::begin(kShapes), std::end(kShapes),
                            [&](LinkShape known) { return Name(known) == text; });
    };
  }
  Setter Timing(LinkTiming& timing) {
    return [this, &timing](const Entry& entry, const std::string&) {
      timing = timing_(WantText(entry), entry.Where());
    };
  }

  void Node(const Entry& entry, const std::string& path) {
    Section(entry, path,
            {{"devices", Number(&devices_)},
             {"sockets", Number(&system_.sockets)},
             {"processor", TextInto(system_.processor)},
             {"cores", Number(&system_.cores)},
             {"memory", Size(&system_.host_memory)},
             {"host_link", [this](const Entry& e, const std::string& p) {
                Section(e, p,
                        {{"name", TextInto(system_.host_link_name)},
                         {"bandwidth", Measured(&system_.host_link, Dimension::kByteRate)}});
              }}});
  }

  void Links(const Entry& entry, const std::string& path) {
    WantMap(entry);
    for (const Entry& child : entry.children) {
      SystemLink link;
      link.name = child.key;
      std::optional<int> joins;
      std::optional<ByteRate> bandwidth;
      Section(child, path + "." + child.key,
              {{"shape", Shape(link.shape)},
               {"joins", Number(&joins)},
               {"bandwidth", Measured(&bandwidth, Dimension::kByteRate)},
               {"reduces",
                [&link](const Entry& e, const std::string&) {
                  link.reduces = WantOneOf(e, {"yes", "no"}) == "yes";
                }},
               {"timing", Timing(link.timing)}});
      if (!joins || !bandwidth || link.timing.id.empty()) {
        throw Error("{}: '{}' needs joins, bandwidth and timing", child.Where(),
                    Printable(child.key));
      }
      if (*joins < 2 || (!system_.links.empty() && *joins <= system_.links.back().joins)) {
        throw Error("{}: '{}' joins {} devices; each link joins more than the one before",
                    child.Where(), Printable(child.key), *joins);
      }
      link.joins = *joins;
      link.bandwidth = *bandwidth;
      system_.links.push_back(std::move(link));
    }
  }

  void ReadNetwork(const Entry& entry, const std::string& path) {
    NodeNetwork network;
    Section(entry, path,
            {{"name", TextInto(network.name)},
             {"shape", Shape(network.shape)},
             {"cards", Number(&network.cards)},
             {"bandwidth", Measured(&network.bandwidth, Dimension::kByteRate)},
             {"oversubscription",
              [this, &network](const Entry& e, const std::string& p) {
                network.oversubscription = Quantity(e, p, Dimension::kConstant);
                if (network.oversubscription < 1) {
                  throw Error("{}: oversubscription is 1 (none) or more", e.Where());
                }
              }},
             {"leaf", Number(&network.leaf)},
             {"devices", Number(&network.devices)},
             {"timing", Timing(network.timing)}});
    if (!network.cards || !network.bandwidth || network.timing.id.empty()) {
      throw Error("{}: 'network' needs cards, bandwidth and timing", entry.Where());
    }
    system_.network = std::move(network);
  }

  // The network as seen by one device: its part of the node's cards, and of what leaves the leaf
  // that its node is under.
  void AddNetworkLevels(int near) {
    const NodeNetwork& network = *system_.network;
    SystemLink link;
    link.name = network.name;
    link.shape = network.shape;
    link.network = true;
    link.joins = network.devices.value_or(std::numeric_limits<int>::max());
    link.bandwidth = *network.bandwidth * static_cast<double>(*network.cards) / *devices_;
    link.timing = network.timing;
    if (link.joins <= near) {
      throw Error("{}: the network joins {} devices, no more than the links of a node",
                  root_.Where(), link.joins);
    }
    if (network.leaf && *network.leaf > 1 && network.oversubscription > 1) {
      SystemLink leaf = link;
      if (__builtin_mul_overflow(*network.leaf, *devices_, &leaf.joins)) leaf.joins = link.joins;
      leaf.joins = std::min(leaf.joins, link.joins);
      if (leaf.joins > near) system_.links.push_back(leaf);
      if (leaf.joins == link.joins) return;
      link.name += " between leaves";
    }
    link.bandwidth = link.bandwidth / network.oversubscription;
    system_.links.push_back(std::move(link));
  }

  void ReadStorage(const Entry& entry, const std::string& path) {
    Storage storage;
    Section(entry, path,
            {{"name", TextInto(storage.name)},
             {"size", Size(&storage.size)},
             {"read", Measured(&storage.read, Dimension::kByteRate)}});
    system_.storage = std::move(storage);
  }

  const LinkTimingFinder& timing_;
  std::optional<int> devices_;
  System system_;
};

}  // namespace

System ReadSystem(const Entry& root, const std::string& id, const LinkTimingFinder& timing) {
  return SystemReader(root, timing).Read(id);
}

}  // namespace dlcost
