#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/system/link_timing.h"

namespace dlcost {

// How a link joins its devices.
enum class LinkShape {
  kSwitch,   // every device reaches every other at its full bandwidth (NVSwitch)
  kMesh,     // links from device to device, shared out among the neighbours (DGX-1, xGMI)
  kTorus,    // neighbours along two or three axes (TPU)
  kTree,     // PCIe switches, root ports and sockets
  kFatTree,  // a network of switches between nodes
  kRails,    // a network in which the i-th card of every node shares a switch
};
std::string_view Name(LinkShape shape);  // "switch", "mesh", "torus", "tree", "fat-tree", "rails"

// One level of the interconnect. Devices are numbered so that neighbours are near: a level joins
// groups of `joins` devices in a row.
struct SystemLink {
  std::string name;  // "NVLink4", "InfiniBand NDR"
  LinkShape shape = LinkShape::kSwitch;
  int joins = 0;
  ByteRate bandwidth;    // one direction, what one device can send over it while all do
  bool network = false;  // leaves the node
  bool reduces = false;  // the switch adds up and multicasts (NVLink SHARP)
  LinkTiming timing;
};

// The cards that join nodes.
struct NodeNetwork {
  std::string name;
  LinkShape shape = LinkShape::kFatTree;
  std::optional<int> cards;           // per node
  std::optional<ByteRate> bandwidth;  // of one card, one direction
  double oversubscription = 1;        // what nodes can send over what the fabric carries
  std::optional<int> leaf;            // nodes that reach each other without oversubscription
  std::optional<int> devices;         // that the fabric joins at most
  LinkTiming timing;
};

struct Storage {
  std::string name;
  std::optional<Bytes> size;
  std::optional<ByteRate> read;  // sequential, of one node
};

// A computer, or many: nodes, their devices and what joins them. Absent means "not public".
struct System {
  std::string id;  // the file's stem: "dgx-h100"
  std::string name;
  std::vector<std::string> aliases;
  std::string vendor, confidence;
  std::optional<int> year;
  std::string device;  // id of the device file
  int node_devices = 0;
  std::optional<int> sockets, cores;  // cores of all sockets of a node
  std::string processor;
  std::optional<Bytes> host_memory;
  std::string host_link_name;          // between host and device
  std::optional<ByteRate> host_link;   // one direction, of one device
  std::vector<SystemLink> links;       // nearest first, the network last
  std::optional<NodeNetwork> network;  // none: the system is one node
  std::optional<Storage> storage;
  std::vector<std::string> notes;
  std::vector<Fact> facts;

  // The largest number of devices that its links join.
  int MostDevices() const;
};

}  // namespace dlcost
