#include "estimator/onnx/skeleton.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "estimator/core/dtype.h"
#include "estimator/core/error.h"
#include "estimator/onnx/varint.h"

namespace dlcost {
namespace {

// The messages of onnx.proto that can contain a tensor, and TensorProto itself. The numbers below
// are its field numbers.
enum class Message { kModel, kGraph, kNode, kAttribute, kFunction, kSparseTensor, kTensor };

struct ChildField {
  std::uint32_t number;
  Message type;
};

struct Schema {
  std::initializer_list<ChildField> children;
  std::initializer_list<std::uint32_t> dropped;
};

const Schema& SchemaOf(Message message) {
  static const std::array<Schema, 7> schemas = {{
      // ModelProto: graph, functions; drops doc_string, training_info
      {{{7, Message::kGraph}, {25, Message::kFunction}}, {6, 20}},
      // GraphProto: node, initializer, sparse_initializer; drops doc_string
      {{{1, Message::kNode}, {5, Message::kTensor}, {15, Message::kSparseTensor}}, {10}},
      // NodeProto: attribute; drops doc_string
      {{{5, Message::kAttribute}}, {6}},
      // AttributeProto: t, g, tensors, graphs, sparse_tensor, sparse_tensors; drops doc_string
      {{{5, Message::kTensor},
        {6, Message::kGraph},
        {10, Message::kTensor},
        {11, Message::kGraph},
        {22, Message::kSparseTensor},
        {23, Message::kSparseTensor}},
       {13}},
      // FunctionProto: node, attribute_proto; drops doc_string
      {{{7, Message::kNode}, {11, Message::kAttribute}}, {8}},
      // SparseTensorProto: values, indices
      {{{1, Message::kTensor}, {2, Message::kTensor}}, {}},
      // TensorProto: drops doc_string; its payloads are handled on their own
      {{}, {12}},
  }};
  return schemas[static_cast<std::size_t>(message)];
}

constexpr std::uint32_t kTensorDims = 1, kTensorType = 2, kTensorName = 8, kTensorRaw = 9;

bool IsPayload(std::uint32_t number) {
  // float_data, int32_data, string_data, int64_data, raw_data, double_data, uint64_data
  return (number >= 4 && number <= 7) || (number >= 9 && number <= 11);
}

class Extractor {
 public:
  Extractor(std::string_view in, const std::function<void(std::size_t)>& passed)
      : in_(in), passed_(passed) {
    // Room for most graphs, so that it is not copied while it grows; what stays unused costs
    // nothing.
    out_.reserve(std::min(in.size() + in.size() / 8, std::size_t{64} << 20));
  }

  std::string Run() {
    Copy(Message::kModel, in_.size(), 0);
    return std::move(out_);
  }

 private:
  [[noreturn]] void Fail(const char* what) const {
    throw Error("not a valid ONNX file: {} at byte {}", what, pos_);
  }

  std::uint64_t ReadVarint(std::size_t end) {
    std::uint64_t value = 0;
    const Varint read = dlcost::ReadVarint(in_, end, pos_, value);
    if (read == Varint::kTruncated) Fail("truncated number");
    if (read == Varint::kOverlong) Fail("overlong number");
    return value;
  }

  void WriteVarint(std::uint64_t value) { dlcost::WriteVarint(value, out_); }

  // Moves past a field's value; returns where the value's bytes begin.
  std::size_t SkipValue(std::uint32_t wire_type, std::size_t end, std::uint64_t* varint) {
    std::size_t begin = pos_;
    std::uint64_t length = 0;
    switch (wire_type) {
      case 0:
        *varint = ReadVarint(end);
        return begin;
      case 1:
        length = 8;
        break;
      case 2:
        length = ReadVarint(end);
        begin = pos_;
        break;
      case 5:
        length = 4;
        break;
      default:
        Fail("unknown wire type");
    }
    if (length > end - pos_) Fail("truncated field");
    pos_ += static_cast<std::size_t>(length);
    return begin;
  }

