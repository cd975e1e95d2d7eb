#pragma once

#include <cmath>
#include <concepts>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

#include "estimator/core/integer.h"
#include "estimator/report/fields/vocabulary.h"
#include "estimator/report/json_writer.h"
#include "estimator/report/report.h"

namespace dlcost {

// Writes the fields of rows (fields/vocabulary.h) as members of the object that `json` is in.
class JsonFields {
 public:
  JsonFields(JsonWriter& json, bool timed) : json_(json), timed_(timed) {}
  JsonFields(JsonWriter& json, const Report& report)
      : json_(json), timed_(report.device.has_value()), report_(&report) {}

  bool timed() const { return timed_; }
  bool training() const { return report_ != nullptr && report_->step != nullptr; }

  template <typename T>
  void Field(std::string_view name, const T& value) {
    json_.Key(name);
    Put(value);
  }
  template <typename T>
  void Later(std::string_view name, const T& value) {
    Field(name, value);
  }
  template <typename T, typename Otherwise>
  void Later(std::string_view name, const T& value, const Otherwise&) {
    Field(name, value);
  }
  template <typename T>
  void If(bool condition, std::string_view name, const T& value) {
    if (condition) Field(name, value);
  }
  template <typename T>
  void IfKnown(std::string_view name, const std::optional<T>& value) {
    if (value) Field(name, *value);
  }
  template <typename Tell>
  void Together(bool condition, std::string_view, Tell tell) {
    if (condition) tell();
  }
  void Node(std::string_view name, std::size_t index) { Field(name, report_->nodes[index].name); }

 private:
  template <typename T>
  void Put(const T& value) {
    if constexpr (requires { Fields(*this, value); }) {
      PutObject([&] { Fields(*this, value); });
    } else if constexpr (std::is_enum_v<T>) {
      json_.Value(Name(value));
    } else if constexpr (std::ranges::range<T> && !std::convertible_to<T, std::string_view>) {
      json_.BeginArray();
      for (const auto& one : value) Put(one);
      json_.EndArray();
    } else {
      json_.Value(value);
    }
  }
  void Put(int value) { json_.Value(std::int64_t{value}); }
  template <typename T>
  void Put(const std::optional<T>& value) {
    value ? Put(*value) : json_.Null();
  }
  template <typename T>
  void Put(const fields::Told<T>& told) {
    if constexpr (std::is_invocable_v<const T&>) {
      Put(told.value());
    } else {
      Put(told.value);
    }
  }
  template <typename T>
  void Put(const fields::Object<T>& object) {
    PutObject([&] { object.fields(*this); });
  }
  template <typename Rows, typename Tell, typename IsThere>
  void Put(const fields::List<Rows, Tell, IsThere>& list) {
    const auto put = [&](const auto& row) {
      if (list.is_there(row)) PutObject([&] { list.fields(*this, row); });
    };
    json_.BeginArray();
    if constexpr (requires { list.rows.Each(put); }) {
      list.rows.Each(put);
    } else {
      for (const auto& row : list.rows) put(row);
    }
    json_.EndArray();
  }
  template <typename Entries>
  void Put(const fields::Map<Entries>& map) {
    const auto put = [&](std::string_view name, const auto& value) { Field(name, value); };
    PutObject([&] {
      if constexpr (requires { map.entries.Each(put); }) {
        map.entries.Each(put);
      } else {
        for (const auto& [name, value] : map.entries) put(name, value);
      }
    });
  }
  template <typename T>
  void Put(const fields::Either<T>& word) {
    json_.Value(word.truth ? word.yes : word.no);
  }
  void Put(const fields::Number& number) {
    constexpr double kLargest = 9e18;  // about 2^63
    const std::optional<double>& value = number.value;
    if (value && *value == std::floor(*value) && std::abs(*value) < kLargest) {
      json_.Value(Truncate(*value));
    } else {
      Put(value);
    }
  }
  void Put(const fields::Or<const std::string>& text) {
    text.value.empty() ? json_.Null() : json_.Value(text.value);
  }
  template <typename T>
  void Put(const fields::Or<const std::optional<T>>& word) {
    json_.Value(word.value ? Name(*word.value) : word.none);
  }
  template <typename T>
  void Put(const fields::Range<T>& range) {
    json_.BeginArray();
    Put(range.low);
    Put(range.high);
    json_.EndArray();
  }

  template <typename Tell>
  void PutObject(Tell tell) {
    json_.BeginObject();
    tell();
    json_.EndObject();
  }

  JsonWriter& json_;
  bool timed_;
  const Report* report_ = nullptr;
};

// The JSON of a document that has Fields(v, document).
template <typename Document>
std::string RenderFields(const Document& document, bool timed) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  json.BeginObject();
  JsonFields fields(json, timed);
  Fields(fields, document);
  json.EndObject();
  json.Finish();
  return text;
}

}  // namespace dlcost
