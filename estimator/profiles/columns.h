#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/profiles/csv.h"
#include "estimator/profiles/measurement.h"
#include "estimator/profiles/number.h"

namespace dlcost {

// The header of a table: finds a column by any of the names that versions of a profiler gave it.
// Names compare without case; a unit in the name, "Total Time (ns)", is taken off and kept.
class Columns {
 public:
  Columns() = default;
  explicit Columns(const std::vector<std::string>& header);

  std::size_t size() const { return names_.size(); }
  const std::string& name(std::size_t column) const {
    return names_[column];
  }  // lower case, no unit
  const std::string& written(std::size_t column) const { return written_[column]; }
  std::optional<std::size_t> Find(std::initializer_list<std::string_view> names) const;
  bool Has(std::initializer_list<std::string_view> names) const { return Find(names).has_value(); }

  // Units from a row under the header (nvprof, the raw page of Nsight Compute).
  void SetUnits(const std::vector<std::string>& units);
  const std::string& unit(std::size_t column) const { return units_[column]; }

  // The row's text in the first column of these names; "" where the table has none.
  const std::string& Text(const CsvRow& row, std::initializer_list<std::string_view> names) const;
  // Its number in base units (seconds, bytes), by the column's unit or the one behind the number.
  // Nothing where the table has no such column or the field is no number.
  std::optional<double> Number(const CsvRow& row, std::initializer_list<std::string_view> names,
                               bool binary_units = false) const;
  std::optional<double> NumberAt(const CsvRow& row, std::size_t column,
                                 bool binary_units = false) const;

 private:
  std::vector<std::string> names_, units_, written_;
};

// The number in the first column of these names; throws, with file and line, where there is none.
double RequiredNumber(const RowReader& csv, const Columns& columns, const CsvRow& row,
                      std::initializer_list<std::string_view> names, bool binary_units = false);

// Adds a raw counter to its kernel's, or its name to those that have no meaning here.
void AddCounter(CounterSet& counters, Measurement& measurement, std::string_view raw, double value);

// Whether a line among the first ones of `head` holds all of `parts`: how tables are recognized.
bool HasLineWith(std::string_view head, std::initializer_list<std::string_view> parts);

}  // namespace dlcost
