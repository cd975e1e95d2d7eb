#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "estimator/profiles/lines.h"

namespace dlcost {

struct CsvRow {
  std::vector<std::string> fields;
  std::int64_t line = 0;  // of the file, from 1: where the row begins
  bool banner = false;    // a line such as "==1234== NVPROF is ..."; fields[0] holds all of it
};

// Rows of a table, one after the other.
class RowReader {
 public:
  virtual ~RowReader() = default;
  // The next row; false at the end.
  virtual bool Next(CsvRow& row) = 0;
  virtual const std::string& name() const = 0;  // of the file

  // "file:line: " for messages about a row.
  std::string Where(const CsvRow& row) const;
  // Throws unless the row has as many fields as its header; says that the file looks cut off.
  void Expect(const CsvRow& row, std::size_t columns) const;
};

// Rows of a comma separated file, one after the other, in bounded memory (libcsv). Quoted fields
// may hold commas and line ends. Lines that start with "==" are the profilers' banners and are
// handed over whole. Empty lines are skipped. Errors name the file and the line.
class CsvReader : public RowReader {
 public:
  explicit CsvReader(Input& input, char delimiter = ',');
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;
  ~CsvReader() override;

  bool Next(CsvRow& row) override;
  const std::string& name() const override { return lines_.name(); }

 private:
  struct Parser;

  LineReader lines_;
  std::unique_ptr<Parser> parser_;
  std::string line_;
  bool ended_ = false;
};

// The delimiter of a header line: comma, tab or semicolon, whichever occurs most outside quotes.
char GuessDelimiter(std::string_view header);

}  // namespace dlcost
