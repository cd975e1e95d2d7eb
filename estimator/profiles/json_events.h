#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estimator/profiles/input.h"

namespace dlcost {

// An event of the Trace Event Format ("chrome trace"). Process and thread may be numbers or names
// in the file; here they are text.
struct JsonEvent {
  std::int64_t number = 0;  // in the file, from 1
  std::string name, ph, cat, pid, tid, id;
  std::optional<std::int64_t> start, duration;  // nanoseconds; duration >= 0
  // "args", values as text: strings without quotes, lists as "[1,2]", nested objects left out.
  std::vector<std::pair<std::string, std::string>> args;

  // The argument's text; "" when there is none.
  const std::string& Arg(std::string_view key) const;
};

// Calls `handle` for each event of a trace, an array of events or an object with a list
// "traceEvents". Streams: neither the file nor the list is ever in memory. Throws Error, with the
// number of the event, for broken JSON.
void ForEachEvent(Input& input, const std::function<void(const JsonEvent&)>& handle);

}  // namespace dlcost
