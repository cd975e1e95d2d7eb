// libFuzzer target: any bytes as the JSON of a report, on to what it says and to its difference
// from itself. What reads is written, and what is written reads as the same.
// Run: scripts/build fuzz fuzz_report_reader
//      build/fuzz/tests/fuzz/fuzz_report_reader -max_len=200000 my_corpus/ tests/regress/earlier/

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "estimator/core/error.h"
#include "estimator/regress/diff.h"
#include "estimator/regress/render_diff.h"
#include "estimator/regress/report_reader.h"
#include "estimator/report/render.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dlcost;
  std::string json;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const Report report = ReadReportFromText(text, "input");
    json = RenderJson(report);
    RenderText(report, {});
    RenderCsv(report, GroupBy::kKernel);
    RenderDiffText(DiffReports(report, report), {});
  } catch (const Error&) {
    return 0;
  }
  // Of a report that contradicts itself, one reading decides.
  if (RenderJson(ReadReportFromText(json, "written")) != json) std::abort();
  return 0;
}
