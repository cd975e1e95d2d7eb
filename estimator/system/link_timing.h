#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/hardware/entry.h"

namespace dlcost {

// How NCCL and RCCL move data. LL sends 4 bytes of data with 4 of flag and waits for nothing else;
// LL128 120 of 128 bytes, where stores of 128 bytes stay whole; Simple whole chunks with a fence.
enum class LinkProtocol { kLL, kLL128, kSimple };
inline constexpr LinkProtocol kLinkProtocols[] = {LinkProtocol::kLL, LinkProtocol::kLL128,
                                                  LinkProtocol::kSimple};
std::string_view Name(LinkProtocol protocol);  // "LL", "LL128", "Simple"

// The constants of one family of links (hw_specs/systems/links/): what a collective needs beside
// the rated bandwidth. docs/job.md gives the formulas that they stand in.
struct LinkTiming {
  struct ProtocolConstants {
    double start = 0;  // s: from the call to the first byte
    double hop = 0;    // s: a step from one device to the next
    double share = 0;  // of the rated bandwidth that data reaches; 0: the protocol is not used
  };

  std::string id;  // the file's stem: "nvlink4"
  std::string name;
  std::map<LinkProtocol, ProtocolConstants> protocols;
  double peer = 0;  // s: a further peer of an all-to-all
  // Reduction inside the switch (NVLink SHARP); share 0: there is none.
  double switch_start = 0;  // s
  double switch_share = 0;
  // Processors (SMs, CUs) that a collective's kernel holds while it runs: a block for each channel.
  std::optional<int> channels;
  std::string basis;  // "measured", or of which family the constants are: "of nvlink4"
  std::vector<Fact> facts;
};

// Reads the constants of a family. Throws Error (file:line) for unknown keys and for a file
// without a protocol.
LinkTiming ReadLinkTiming(const Entry& root, const std::string& id);

}  // namespace dlcost
