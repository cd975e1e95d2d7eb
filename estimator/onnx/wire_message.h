#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlcost {

// A protobuf message that the installed onnx.proto does not know, field by field.
struct WireField {
  int number = 0;
  std::int64_t value = 0;  // of varints
  std::string bytes;       // of strings and messages
};

// The fields of a serialized message. Throws Error for anything that is not valid protobuf.
std::vector<WireField> WireFields(std::string_view message);

}  // namespace dlcost
