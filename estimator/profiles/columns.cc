#include "estimator/profiles/columns.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/profiles/text.h"

namespace dlcost {

Columns::Columns(const std::vector<std::string>& header) : written_(header) {
  for (const std::string& column : header) {
    std::string_view name = Trim(column);
    std::string unit;
    if (name.ends_with(')')) {
      const std::size_t open = name.rfind('(');
      const std::string_view inside =
          open == std::string_view::npos ? "" : name.substr(open + 1, name.size() - open - 2);
      if (!inside.empty() && inside != "%" && ParseUnit(inside)) {
        unit = inside;
        name = Trim(name.substr(0, open));
      }
    }
    names_.push_back(Lower(name));
    units_.push_back(std::move(unit));
  }
}

std::optional<std::size_t> Columns::Find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
  }
  return std::nullopt;
}

void Columns::SetUnits(const std::vector<std::string>& units) {
  for (std::size_t i = 0; i < units.size() && i < units_.size(); ++i) {
    units_[i] = std::string(Trim(units[i]));
  }
}

const std::string& Columns::Text(const CsvRow& row,
                                 std::initializer_list<std::string_view> names) const {
  static const std::string kEmpty;
  const auto column = Find(names);
  return column && *column < row.fields.size() ? row.fields[*column] : kEmpty;
}

std::optional<double> Columns::Number(const CsvRow& row,
                                      std::initializer_list<std::string_view> names,
                                      bool binary_units) const {
  const auto column = Find(names);
  return column ? NumberAt(row, *column, binary_units) : std::nullopt;
}

std::optional<double> Columns::NumberAt(const CsvRow& row, std::size_t column,
                                        bool binary_units) const {
  if (column >= row.fields.size()) return std::nullopt;
  const auto number = ParseNumber(row.fields[column]);
  if (!number) return std::nullopt;
  const auto unit = ParseUnit(number->unit.empty() ? units_[column] : number->unit, binary_units);
  return unit ? number->value * unit->scale : number->value;
}

double RequiredNumber(const RowReader& csv, const Columns& columns, const CsvRow& row,
                      std::initializer_list<std::string_view> names, bool binary_units) {
  if (const auto number = columns.Number(row, names, binary_units)) return *number;
  const auto column = columns.Find(names);
  if (!column) throw Error("{}: the table has no column '{}'", csv.Where(row), *names.begin());
  throw Error("{}: '{}' in column '{}' is not a number", csv.Where(row),
              Printable(columns.Text(row, names), 40), Printable(columns.written(*column), 40));
}

void AddCounter(CounterSet& counters, Measurement& measurement, std::string_view raw,
                double value) {
  if (!counters.Add(raw, value)) measurement.AddUnknownCounter(raw);
}

bool HasLineWith(std::string_view head, std::initializer_list<std::string_view> parts) {
  while (!head.empty()) {
    const std::string_view line = TakeUntil(head, '\n');
    if (std::all_of(parts.begin(), parts.end(),
                    [&](std::string_view part) { return Contains(line, part); })) {
      return true;
    }
  }
  return false;
}

}  // namespace dlcost
