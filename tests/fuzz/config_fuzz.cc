// Any bytes as a transformers configuration: an Error or a network that reads and infers.
// Seeds: tests/networks/configs.
#include <cstdint>
#include <string_view>

#include "estimator/core/error.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"
#include "models/networks/config_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!dlcost::IsNetworkConfig(bytes)) return 0;
  std::string network;
  try {
    network = dlcost::BuildNetworkOfConfig(bytes);
  } catch (const dlcost::Error&) {
    return 0;
  }
  try {
    dlcost::InferOptions options;
    options.bindings.batch = 2;
    options.bindings.dims = {{"sequence", 16}};
    dlcost::Infer(dlcost::ReadModelFromBytes(network, "config.json"), options);
  } catch (const dlcost::Error&) {  // too large to count
  }
  return 0;
}
