// Any bytes as a model, split among two devices in inference, along its sequences, with whole
// experts, and by its own annotations.
//     build/fuzz/tests/fuzz/fuzz_parallel -rss_limit_mb=2048 corpus/ tests/plan/models/
//     models/networks/
#include <cstdint>
#include <string_view>

#include "estimator/core/error.h"
#include "estimator/onnx/reader.h"
#include "estimator/parallel/division.h"

namespace dlcost {
namespace {

void Split(const InferredModel& model, const TensorParallel& plan, const InferOptions& options) {
  try {
    InferRank(model, plan, options);
  } catch (const Error&) {
  }
}

void Split(const InferredModel& model, const Division& division, const InferOptions& options) {
  try {
    Divide(model, division, options);
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace dlcost

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    dlcost::InferOptions options;
    options.bindings.batch = 2;
    options.assume_typical = true;
    const dlcost::InferredModel model =
        dlcost::Infer(dlcost::ReadModelFromBytes(bytes, "fuzz.onnx"), options);
    for (const bool sequence : {false, true}) {
      dlcost::Split(model,
                    dlcost::TensorParallel{.devices = 2, .sequence = sequence, .trains = sequence},
                    options);
    }
    dlcost::Split(model, dlcost::Division{.context = {.devices = 2, .trains = true}}, options);
    dlcost::Split(model, dlcost::Division{.experts = {.devices = 2}}, options);
    for (const dlcost::DeviceConfiguration& annotations :
         dlcost::DeviceConfigurationsFromBytes(bytes, "fuzz.onnx")) {
      dlcost::Split(model, dlcost::TensorParallel{.devices = 2, .annotations = &annotations},
                    options);
    }
  } catch (const dlcost::Error&) {
  }
  return 0;
}
