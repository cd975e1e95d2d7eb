#include "estimator/onnx/payload.h"

#include <cmath>
#include <cstring>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

// IEEE binary16.
double HalfToDouble(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else if (exponent == 31) {
    magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
  } else {
    magnitude = std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// bfloat16 is the upper half of a binary32.
double BfloatToDouble(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// Elements of type T as they lie in raw_data (little-endian).
template <typename T, typename Out, typename Convert>
std::vector<Out> FromRaw(const std::string& raw, Convert convert) {
  std::vector<Out> out(raw.size() / sizeof(T));
  for (std::size_t i = 0; i < out.size(); ++i) {
    T element;
    std::memcpy(&element, raw.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<Out>(convert(element));
  }
  return out;
}

template <typename T>
Value IntsFromRaw(const std::string& raw) {
  return Value(FromRaw<T, std::int64_t>(raw, [](T x) { return x; }));
}

Value ValueFromRaw(DType dtype, const std::string& raw) {
  switch (dtype) {
    case DType::kFloat32:
      return Value(FromRaw<float, double>(raw, [](float x) { return x; }));
    case DType::kFloat64:
      return Value(FromRaw<double, double>(raw, [](double x) { return x; }));
    case DType::kFloat16:
      return Value(FromRaw<std::uint16_t, double>(raw, HalfToDouble));
    case DType::kBfloat16:
      return Value(FromRaw<std::uint16_t, double>(raw, BfloatToDouble));
    case DType::kInt8:
      return IntsFromRaw<std::int8_t>(raw);
    case DType::kUint8:
    case DType::kBool:
      return IntsFromRaw<std::uint8_t>(raw);
    case DType::kInt16:
      return IntsFromRaw<std::int16_t>(raw);
    case DType::kUint16:
      return IntsFromRaw<std::uint16_t>(raw);
    case DType::kInt32:
      return IntsFromRaw<std::int32_t>(raw);
    case DType::kUint32:
      return IntsFromRaw<std::uint32_t>(raw);
    case DType::kInt64:
    case DType::kUint64:
      return IntsFromRaw<std::int64_t>(raw);
    default:
      return Value(std::vector<std::int64_t>{});
  }
}

template <typename Out, typename Field>
Value FromField(const Field& field) {
  return Value(std::vector<Out>(field.begin(), field.end()));
}

Value ValueFromFields(DType dtype, const onnx::TensorProto& tensor) {
  switch (dtype) {
    case DType::kFloat32:
      return FromField<double>(tensor.float_data());
    case DType::kFloat64:
      return FromField<double>(tensor.double_data());
    case DType::kFloat16:
    case DType::kBfloat16: {
      std::vector<double> reals;
      for (const std::int32_t bits : tensor.int32_data()) {
        const auto half = static_cast<std::uint16_t>(bits);
        reals.push_back(dtype == DType::kFloat16 ? HalfToDouble(half) : BfloatToDouble(half));
      }
      return Value(std::move(reals));
    }
    case DType::kInt64:
      return FromField<std::int64_t>(tensor.int64_data());
    case DType::kUint32:
    case DType::kUint64: {
      std::vector<std::int64_t> ints;
      for (const std::uint64_t x : tensor.uint64_data())
        ints.push_back(static_cast<std::int64_t>(x));
      return Value(std::move(ints));
    }
    case DType::kInt8:
    case DType::kUint8:
    case DType::kBool:
    case DType::kInt16:
    case DType::kUint16:
    case DType::kInt32:
      return FromField<std::int64_t>(tensor.int32_data());
    default:
      return Value(std::vector<std::int64_t>{});
  }
}

Shape ShapeOf(const google::protobuf::RepeatedField<std::int64_t>& dims) {
  for (const std::int64_t dim : dims) {
    if (dim < 0) throw Error("the stored dimension {} is negative", dim);
  }
  return Shape(std::vector<std::int64_t>(dims.begin(), dims.end()));
}

}  // namespace

StoredTensor ToStoredTensor(const onnx::TensorProto& tensor) {
  StoredTensor stored;
  stored.dtype = DTypeFromOnnx(tensor.data_type());
  if (stored.dtype == DType::kUndefined) {
    throw Error("the stored element type {} is not known", tensor.data_type());
  }
  stored.shape = ShapeOf(tensor.dims());
  const Count elements = stored.shape.Elements();
  stored.stored = SizeOf(stored.dtype, elements);
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return stored;
  if (elements > Count(kMaxValueElements)) return stored;
  Value value = tensor.has_raw_data() ? ValueFromRaw(stored.dtype, tensor.raw_data())
                                      : ValueFromFields(stored.dtype, tensor);
  if (static_cast<std::int64_t>(value.size()) == elements.value()) {
    stored.value = std::make_shared<const Value>(std::move(value));
  }
  return stored;
}

StoredTensor ToStoredTensor(const onnx::SparseTensorProto& tensor) {
  StoredTensor stored = ToStoredTensor(tensor.values());
  const StoredTensor indices = ToStoredTensor(tensor.indices());
  stored.stored += indices.stored;
  stored.shape = ShapeOf(tensor.dims());
  stored.shape.Elements();
  stored.value = nullptr;
  return stored;
}

}  // namespace dlcost