  void Copy(Message message, std::size_t end, int depth) {
    if (depth > kMaxMessageDepth) Fail("subgraphs nested too deep");
    if (message == Message::kTensor) return CopyTensor(end);
    const Schema& schema = SchemaOf(message);
    while (pos_ < end) {
      const std::size_t field_begin = pos_;
      const std::uint64_t tag = ReadVarint(end);
      const auto number = static_cast<std::uint32_t>(tag >> 3);
      const auto wire_type = static_cast<std::uint32_t>(tag & 7);
      if (number == 0) Fail("field number 0");
      const ChildField* child = nullptr;
      for (const ChildField& candidate : schema.children) {
        if (wire_type == 2 && candidate.number == number) child = &candidate;
      }
      if (child != nullptr) {
        const std::uint64_t length = ReadVarint(end);
        if (length > end - pos_) Fail("truncated field");
        CopyChild(number, child->type, pos_ + static_cast<std::size_t>(length), depth);
        continue;
      }
      std::uint64_t ignored = 0;
      SkipValue(wire_type, end, &ignored);
      bool drop = false;
      for (const std::uint32_t dropped : schema.dropped) drop |= dropped == number;
      if (!drop) out_.append(in_.substr(field_begin, pos_ - field_begin));
    }
  }

  // A child's length is only known afterwards: leave room for a five-byte varint and fill it in.
  void CopyChild(std::uint32_t number, Message type, std::size_t end, int depth) {
    WriteVarint((std::uint64_t{number} << 3) | 2);
    const std::size_t length_at = out_.size();
    out_.append(5, '\0');
    Copy(type, end, depth + 1);
    std::uint64_t length = out_.size() - length_at - 5;
    if (length >> 31 != 0) Fail("more than 2 GiB of graph structure");
    for (std::size_t i = 0; i < 5; ++i) {
      out_[length_at + i] = static_cast<char>((length & 0x7f) | (i < 4 ? 0x80 : 0));
      length >>= 7;
    }
  }

  void CopyTensor(std::size_t end) {
    Count elements = 1;
    bool overflow = false;
    DType dtype = DType::kUndefined;
    std::string_view name;
    std::size_t raw_bytes = 0;
    std::size_t kept = 0;
    const auto dimension = [&](std::uint64_t dim) {
      const auto size = static_cast<std::int64_t>(dim);
      if (size < 0) Fail("negative dimension of a tensor");
      std::int64_t product = 0;
      overflow |= __builtin_mul_overflow(elements.value(), size, &product);
      elements = product;
    };
    while (pos_ < end) {
      const std::size_t field_begin = pos_;
      const std::uint64_t tag = ReadVarint(end);
      const auto number = static_cast<std::uint32_t>(tag >> 3);
      const auto wire_type = static_cast<std::uint32_t>(tag & 7);
      if (number == 0) Fail("field number 0");
      std::uint64_t varint = 0;
      const std::size_t begin = SkipValue(wire_type, end, &varint);
      const std::size_t value_end = pos_;
      if (number == kTensorDims && wire_type == 0) dimension(varint);
      if (number == kTensorDims && wire_type == 2) {
        for (pos_ = begin; pos_ < value_end;) dimension(ReadVarint(value_end));
      }
      if (number == kTensorType && wire_type == 0) dtype = DTypeFromOnnx(static_cast<int>(varint));
      if (number == kTensorName) name = in_.substr(begin, value_end - begin);
      if (number == kTensorRaw) raw_bytes = value_end - begin;
      if (number == 12) continue;  // doc_string
      if (IsPayload(number)) {
        kept += value_end - field_begin;
        if (kept > kKeptPayloadBytes) continue;
      }
      out_.append(in_.substr(field_begin, value_end - field_begin));
    }
    if (raw_bytes != 0 && Bits(dtype) != 0 &&
        (overflow || SizeOf(dtype, elements) != Bytes(static_cast<std::int64_t>(raw_bytes)))) {
      throw Error("tensor '{}' has {} bytes of data, which its shape and type contradict",
                  Printable(std::string(name)), raw_bytes);
    }
    if (passed_ && pos_ - reported_ >= kReportEvery) passed_(reported_ = pos_);
  }

  static constexpr std::size_t kReportEvery = std::size_t{4} << 20;

  std::string_view in_;
  const std::function<void(std::size_t)>& passed_;
  std::size_t reported_ = 0;
  std::size_t pos_ = 0;
  std::string out_;
};

}  // namespace

std::string ExtractSkeleton(std::string_view model,
                            const std::function<void(std::size_t)>& passed) {
  return Extractor(model, passed).Run();
}

}  // namespace dlcost
