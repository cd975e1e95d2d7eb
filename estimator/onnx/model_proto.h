#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>

namespace dlcost {

// Parses what ExtractSkeleton left of a file. Throws Error for what is not valid.
void ParseSkeleton(const std::string& skeleton, onnx::ModelProto& proto);

}  // namespace dlcost
