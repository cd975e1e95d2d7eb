#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string>
#include <string_view>

#include "estimator/report/fields/names.h"
#include "estimator/report/fields/report.h"

// docs/schema/NAME.schema.json is what a table of fields says. After a change of the table,
// DLCOST_WRITE_SCHEMA=1 writes it, and schema_fields.py --write the meanings.

namespace dlcost {

using Json = nlohmann::ordered_json;

// Visits fields (fields/vocabulary.h) for their JSON Schema: of variables it takes the types alone.
class SchemaFields {
 public:
  // Rows with a schema of their own go into `definitions`, once.
  explicit SchemaFields(Json& definitions) : definitions_(definitions) {}

  Json Schema() const {
    Json schema = {{"type", "object"}, {"properties", properties_}};
    if (!required_.empty()) schema["required"] = required_;
    return schema;
  }

  bool timed() const { return true; }
  bool training() const { return true; }
  template <typename T>
  void Field(std::string_view name, T&& value) {
    If(true, name, value);
    required_.push_back(name);
  }
  template <typename T>
  void Later(std::string_view name, T&& value, const auto&...) {
    If(true, name, value);
  }
  template <typename T>
  void If(bool, std::string_view name, T&& value) {
    properties_[std::string(name)] = Of(value);
  }
  template <typename T>
  void IfKnown(std::string_view name, std::optional<T>& value) {
    If(true, name, value.emplace());
  }
  void Together(bool, std::string_view, auto tell) { tell(); }
  void Node(std::string_view name, std::size_t) { If(true, name, std::string()); }

 private:
  template <typename T>
  Json Of(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, Count>) {
      return {{"type", "integer"}};
    } else if constexpr (std::is_floating_point_v<T>) {
      return {{"type", "number"}};
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      return {{"type", "string"}};
    } else if constexpr (std::is_enum_v<T>) {
      return OfEnum<T>();
    } else if constexpr (std::ranges::range<T>) {
      std::remove_cvref_t<decltype(*value.begin())> one = {};
      return {{"type", "array"}, {"items", Of(one)}};
    } else {
      return OfRow(value);
    }
  }
  template <typename Enum>
  static Json OfEnum() {
    // Too many to list, and there will be more.
    if (std::is_same_v<Enum, DType> || std::is_same_v<Enum, Algorithm>) return {{"type", "string"}};
    Json names = Json::array();
    for (int i = 0; i <= static_cast<int>(fields::kLast<Enum>); ++i) {
      names.push_back(Name(static_cast<Enum>(i)));
    }
    return {{"enum", names}};
  }
  template <typename T>
  Json OfRow(T& row) {
    const char* name = std::is_same_v<T, Operand>   ? "operand"
                       : std::is_same_v<T, NodeRow> ? "node"
                                                    : nullptr;
    if (name != nullptr && definitions_.contains(name)) return Reference(name);
    const Json schema = Tell([&](SchemaFields& inner) { Fields(inner, row); });
    if (name == nullptr) return schema;
    definitions_[name] = schema;
    return Reference(name);
  }
  static Json Reference(const std::string& name) { return {{"$ref", "#/$defs/" + name}}; }
  Json Tell(auto tell) {
    SchemaFields inner(definitions_);
    tell(inner);
    return inner.Schema();
  }

  template <typename Tag>
  Json Of(Quantity<Tag>&) {
    return {{"type", "integer"}};
  }
  template <typename Tag>
  Json Of(Measure<Tag>&) {
    return {{"type", "number"}};
  }
  template <typename T>
  Json Of(std::optional<T>& value) {
    Json schema = Of(value.emplace());
    if (!schema.contains("type") || schema["type"] == "object" || schema["type"] == "array") {
      return {{"anyOf", {{{"type", "null"}}, schema}}};
    }
    // Named types: clang 14 never destroys what a list in braces is assigned over.
    schema["type"] = Json::array({schema["type"], "null"});
    return schema;
  }
  template <typename T>
  Json Of(fields::Told<T>& told) {
    if constexpr (std::is_invocable_v<T&>) {
      std::remove_cvref_t<decltype(told.value())> value = {};
      return Of(value);
    } else {
      return Of(told.value);
    }
  }
  template <typename T>
  Json Of(fields::Object<T>& object) {
    return Tell([&](SchemaFields& inner) { object.fields(inner); });
  }
  template <typename Rows, typename Tells, typename IsThere>
  Json Of(fields::List<Rows, Tells, IsThere>& list) {
    Json items;
    const auto fill = [&](auto& row) {
      items = Tell([&](SchemaFields& inner) { list.fields(inner, row); });
    };
    if constexpr (requires { list.rows.Append(fill); }) {
      list.rows.Append(fill);
    } else {
      fill(list.rows.emplace_back());
    }
    return {{"type", "array"}, {"items", items}};
  }
  template <typename Entries>
  Json Of(fields::Map<Entries>& map) {
    Json values;
    const auto fill = [&](auto& value) { values = Of(value); };
    if constexpr (requires { map.entries.Append("", fill); }) {
      map.entries.Append(Entries::kSample, fill);
    } else {
      fill(map.entries[""]);
    }
    return {{"type", "object"}, {"additionalProperties", values}};
  }
  Json Of(fields::Number&) { return {{"type", {"number", "null"}}}; }
  template <typename T>
  Json Of(fields::Either<T>& word) {
    return {{"enum", {word.yes, word.no}}};
  }
  template <typename T>
  Json Of(fields::Or<T>& word) {
    if (word.none.empty()) return {{"type", {"string", "null"}}};
    return {{"type", "string"}};
  }
  template <typename T>
  Json Of(fields::Range<T>& range) {
    std::optional<Json> end;
    if constexpr (requires { *range.low; }) {
      end = Of(range.low.emplace());
    } else {
      end = Of(range.low);
    }
    return {{"type", "array"}, {"items", *end}};
  }

  Json properties_ = Json::object(), required_ = Json::array();
  Json& definitions_;
};

// The schema dlcost.NAME/VERSION of a document with Fields(v, document).
template <typename Document>
Json SchemaOf(std::string_view name, std::string_view id, Document& document) {
  Json definitions = Json::object();
  SchemaFields fields(definitions);
  Fields(fields, document);
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"$id", id},
                 {"title", "dlcost " + std::string(name)}};
  schema.update(fields.Schema());
  schema["properties"]["schema"] = Json::object({{"const", id}});
  if (!definitions.empty()) schema["$defs"] = definitions;
  return schema;
}

// Meanings are those of fields.txt.
inline Json WithoutMeanings(Json schema) {
  if (schema.is_object() && schema.contains("description")) schema.erase("description");
  for (Json& part : schema) {
    if (part.is_structured()) part = WithoutMeanings(part);
  }
  return schema;
}

template <typename Document>
void ExpectSchema(const std::string& name, std::string_view id, Document& document) {
  const std::string path = std::string(DLCOST_SOURCE_DIR) + "/docs/schema/" + name + ".schema.json";
  const Json schema = SchemaOf(name, id, document);
  if (std::getenv("DLCOST_WRITE_SCHEMA") != nullptr) {
    std::ofstream(path) << schema.dump(1) << '\n';
    return;
  }
  std::ifstream file(path);
  const Json differences = Json::diff(WithoutMeanings(Json::parse(file)), schema);
  EXPECT_TRUE(differences.empty())
      << differences.dump(1)
      << "\nwrite it with DLCOST_WRITE_SCHEMA=1, then schema_fields.py . --write";
}

}  // namespace dlcost
