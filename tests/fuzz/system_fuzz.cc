// System files are read from wherever a user points. Run it on the database:
//     build/fuzz/tests/fuzz/fuzz_system -max_len=8192 corpus/ hw_specs/systems/
//     hw_specs/systems/links/
#include <cstddef>
#include <cstdint>
#include <string>

#include "estimator/collective/collective.h"
#include "estimator/core/error.h"
#include "estimator/hardware/entry.h"
#include "estimator/system/link_timing.h"
#include "estimator/system/system_schema.h"

namespace dlcost {
namespace {

// The constants that every family of links is given.
constexpr char kTiming[] = R"(name: any
basis: measured
LL: {start: 1 us, hop: 1 us, share: 0.25, source: fit}
LL128: {start: 1 us, hop: 1 us, share: 0.9, source: fit}
Simple: {start: 1 us, hop: 1 us, share: 0.9, source: fit}
peer: 0.3 us [fit]
sources: {fit: none}
)";

void ReadOne(const std::string& text) {
  const Entry root = ParseEntries(text, "fuzz.yaml");
  try {
    ReadLinkTiming(root, "fuzz");
  } catch (const Error&) {
  }
  const System system = ReadSystem(root, "fuzz", [](const std::string& name, const std::string&) {
    return ReadLinkTiming(ParseEntries(kTiming, "timing.yaml"), name);
  });
  // What a system may be asked: every collective, of neighbours and of one device of each node.
  for (const CollectiveOp op : kCollectiveOps) {
    for (const DeviceGroup group : {DeviceGroup{2, 1}, DeviceGroup{16, 1}, DeviceGroup{4, 8}}) {
      try {
        BestCollective(system, {op, Bytes(1 << 20), group});
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace dlcost

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    dlcost::ReadOne(text);
  } catch (const dlcost::Error&) {
    // The only way in which bad input may end.
  }
  return 0;
}
