#include "columns.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace dlcost::python {
namespace {

void SetBit(std::vector<std::uint8_t>& bits, std::int64_t at, bool truth) {
  const auto byte = static_cast<std::size_t>(at / 8);
  if (bits.size() <= byte) bits.resize(byte + 1, 0);
  if (truth) bits[byte] = static_cast<std::uint8_t>(bits[byte] | 1U << (at % 8));
}

std::int32_t Offset(std::size_t size) {
  if (size > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw std::invalid_argument("a column of more than 2 GB is beyond Arrow's text and lists");
  }
  return static_cast<std::int32_t>(size);
}

}  // namespace

void Column::PadTo(std::int64_t length) {
  for (; length_ < length; ++length_, ++nulls_) {
    SetBit(valid_, length_, false);
    switch (kind_) {
      case Kind::kBool:
        SetBit(bits_, length_, false);
        break;
      case Kind::kInteger:
        integers_.push_back(0);
        break;
      case Kind::kReal:
        reals_.push_back(0);
        break;
      case Kind::kText:
      case Kind::kList:
        offsets_.push_back(offsets_.back());
        break;
      case Kind::kStruct:
        for (const Child& child : children_) child.column->PadTo(length_ + 1);
        break;
      case Kind::kNull:
        break;
    }
  }
}

// What was missing so far is missing from a column of the kind.
void Column::Become(Kind kind) {
  kind_ = kind;
  if (kind == Kind::kText || kind == Kind::kList) offsets_.push_back(0);
  const std::int64_t length = std::exchange(length_, 0);
  nulls_ = 0;
  PadTo(length);
}

void Column::Take(Kind kind) {
  if (kind_ == Kind::kNull) Become(kind);
  if (kind_ == Kind::kInteger && kind == Kind::kReal) {
    reals_.assign(integers_.begin(), integers_.end());
    integers_ = {};
    kind_ = Kind::kReal;
  }
  if (kind_ != kind && !(kind_ == Kind::kReal && kind == Kind::kInteger)) {
    throw std::invalid_argument("a column holds values of several kinds");
  }
  SetBit(valid_, length_++, true);
}

void Column::Append(bool truth) {
  Take(Kind::kBool);
  SetBit(bits_, length_ - 1, truth);
}

void Column::Append(std::int64_t number) {
  Take(Kind::kInteger);
  if (kind_ == Kind::kReal) {
    reals_.push_back(static_cast<double>(number));
  } else {
    integers_.push_back(number);
  }
}

void Column::Append(double number) {
  Take(Kind::kReal);
  reals_.push_back(number);
}

void Column::Append(std::string_view text) {
  Take(Kind::kText);
  text_ += text;
  offsets_.push_back(Offset(text_.size()));
}

Column& Column::BeginList() {
  Take(Kind::kList);
  if (children_.empty()) children_.push_back({"item", std::make_unique<Column>()});
  return *children_.front().column;
}

void Column::EndList() {
  offsets_.push_back(Offset(static_cast<std::size_t>(children_.front().column->length())));
}

Column& Column::Field(std::string_view name) {
  // Fields mostly come in the order of the row before.
  for (std::size_t tried = 0; tried < children_.size(); ++tried, ++next_) {
    if (next_ >= children_.size()) next_ = 0;
    if (children_[next_].name == name) {
      Column& found = *children_[next_++].column;
      found.PadTo(length_ - 1);
      return found;
    }
  }
  children_.push_back({std::string(name), std::make_unique<Column>()});
  next_ = 0;
  children_.back().column->PadTo(length_ - 1);
  return *children_.back().column;
}

void Column::EndStruct() {
  for (const Child& child : children_) child.column->PadTo(length_);
}

std::vector<const void*> Column::Buffers() const {
  const void* valid = nulls_ > 0 ? valid_.data() : nullptr;
  switch (kind_) {
    case Kind::kNull:
      return {};
    case Kind::kBool:
      return {valid, bits_.data()};
    case Kind::kInteger:
      return {valid, integers_.data()};
    case Kind::kReal:
      return {valid, reals_.data()};
    case Kind::kText:
      return {valid, offsets_.data(), text_.data()};
    case Kind::kList:
      return {valid, offsets_.data()};
    case Kind::kStruct:
      return {valid};
  }
  return {};
}

