// Any bytes as a model, all the way to a report on a device: an Error or a text.
#include <cstdint>
#include <string_view>

#include "estimator/core/error.h"
#include "estimator/hardware/database.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"
#include "estimator/report/render.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const dlcost::Device device =
      dlcost::DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("a100");
  try {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    dlcost::InferOptions infer;
    infer.bindings.batch = 2;
    const dlcost::InferredModel model =
        dlcost::Infer(dlcost::ReadModelFromBytes(bytes, "fuzz.onnx"), infer);
    dlcost::ReportOptions options;
    options.plan.fusion = dlcost::Fusion::kDefault;
    dlcost::RenderJson(dlcost::BuildReport(model, device, options));
  } catch (const dlcost::Error&) {
  }
  return 0;
}
