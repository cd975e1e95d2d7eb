#include "estimator/report/json_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace dlcost {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;  // bytes that go to the sink at once

// Printed as it is: ASCII without control characters, quotes and backslashes.
bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

}  // namespace

JsonWriter& JsonWriter::Key(std::string_view name) {
  Separate();
  Text(name);
  buffer_ += ": ";
  after_key_ = true;
  return *this;
}

void JsonWriter::Value(std::string_view text) {
  Separate();
  Text(text);
}

void JsonWriter::Value(std::int64_t number) {
  char digits[24];
  const auto [end, problem] = std::to_chars(digits, digits + sizeof digits, number);
  Raw({digits, static_cast<std::size_t>(end - digits)});
}

void JsonWriter::Value(double number) {
  if (!std::isfinite(number)) return Null();
  // The library's own digits, so that a report reads the same whoever wrote it.
  char digits[64];
  const char* end = nlohmann::detail::to_chars(digits, digits + sizeof digits, number);
  Raw({digits, static_cast<std::size_t>(end - digits)});
}

void JsonWriter::Finish() {
  buffer_ += '\n';
  sink_(buffer_);
  buffer_.clear();
}

void JsonWriter::Begin(char bracket) {
  Separate();
  buffer_ += bracket;
  ++depth_;
  first_ = true;
}

void JsonWriter::End(char bracket) {
  --depth_;
  if (!first_) Indent();
  buffer_ += bracket;
  first_ = false;
}

void JsonWriter::Raw(std::string_view text) {
  Separate();
  buffer_ += text;
}

void JsonWriter::Text(std::string_view text) {
  if (IsPlain(text)) {
    buffer_ += '"';
    buffer_ += text;
    buffer_ += '"';
    return;
  }
  // Names in a file are arbitrary bytes; JSON is UTF-8.
  buffer_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!first_) buffer_ += ',';
  first_ = false;
  if (buffer_.size() >= kPiece) {
    sink_(buffer_);
    buffer_.clear();
  }
  Indent();
}

void JsonWriter::Indent() {
  buffer_ += '\n';
  buffer_.append(2 * depth_, ' ');
}

}  // namespace dlcost
