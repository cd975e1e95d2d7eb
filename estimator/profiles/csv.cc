#include "estimator/profiles/csv.h"

#include <csv.h>

#include <algorithm>
#include <array>

#include "estimator/core/error.h"

namespace dlcost {
namespace {
// Longer fields are hostile: the longest C++ kernel names are a few thousand characters.
constexpr std::size_t kMaxField = 16 << 20;
constexpr std::size_t kMaxFields = 1 << 16;
}  // namespace

struct CsvReader::Parser {
  csv_parser csv{};
  CsvRow row;          // being collected
  bool open = false;   // a row has begun and not ended
  bool ready = false;  // `row` is complete

  static void OnField(void* text, std::size_t size, void* self) {
    auto& parser = *static_cast<Parser*>(self);
    if (parser.row.fields.size() < kMaxFields) {
      parser.row.fields.emplace_back(text ? static_cast<const char*>(text) : "", size);
    }
  }
  static void OnRow(int, void* self) { static_cast<Parser*>(self)->ready = true; }
};

CsvReader::CsvReader(Input& input, char delimiter)
    : lines_(input), parser_(std::make_unique<Parser>()) {
  if (csv_init(&parser_->csv, 0) != 0) throw Error("{}: no memory for the CSV reader", name());
  csv_set_delim(&parser_->csv, static_cast<unsigned char>(delimiter));
  // By default a lone carriage return ends a row too; progress bars write those inside lines.
  csv_set_term_func(&parser_->csv, [](unsigned char c) { return c == '\n' ? 1 : 0; });
}

CsvReader::~CsvReader() { csv_free(&parser_->csv); }

bool CsvReader::Next(CsvRow& row) {
  Parser& parser = *parser_;
  parser.row = CsvRow();
  parser.ready = false;
  while (!parser.ready && !ended_) {
    if (!lines_.Next(line_)) {
      ended_ = true;
      csv_set_opts(&parser.csv, CSV_STRICT | CSV_STRICT_FINI);  // a field left open is an error
      if (csv_fini(&parser.csv, Parser::OnField, Parser::OnRow, &parser) != 0) {
        throw Error(
            "{}:{}: a quoted field that begins in this row is never closed; the file looks "
            "cut off",
            name(), parser.row.line);
      }
      break;
    }
    if (!parser.open) {
      if (line_.starts_with("==")) {
        if (line_.back() == '\n') line_.pop_back();
        row = CsvRow{.fields = {line_}, .line = lines_.number(), .banner = true};
        return true;
      }
      parser.row.line = lines_.number();
    }
    if (csv_parse(&parser.csv, line_.data(), line_.size(), Parser::OnField, Parser::OnRow,
                  &parser) != line_.size()) {
      throw Error("{}:{}: {}", name(), lines_.number(), csv_strerror(csv_error(&parser.csv)));
    }
    parser.open = !parser.ready && (parser.csv.quoted || !parser.row.fields.empty());
    if (csv_get_buffer_size(&parser.csv) > kMaxField) {
      throw Error(
          "{}:{}: a quoted field that begins in this row is longer than 16 MiB; a quote is "
          "missing",
          name(), parser.row.line);
    }
  }
  if (!parser.ready) return false;
  parser.open = false;
  if (parser.row.fields.size() >= kMaxFields) {
    throw Error("{}:{}: more than {} columns", name(), parser.row.line, kMaxFields);
  }
  row = std::move(parser.row);
  return true;
}

std::string RowReader::Where(const CsvRow& row) const {
  return fmt::format("{}:{}", name(), row.line);
}

void RowReader::Expect(const CsvRow& row, std::size_t columns) const {
  if (row.fields.size() == columns) return;
  throw Error(
      "{}: the row has {} columns, its header {}; the file looks cut off or mixed up with "
      "the program's own output: profile again or delete the row",
      Where(row), row.fields.size(), columns);
}

char GuessDelimiter(std::string_view header) {
  std::array<std::pair<char, int>, 3> counts{{{',', 0}, {'\t', 0}, {';', 0}}};
  bool quoted = false;
  for (const char c : header) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    for (auto& [delimiter, count] : counts) count += c == delimiter;
  }
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace dlcost
