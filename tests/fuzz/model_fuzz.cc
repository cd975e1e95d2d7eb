// Any bytes as a model: an Error or a result, within bounded time and memory.
#include <cstdint>
#include <string_view>

#include "estimator/core/error.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    dlcost::InferOptions options;
    options.bindings.batch = 2;
    dlcost::Infer(dlcost::ReadModelFromBytes(bytes, "fuzz.onnx"), options);
  } catch (const dlcost::Error&) {
  }
  return 0;
}
