#include <string>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/profiles/lines.h"
#include "estimator/profiles/number.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/text.h"

// oneDNN verbose (ONEDNN_VERBOSE=1), among whatever else the program printed:
//   mkldnn_verbose,exec,PRIMITIVE,IMPLEMENTATION,PROPAGATION,MEMORY,AUX,PROBLEM,MS   before 1.0
//   dnnl_verbose,exec,ENGINE,PRIMITIVE,IMPLEMENTATION,PROPAGATION,MEMORY,ATTRIBUTES,AUX,PROBLEM,MS
//   onednn_verbose,primitive,exec,ENGINE,...       since 3.1
//   onednn_verbose,v1,primitive,exec,ENGINE,...    since 3.6
// A timestamp in milliseconds may stand after the marker (ONEDNN_VERBOSE_TIMESTAMP=1).
namespace dlcost {
namespace {

constexpr std::string_view kMarkers[] = {"onednn_verbose,", "dnnl_verbose,", "mkldnn_verbose,"};

// The text behind the marker; nothing for a line that oneDNN did not write.
std::optional<std::string_view> BehindMarker(std::string_view line) {
  for (const std::string_view marker : kMarkers) {
    const std::size_t found = line.find(marker);
    if (found != std::string_view::npos) return Trim(line.substr(found + marker.size()));
  }
  return std::nullopt;
}

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> fields;
  while (true) {
    fields.push_back(Trim(TakeUntil(text, ',')));
    if (text.empty()) return fields;
  }
}

}  // namespace

bool IsOneDnn(std::string_view head) { return BehindMarker(head).has_value(); }

void ReadOneDnn(Input& input, Measurement& measurement) {
  LineReader lines(input);
  std::string line;
  while (lines.Next(line)) {
    const auto record = BehindMarker(line);
    if (!record) continue;
    const std::vector<std::string_view> fields = Split(*record);
    // Up to four fields stand before "exec": version, timestamp, component. Lines of other kinds
    // (info, create, graph) carry no executed primitive.
    std::size_t exec = 0;
    std::optional<double> timestamp;
    while (exec < fields.size() && exec < 4 && fields[exec] != "exec") {
      if (const auto number = ParseNumber(fields[exec])) timestamp = number->value;
      ++exec;
    }
    if (exec == fields.size() || fields[exec] != "exec" ||
        (exec > 0 && fields[exec - 1] == "graph")) {
      continue;
    }
    // Before 1.0 there was one engine, and no field for it.
    const bool engine = exec + 1 < fields.size() && (fields[exec + 1].starts_with("cpu") ||
                                                     fields[exec + 1].starts_with("gpu"));
    const std::size_t primitive = exec + (engine ? 2 : 1);
    const std::size_t rest = fields.size() - primitive + 2;
    const auto milliseconds = ParseNumber(fields.back());
    if (rest < 7 || !milliseconds || !milliseconds->unit.empty() || milliseconds->value < 0) {
      throw Error(
          "{}:{}: an executed primitive without its time in milliseconds at the end; the "
          "line looks cut off",
          lines.name(), lines.number());
    }
    MeasuredKernel kernel;
    kernel.line = lines.number();
    kernel.device = engine ? fields[exec + 1] : "cpu";
    kernel.op_type = fields[primitive];
    kernel.name = fmt::format("{} {} {}", fields[primitive], fields[primitive + 1],
                              fields[fields.size() - 2]);
    kernel.duration = Seconds(milliseconds->value * 1e-3);
    if (timestamp) kernel.start = Seconds(*timestamp * 1e-3);
    measurement.Add(std::move(kernel));
  }
}

}  // namespace dlcost
