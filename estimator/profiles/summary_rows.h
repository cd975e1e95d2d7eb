#pragma once

#include "estimator/profiles/csv.h"
#include "estimator/profiles/measurement.h"

namespace dlcost {

// People leave rows of totals under tables that they export from a spreadsheet.

// Whether the row's first field that is not empty names a summary ("Total", "Average:", "Sum"). For
// tables whose first column is no name: there such a row is nothing else.
bool IsSummaryRow(const CsvRow& row);
// The same for tables whose first column is a name: only "Total", "Average" and what nobody calls a
// kernel.
bool IsSureSummaryRow(const CsvRow& row);

// Takes such rows off the end of `measurement`: those of a sure name; those named "Sum" or "Mean",
// as operators are, whose time or counter is the sum or the mean of the rows above; and what is
// named "Max", "Std", ... below one of them.
void DropSummaryRows(Measurement& measurement);

// "3 summary rows under the table left out".
void NoteSummaryRows(Measurement& measurement, std::int64_t rows);

}  // namespace dlcost
