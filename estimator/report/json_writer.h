#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/core/count.h"
#include "estimator/core/units.h"

namespace dlcost {

// Takes text piece by piece.
using TextSink = std::function<void(std::string_view)>;

// Writes JSON as it is told, with memory for one piece of text: a tree of a large report would take
// many times what the report does. The same bytes as nlohmann::json::dump(2), invalid UTF-8
// replaced.
class JsonWriter {
 public:
  explicit JsonWriter(TextSink sink) : sink_(std::move(sink)) {}

  // Containers. Inside an object, every value follows its key.
  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }
  JsonWriter& Key(std::string_view name);

  void Value(std::string_view text);
  void Value(const char* text) { Value(std::string_view(text)); }
  void Value(const std::string& text) { Value(std::string_view(text)); }
  void Value(std::int64_t number);
  void Value(Count number) { Value(number.value()); }
  void Value(double number);
  void Value(bool truth) { Raw(truth ? "true" : "false"); }
  void Null() { Raw("null"); }
  template <typename Tag>
  void Value(Quantity<Tag> quantity) {
    Value(quantity.value());
  }
  template <typename Tag>
  void Value(Measure<Tag> measure) {
    Value(measure.value());
  }
  template <typename T>
  void Value(const std::optional<T>& value) {
    value ? Value(*value) : Null();
  }
  template <typename T>
  void Value(const std::vector<T>& values) {
    BeginArray();
    for (const T& value : values) Value(value);
    EndArray();
  }

  template <typename T>
  void Member(std::string_view name, const T& value) {
    Key(name).Value(value);
  }

  // After the last value: a line break, and everything goes to the sink.
  void Finish();

 private:
  void Begin(char bracket);
  void End(char bracket);
  void Raw(std::string_view text);
  void Text(std::string_view text);
  // What stands before a value: a comma, a line break.
  void Separate();
  void Indent();

  TextSink sink_;
  std::string buffer_;
  std::size_t depth_ = 0;
  bool first_ = true;  // nothing is in the innermost container yet
  bool after_key_ = false;
};

}  // namespace dlcost
