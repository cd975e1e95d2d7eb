#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// The words in which fields of a JSON document are told (fields/report.h tells those of a report),
// each once for the writer, the reader and the schema. These are visitors `v`:
//
//   v.Field("macs", sums.macs)             in every document
//   v.Later("producer", model.producer)    in every one but those that earlier releases wrote
//   v.If(node.assumed, "assumed", ...)     in those for which the condition holds
//   v.IfKnown("job", report.job)           where the optional has a value
//   v.Together(condition, "executed", tell)  tell() tells fields; where this one is, all of them
//   are
//
// A reader ignores conditions: where a field is not there, or null, its variable stays as it was,
// or becomes a third argument of Later. A variable is a number, a text, an enumeration by its
// Name(), a struct that has Fields(v, row), an optional (null where it has no value) or a vector of
// these, or one of the views below. v.timed(): there is a device; v.training(): a training step.

namespace dlcost::fields {

// A row to write, or one to read into.
template <typename Row, typename Of>
concept IsA = std::same_as<std::remove_const_t<Row>, Of>;

// What follows from other fields: written, and ignored by readers. A function is called by writers
// alone.
template <typename Value>
struct Told {
  Value value;
};
template <typename Value>
Told(Value) -> Told<Value>;

// An object with the fields that fields(v) tells.
template <typename Fields>
struct Object {
  Fields fields;
};
template <typename Fields>
Object(Fields) -> Object<Fields>;

// An array of objects, where fields(v, row) tells more than the row itself knows, or where not
// every row `is_there`. `Rows` is a vector, or has Each(take(row)) for writers and
// Append(fill(row)) for readers.
struct OfRow {
  void operator()(auto& v, auto& row) const { Fields(v, row); }
};
struct Always {
  bool operator()(const auto&) const { return true; }
};
template <typename Rows, typename Fields = OfRow, typename IsThere = Always>
struct List {
  Rows& rows;
  Fields fields = {};
  IsThere is_there = {};
};
template <typename Rows, typename Fields = OfRow, typename IsThere = Always>
List(Rows&, Fields = {}, IsThere = {}) -> List<Rows, Fields, IsThere>;

// An object of arbitrary names. `Entries` is a map, or has Each(take(name, value)) for writers,
// Append(name, fill(value)) for readers and, for the schema, kSample, a name that it takes.
template <typename Entries>
struct Map {
  Entries& entries;
};
template <typename Entries>
Map(Entries&) -> Map<Entries>;

// A truth in two words.
template <typename Bool>
struct Either {
  Bool& truth;
  std::string_view yes, no;
};
template <typename Bool>
Either(Bool&, std::string_view, std::string_view) -> Either<Bool>;

// A word for "no value"; "" is null.
template <typename Value>
struct Or {
  Value& value;
  std::string_view none;
};
template <typename Value>
Or(Value&, std::string_view) -> Or<Value>;

// Two ends, as an array.
template <typename End>
struct Range {
  End &low, &high;
};
template <typename End>
Range(End&, End&) -> Range<End>;

// What a reader has read into a variable, to where it belongs; writers have nothing to keep.
template <typename Place, typename Value>
void Keep(Place& place, Value&& value) {
  if constexpr (!std::is_const_v<Place>) place = std::forward<Value>(value);
}

// Calls fields(row) with what is shared; a reader fills in a row of its own, which then is.
template <typename Pointer, typename Use>
void WithShared(Pointer& shared, Use fields) {
  if constexpr (std::is_const_v<Pointer>) {
    fields(*shared);
  } else {
    auto row = std::make_shared<std::remove_const_t<typename Pointer::element_type>>();
    fields(*row);
    shared = std::move(row);
  }
}

}  // namespace dlcost::fields
