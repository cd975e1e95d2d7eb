#include <cstddef>
#include <cstdint>
#include <string_view>

#include "estimator/core/error.h"
#include "estimator/hardware/database.h"
#include "estimator/profile_report/render.h"
#include "estimator/profiles/add_counters.h"
#include "estimator/profiles/nest.h"
#include "estimator/profiles/reader.h"

// Whatever a profile holds, what it tells alone is rendered in every format, with and without a
// device, or refused with dlcost::Error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const dlcost::Device kDevice =
      dlcost::DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("a100");
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const dlcost::Measurement measurement =
        dlcost::ReadMeasurement(dlcost::Input::FromMemory("fuzz", bytes));
    // The same file as another level of the run, and as the counters of another.
    dlcost::Measurement merged = measurement;
    dlcost::NestRows(merged, measurement);
    dlcost::AddCounters(merged, measurement);
    dlcost::BuildProfileReport(merged, {});
    for (const dlcost::Device* const device :
         {static_cast<const dlcost::Device*>(nullptr), &kDevice}) {
      const dlcost::ProfileReportOptions options{.device = device};
      const dlcost::ProfileReport report = dlcost::BuildProfileReport(measurement, options);
      dlcost::RenderProfileText(report, options, {});
      dlcost::RenderProfileMarkdown(report, options, 20);
      dlcost::RenderProfileCsv({report});
      dlcost::WriteProfileJson({report}, options, [](std::string_view) {});
      dlcost::RenderProfileHtml({report}, options, "fuzz");
    }
  } catch (const dlcost::Error&) {
  }
  return 0;
}