const char* Column::Format() const {
  switch (kind_) {
    case Kind::kNull:
      return "n";
    case Kind::kBool:
      return "b";
    case Kind::kInteger:
      return "l";
    case Kind::kReal:
      return "g";
    case Kind::kText:
      return "u";
    case Kind::kList:
      return "+l";
    case Kind::kStruct:
      return "+s";
  }
  return "";
}

namespace {

// Reads JSON as it comes and keeps nothing but the columns of the rows.
class RowReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit RowReader(std::string_view path)
      : wanted_(path), rows_(std::make_shared<Column>(Column::Kind::kStruct)) {}

  std::shared_ptr<const Column> Take() && {
    if (!found_) throw std::invalid_argument("no rows '" + wanted_ + "'");
    return std::move(rows_);
  }

  bool null() override { return Append(nullptr); }
  bool boolean(bool truth) override { return Append(truth); }
  bool number_integer(number_integer_t number) override { return Append(std::int64_t{number}); }
  bool number_unsigned(number_unsigned_t number) override {
    if (number > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return Append(static_cast<double>(number));
    }
    return Append(static_cast<std::int64_t>(number));
  }
  bool number_float(number_float_t number, const string_t&) override { return Append(number); }
  bool string(string_t& text) override { return Append(std::string_view(text)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    Place place{.in = In::kOther};
    if (!places_.empty()) {
      switch (Last().in) {
        case In::kOther:
          place.prefix = Path() + ".";
          break;
        case In::kRows:
          rows_->BeginStruct();
          place = {.in = In::kRow, .column = rows_.get()};
          break;
        case In::kRow:
        case In::kPart:
          place = {.in = In::kPart, .prefix = Path() + "."};
          break;
        case In::kList:
        case In::kStruct:
          place = {.in = In::kStruct, .column = Target()};
          place.column->BeginStruct();
          break;
      }
    }
    places_.push_back(std::move(place));
    return true;
  }
  bool key(string_t& name) override {
    Last().key = name;
    return true;
  }
  bool end_object() override {
    if (Last().column != nullptr) Last().column->EndStruct();
    places_.pop_back();
    return true;
  }

  bool start_array(std::size_t) override {
    Place place{.in = In::kOther, .prefix = "[]", .key = "[]"};  // no path of rows leads through it
    if (!places_.empty() && Last().in == In::kOther && Path() == wanted_) {
      place.in = In::kRows;
      found_ = true;
    } else if (Column* list = Target()) {
      place = {.in = In::kList, .list = list, .column = &list->BeginList()};
    }
    places_.push_back(std::move(place));
    return true;
  }
  bool end_array() override {
    if (Last().list != nullptr) Last().list->EndList();
    places_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    throw std::invalid_argument(e.what());
  }

 private:
  enum class In { kOther, kRows, kRow, kPart, kList, kStruct };
  // Where the value to come stands.
  struct Place {
    In in;
    Column* list = nullptr;    // of kList
    Column* column = nullptr;  // of kRow and kStruct; the items of kList
    std::string prefix = {}, key = {};
  };

  Place& Last() { return places_.back(); }
  std::string Path() { return Last().prefix + Last().key; }

  // The column of the value to come; null where it is of no row.
  Column* Target() {
    if (places_.empty()) return nullptr;
    switch (Last().in) {
      case In::kOther:
        return nullptr;
      case In::kRows:
        throw std::invalid_argument("'" + wanted_ + "' holds other than rows");
      case In::kRow:
        return &rows_->Field(Last().key);
      case In::kPart:
        return &rows_->Field(Path());
      case In::kStruct:
        return &Last().column->Field(Last().key);
      case In::kList:
        return Last().column;
    }
    return nullptr;
  }

  template <typename Value>
  bool Append(Value value) {
    if (Column* target = Target()) target->Append(value);
    return true;
  }

  std::string wanted_;
  std::shared_ptr<Column> rows_;
  std::vector<Place> places_;
  bool found_ = false;
};

}  // namespace

std::shared_ptr<const Column> ColumnsOf(std::string_view json, std::string_view path) {
  RowReader reader(path);
  nlohmann::json::sax_parse(json, &reader);
  return std::move(reader).Take();
}

}  // namespace dlcost::python
