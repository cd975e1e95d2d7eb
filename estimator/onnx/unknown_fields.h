#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <string>
#include <vector>

namespace dlcost {

// Length-delimited fields that the installed onnx.proto does not know (newer IR versions): their
// bytes.
inline std::vector<std::string> UnknownBytes(const google::protobuf::Message& message, int number) {
  std::vector<std::string> found;
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() == number &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      found.push_back(field.length_delimited());
    }
  }
  return found;
}

// Field numbers that onnx 1.12's onnx.proto lacks (onnx 1.16, IR version 10).
inline constexpr int kNodeOverloadField = 8;
inline constexpr int kNodeMetadataField = 9;
inline constexpr int kFunctionAttributeProtoField = 11;
inline constexpr int kFunctionOverloadField = 13;

}  // namespace dlcost
