#pragma once

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/report/fields/names.h"
#include "estimator/report/fields/vocabulary.h"

namespace dlcost {

// Reads the fields of rows (report/fields/vocabulary.h) from a JSON object. What is missing or of
// the wrong kind is an Error that says where: "kernels: row 3: macs: not an integer of 64 bits".
class FieldReader {
 public:
  using Json = nlohmann::ordered_json;  // as it was written: work is told in that order
  using Nodes = std::unordered_map<std::string, std::size_t>;

  // `nodes` are indices of nodes by name. Fields that earlier releases did not have, and this
  // object has not, go to `untold` by name, but for those of rows.
  FieldReader(const Json& object, const Nodes& nodes, std::set<std::string>* untold = nullptr)
      : object_(object), nodes_(nodes), untold_(untold) {
    if (!object.is_object()) throw Error("not an object");
  }

  // Readers take what is there.
  bool timed() const { return true; }
  bool training() const { return true; }

  template <typename T>
  void Field(std::string_view name, T&& value) {
    if (!Find(name, value)) throw Error("key '{}' not found", name);
  }
  template <typename T>
  void Later(std::string_view name, T&& value) {
    if (!Find(name, value) && untold_ != nullptr) untold_->emplace(name);
  }
  template <typename T, typename Otherwise>
  void Later(std::string_view name, T& value, const Otherwise& otherwise) {
    if (!Find(name, value)) value = otherwise;
  }
  template <typename T>
  void If(bool, std::string_view name, T&& value) {
    Find(name, value);
  }
  template <typename T>
  void IfKnown(std::string_view name, std::optional<T>& value) {
    Find(name, value);
  }
  template <typename Tell>
  void Together(bool, std::string_view name, Tell tell) {
    if (object_.contains(name)) tell();
  }
  void Node(std::string_view name, std::size_t& index) {
    std::string node;
    if (!Find(name, node)) return;
    const auto found = nodes_.find(node);
    if (found == nodes_.end()) throw Error("{}: no node '{}'", name, Printable(node));
    index = found->second;
  }

 private:
  template <typename T>
  bool Find(std::string_view, fields::Told<T>&) {
    return true;
  }
  // Whether the field is there.
  template <typename T>
  bool Find(std::string_view name, T& value) {
    const auto found = object_.find(name);
    if (found == object_.end()) return false;
    At([&] { return std::string(name); }, [&] { Read(*found, value); });
    return true;
  }
  // Errors in `read` say where they are.
  template <typename Where, typename Reads>
  static void At(Where where, Reads read) {
    try {
      read();
    } catch (const Error& error) {
      throw error.At(where());
    }
  }

  static void Read(const Json& json, bool& truth) {
    if (!json.is_boolean()) throw Error("not true or false");
    truth = json.get<bool>();
  }
  static void Read(const Json& json, std::string& text) {
    if (!json.is_string()) throw Error("not a text");
    text = json.get<std::string>();
  }
  static void Read(const Json& json, double& number) {
    if (!json.is_number()) throw Error("not a number");
    number = json.get<double>();
  }
  static void Read(const Json& json, std::int64_t& number) {
    const bool room = !json.is_number_unsigned() || json.get<std::uint64_t>() >> 63 == 0;
    if (!json.is_number_integer() || !room) throw Error("not an integer of 64 bits");
    number = json.get<std::int64_t>();
  }
  static void Read(const Json& json, int& number) {
    const auto wide = Get<std::int64_t>(json);
    if (!std::in_range<int>(wide)) throw Error("not an integer of 32 bits");
    number = static_cast<int>(wide);
  }
  static void Read(const Json& json, Count& count) { count = Get<std::int64_t>(json); }
  void Read(const Json& json, Shape& shape) {
    std::vector<std::int64_t> dims;
    Read(json, dims);
    shape = Shape(std::move(dims));
  }
  template <typename Tag>
  static void Read(const Json& json, Quantity<Tag>& quantity) {
    quantity = Quantity<Tag>(Get<std::int64_t>(json));
  }
  template <typename Tag>
  static void Read(const Json& json, Measure<Tag>& measure) {
    measure = Measure<Tag>(Get<double>(json));
  }
  template <typename T>
  static T Get(const Json& json) {
    T value = {};
    Read(json, value);
    return value;
  }

