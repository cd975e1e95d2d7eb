#include <cstddef>
#include <cstdint>
#include <string_view>

#include "estimator/core/error.h"
#include "estimator/profiles/reader.h"

// One program per format (DLCOST_FUZZED_FORMAT is a Reader's id; "" finds it out by content):
// whatever the bytes, a reader returns or throws dlcost::Error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    dlcost::ReadMeasurement(dlcost::Input::FromMemory("fuzz", bytes),
                            {.format = DLCOST_FUZZED_FORMAT});
  } catch (const dlcost::Error&) {
  }
  return 0;
}
