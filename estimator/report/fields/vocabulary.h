#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
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
//   v.Together(condition, "executed", tell)   what tell() tells: all of it, where this one is there
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
  explicit Told(Value of) : value(std::move(of)) {}
  Value value;
};

// An object with the fields that fields(v) tells.
template <typename Fields>
struct Object {
  explicit Object(Fields tell) : fields(std::move(tell)) {}
  Fields fields;
};

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
  explicit List(Rows& of, Fields tell = {}, IsThere which = {})
      : rows(of), fields(std::move(tell)), is_there(std::move(which)) {}
  Rows& rows;
  Fields fields;
  IsThere is_there;
};

// An object of arbitrary names. `Entries` is a map, or has Each(take(name, value)) for writers,
// Append(name, fill(value)) for readers and, for the schema, kSample, a name that it takes.
template <typename Entries>
struct Map {
  explicit Map(Entries& of) : entries(of) {}
  Entries& entries;
};

// A truth in two words.
template <typename Bool>
struct Either {
  Either(Bool& of, std::string_view if_so, std::string_view if_not)
      : truth(of), yes(if_so), no(if_not) {}
  Bool& truth;
  std::string_view yes, no;
};

// A word for "no value"; "" is null.
template <typename Value>
struct Or {
  Or(Value& of, std::string_view word) : value(of), none(word) {}
  Value& value;
  std::string_view none;
};

// A mean that counts, most often: without a fraction where it has none.
struct Number {
  explicit Number(std::optional<double> of) : value(of) {}
  std::optional<double> value;
};

// Two ends, as an array.
template <typename End>
struct Range {
  Range(End& from, End& to) : low(from), high(to) {}
  End &low, &high;
};

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
