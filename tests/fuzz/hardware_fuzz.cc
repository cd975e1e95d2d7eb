// Device files are read from wherever a user points. Run it on the database:
//     build/fuzz/tests/fuzz/fuzz_hardware -max_len=8192 corpus/ hw_specs/ hw_specs/arch/
#include <cstddef>
#include <cstdint>
#include <string>

#include "estimator/core/error.h"
#include "estimator/hardware/device_schema.h"
#include "estimator/hardware/entry.h"
#include "estimator/hardware/roof.h"

namespace dlcost {
namespace {

// What `extends:` would supply, so that files which name no rate get past the required keys.
constexpr char kBase[] = R"(kind: gpu
rates: {vector: {fp32: 1 TFLOP/s}}
memory: {bandwidth: 1 TB/s}
notes: [inherited]
)";

void ReadOne(const std::string& text) {
  Entry root = ParseEntries(text, "fuzz.yaml");
  std::erase_if(root.children, [](const Entry& child) { return child.key == "extends"; });
  root = MergeEntries(ParseEntries(kBase, "base.yaml"), root);
  // The first line doubles as a --set path.
  OverrideEntry(root, text.substr(0, text.find('\n')), "1 TB/s");
  const Device device = ReadDevice(root, "fuzz");
  for (int type = 0; type < kDTypeCount; ++type) {
    FindRoof(device, WorkKind::kMatrix, static_cast<DType>(type), MathMode::kTf32);
    FindRoof(device, WorkKind::kVector, static_cast<DType>(type));
  }
  (void)device.WarmCapacity();
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
