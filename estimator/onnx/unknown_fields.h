#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dlcost {

// Length-delimited fields that the installed onnx.proto does not know (newer IR versions): their
// bytes. Messages keep such fields as they came.
template <typename Message>
std::vector<std::string> UnknownBytes(const Message& message, int number) {
  using Wire = google::protobuf::internal::WireFormatLite;
  std::vector<std::string> found;
  const std::string& fields = message.unknown_fields();
  if (fields.empty()) return found;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(fields.data()),
                                            static_cast<int>(fields.size()));
  while (const std::uint32_t tag = in.ReadTag()) {
    if (Wire::GetTagFieldNumber(tag) != number ||
        Wire::GetTagWireType(tag) != Wire::WIRETYPE_LENGTH_DELIMITED) {
      if (!Wire::SkipField(&in, tag)) break;
      continue;
    }
    std::uint32_t length = 0;
    std::string bytes;
    if (!in.ReadVarint32(&length) || !in.ReadString(&bytes, static_cast<int>(length))) break;
    found.push_back(std::move(bytes));
  }
  return found;
}

// Field numbers that onnx 1.12's onnx.proto lacks (onnx 1.16, IR version 10).
inline constexpr int kNodeOverloadField = 8;
inline constexpr int kNodeMetadataField = 9;
inline constexpr int kFunctionAttributeProtoField = 11;
inline constexpr int kFunctionOverloadField = 13;

}  // namespace dlcost
