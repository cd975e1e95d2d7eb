#pragma once

#include "estimator/roofline/part.h"

namespace dlcost {

// What runs beside a kernel that streams data, or is read by it twice: rows that did not stay in
// the cache (`reread_bytes`), copies into another layout, sums over all rows, statistics of a
// framework's own (`native`) batch normalization, a fill before a copy.
void AddBesideStream(const Target& target, const Part& part, double reread_bytes, bool native,
                     PartRun& run);

}  // namespace dlcost
