#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dlcost::python {

// A column of a table as Arrow's columnar format lays it out, grown value by value. What a column
// holds is what comes first: integers give way to reals, anything may be missing, and any other
// mixture is a std::invalid_argument.
class Column {
 public:
  enum class Kind { kNull, kBool, kInteger, kReal, kText, kList, kStruct };

  explicit Column(Kind kind = Kind::kNull) : kind_(kind) {}

  Kind kind() const { return kind_; }
  std::int64_t length() const { return length_; }
  std::int64_t nulls() const { return nulls_; }
  // Missing values up to `length`.
  void PadTo(std::int64_t length);

  void Append(std::nullptr_t) { PadTo(length_ + 1); }
  void Append(bool truth);
  void Append(std::int64_t number);
  void Append(double number);
  void Append(std::string_view text);
  // A list: what is appended to Items() until EndList() is in it.
  Column& BeginList();
  void EndList();
  // A structure: at most one value is appended to each Field() until EndStruct().
  void BeginStruct() { Take(Kind::kStruct); }
  Column& Field(std::string_view name);
  void EndStruct();

  // As Arrow has it: validity (null where nothing is missing), then offsets or values, then text.
  std::vector<const void*> Buffers() const;
  const char* Format() const;
  struct Child {
    std::string name;
    std::unique_ptr<Column> column;
  };
  const std::vector<Child>& children() const { return children_; }

 private:
  // One more value, of a kind.
  void Take(Kind kind);
  void Become(Kind kind);

  Kind kind_ = Kind::kNull;
  std::int64_t length_ = 0, nulls_ = 0;
  std::vector<std::uint8_t> valid_, bits_;
  std::vector<std::int64_t> integers_;
  std::vector<double> reals_;
  std::vector<std::int32_t> offsets_;
  std::string text_;
  std::vector<Child> children_;
  std::size_t next_ = 0;  // the child whose field most likely comes next
};

// The rows of a result as columns, in the order in which fields first come: the array at `path`
// ("kernels", "step.phases") of a JSON object. Objects in a row are columns of their own
// ("work.add"), those in lists structures. Throws std::invalid_argument for what is no such array.
std::shared_ptr<const Column> ColumnsOf(std::string_view json, std::string_view path);

}  // namespace dlcost::python
