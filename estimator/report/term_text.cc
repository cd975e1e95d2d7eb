#include "estimator/report/term_text.h"

#include <fmt/format.h>

#include "estimator/core/integer.h"
#include "estimator/report/format.h"

namespace dlcost {

std::string TermText(const TimeTerm& term) {
  if (!term.text.empty()) return term.text;
  if (term.IsTime()) return ReadableTime(Seconds(term.value));
  if (term.unit == "FLOP") return Readable(term.value) + " FLOP";
  if (term.unit == "B") return ReadableBytes(Bytes(Truncate(term.value)));
  if (term.unit == "B/s") return Readable(term.value) + "B/s";
  return fmt::format("{:.4g}{}{}", term.value, term.unit.empty() ? "" : " ", term.unit);
}

}  // namespace dlcost
