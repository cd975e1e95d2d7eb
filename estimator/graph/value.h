#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace dlcost {

// The known content of a small tensor: integers (bool as 0 and 1) or reals, row-major. Kept only so
// that shape arithmetic and operator parameters resolve; weights have none.
class Value {
 public:
  explicit Value(std::vector<std::int64_t> ints) : data_(std::move(ints)) {}
  explicit Value(std::vector<double> reals) : data_(std::move(reals)) {}

  bool is_integer() const { return data_.index() == 0; }
  std::size_t size() const { return is_integer() ? ints().size() : reals().size(); }
  // Only when is_integer() / only when not.
  const std::vector<std::int64_t>& ints() const { return std::get<0>(data_); }
  const std::vector<double>& reals() const { return std::get<1>(data_); }
  // Element i as a real, whatever the representation.
  double Real(std::size_t i) const {
    return is_integer() ? static_cast<double>(ints()[i]) : reals()[i];
  }

 private:
  std::variant<std::vector<std::int64_t>, std::vector<double>> data_;
};

using ValuePtr = std::shared_ptr<const Value>;

// Larger tensors have no value. Enough for shape arithmetic over hundreds of dimensions and for the
// position tables (Range, NonZero of ones) that old exporters index with.
inline constexpr std::int64_t kMaxValueElements = 4096;

}  // namespace dlcost
