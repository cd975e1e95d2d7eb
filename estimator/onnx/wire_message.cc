#include "estimator/onnx/wire_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

using Wire = google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

}  // namespace

std::vector<WireField> WireFields(std::string_view message) {
  std::vector<WireField> fields;
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                      static_cast<int>(message.size()));
  while (const std::uint32_t tag = in.ReadTag()) {
    WireField field{.number = Wire::GetTagFieldNumber(tag)};
    bool good = true;
    if (Wire::GetTagWireType(tag) == Wire::WIRETYPE_VARINT) {
      std::uint64_t value = 0;
      good = in.ReadVarint64(&value);
      field.value = static_cast<std::int64_t>(value);
    } else if (Wire::GetTagWireType(tag) == Wire::WIRETYPE_LENGTH_DELIMITED) {
      std::uint32_t length = 0;
      good = in.ReadVarint32(&length) && length <= message.size() &&
             in.ReadString(&field.bytes, static_cast<int>(length));
    } else {
      good = Wire::SkipField(&in, tag);
    }
    if (!good) throw Error("not a valid ONNX file: device annotations end in the middle");
    fields.push_back(std::move(field));
  }
  if (!in.ConsumedEntireMessage()) {
    throw Error("not a valid ONNX file: device annotations end in the middle");
  }
  return fields;
}

}  // namespace dlcost
