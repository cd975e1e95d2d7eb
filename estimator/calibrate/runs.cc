#include "estimator/calibrate/runs.h"

#include <cmath>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/profiles/columns.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

struct Variable {
  std::string column;
  int power = 1;
};

Variable ParseVariable(const std::string& text) {
  std::string_view rest = text;
  Variable variable{Lower(Trim(TakeUntil(rest, '^')))};
  if (rest.data() != nullptr && text.find('^') != std::string::npos) {
    const auto power = ParseInteger(rest);
    if (!power || *power < -4 || *power > 4) {
      throw Error("'{}': the power must be a whole number from -4 to 4", Printable(text));
    }
    variable.power = static_cast<int>(*power);
  }
  return variable;
}

std::size_t FindColumn(const Columns& columns, const CsvReader& csv, const Variable& variable) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns.name(i) == variable.column) return i;
    names.push_back(columns.name(i));
  }
  throw Error("{}: no column '{}'{}", csv.name(), Printable(variable.column),
              DidYouMean(variable.column, names));
}

double ValueAt(const CsvReader& csv, const Columns& columns, const CsvRow& row, std::size_t column,
               const Variable& variable) {
  const auto value = columns.NumberAt(row, column);
  if (!value) {
    throw Error("{}: '{}' in column '{}' is not a number", csv.Where(row),
                Printable(row.fields[column], 40), Printable(columns.written(column), 40));
  }
  return std::pow(*value, variable.power);
}

}  // namespace

Runs ReadRuns(Input input, const std::string& x, const std::string& y) {
  const Variable vx = ParseVariable(x), vy = ParseVariable(y);
  std::string_view head = input.Head();
  std::string_view first = TakeUntil(head, '\n');
  while (first.starts_with('#') && !head.empty()) first = TakeUntil(head, '\n');
  CsvReader csv(input, GuessDelimiter(first));
  CsvRow row;
  Columns columns;
  Runs runs;
  std::size_t at_x = 0, at_y = 0;
  while (csv.Next(row)) {
    if (row.fields[0].starts_with('#')) continue;
    if (columns.size() == 0) {
      columns = Columns(row.fields);
      at_x = FindColumn(columns, csv, vx);
      at_y = FindColumn(columns, csv, vy);
      continue;
    }
    csv.Expect(row, columns.size());
    runs.x.push_back(ValueAt(csv, columns, row, at_x, vx));
    runs.y.push_back(ValueAt(csv, columns, row, at_y, vy));
  }
  if (runs.x.empty()) throw Error("{}: there is no run in it", csv.name());
  return runs;
}

}  // namespace dlcost