  template <typename Enum>
  static void ReadNamed(const Json& json, Enum& value) {
    const std::string name = Get<std::string>(json);
    const std::optional<Enum> found = fields::FindNamed<Enum>(name);
    if (!found) throw Error("'{}' is none of its values", Printable(name));
    value = *found;
  }
  template <typename T>
  void Read(const Json& json, T& value) {
    if constexpr (std::is_enum_v<T>) {
      ReadNamed(json, value);
    } else {
      FieldReader inner(json, nodes_, untold_);
      Fields(inner, value);
    }
  }
  template <typename T>
  void Read(const Json& json, std::optional<T>& value) {
    value.reset();
    if (!json.is_null()) Read(json, value.emplace());
  }
  // Calls read(json, row) for each element.
  template <typename Reads>
  static void ReadArray(const Json& json, Reads read) {
    if (!json.is_array()) throw Error("not a list");
    for (std::size_t i = 0; i < json.size(); ++i) {
      At([&] { return fmt::format("row {}", i); }, [&] { read(json[i]); });
    }
  }
  template <typename T>
  void Read(const Json& json, std::vector<T>& values) {
    values.clear();
    FieldReader rows(object_, nodes_);
    ReadArray(json, [&](const Json& one) { rows.Read(one, values.emplace_back()); });
  }
  template <typename T, std::size_t kSize>
  void Read(const Json& json, std::array<T, kSize>& values) {
    if (json.size() != kSize) throw Error("not {} values", kSize);
    auto value = values.begin();
    ReadArray(json, [&](const Json& one) { Read(one, *value++); });
  }
  void Read(const Json& json, Operands& operands) {
    ReadArray(json, [&](const Json& one) {
      Operand operand;
      Read(one, operand);
      operands.Add(std::move(operand));
    });
  }

  template <typename T>
  void Read(const Json& json, fields::Object<T>& object) {
    FieldReader inner(json, nodes_, untold_);
    object.fields(inner);
  }
  template <typename Rows, typename Tell, typename IsThere>
  void Read(const Json& json, fields::List<Rows, Tell, IsThere>& list) {
    ReadArray(json, [&](const Json& one) {
      FieldReader inner(one, nodes_);
      const auto fill = [&](auto& row) { list.fields(inner, row); };
      if constexpr (requires { list.rows.Append(fill); }) {
        list.rows.Append(fill);
      } else {
        fill(list.rows.emplace_back());
      }
    });
  }
  template <typename Entries>
  void Read(const Json& json, fields::Map<Entries>& map) {
    if (!json.is_object()) throw Error("not an object");
    for (const auto& item : json.items()) {
      const auto fill = [&](auto& value) { Read(item.value(), value); };
      const auto read = [&] {
        if constexpr (requires { map.entries.Append(item.key(), fill); }) {
          map.entries.Append(item.key(), fill);
        } else {
          fill(map.entries[item.key()]);
        }
      };
      At([&] { return Printable(item.key()); }, read);
    }
  }
  template <typename T>
  static void Read(const Json& json, fields::Either<T>& word) {
    const std::string text = Get<std::string>(json);
    if (text != word.yes && text != word.no) {
      throw Error("'{}' is neither {} nor {}", Printable(text), word.yes, word.no);
    }
    word.truth = text == word.yes;
  }
  static void Read(const Json& json, fields::Or<std::string>& text) {
    text.value = json.is_null() ? "" : Get<std::string>(json);
  }
  template <typename T>
  static void Read(const Json& json, fields::Or<std::optional<T>>& word) {
    word.value.reset();
    if (!json.is_string() || json != word.none) ReadNamed(json, word.value.emplace());
  }
  template <typename T>
  void Read(const Json& json, fields::Range<T>& range) {
    if (json.size() != 2) throw Error("not two values");
    Read(json[0], range.low);
    Read(json[1], range.high);
  }

  const Json& object_;
  const Nodes& nodes_;
  std::set<std::string>* untold_;
};

}  // namespace dlcost
