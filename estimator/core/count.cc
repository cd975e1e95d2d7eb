#include "estimator/core/count.h"

namespace dlcost {

OverflowError::OverflowError()
    : Error(
          "a count does not fit in 64 bits; the shapes or trip counts are implausibly large: bind "
          "smaller ones (--batch, --dim, --trips)") {}

Count CeilDiv(Count a, Count b) {
  const Count whole = a / b;
  return whole.value() * b.value() == a.value() ? whole : whole + Count(1);
}

Count RoundUp(Count a, Count b) { return CeilDiv(a, b) * b; }

}  // namespace dlcost
