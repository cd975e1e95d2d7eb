#pragma once

#include <string>
#include <string_view>

#include "estimator/graph/graph.h"
#include "estimator/onnx/mapped_file.h"

namespace onnx {
class ModelProto;
}

namespace dlcost {

// Reads the structure of an ONNX file: IR version 3 to the newest, any opset. Local functions are
// inlined ("call/inner" names), weights and external data are never read. Throws Error naming the
// file and what is wrong with it.
Model ReadModel(const std::string& path);
// The same of a file that is open; `path` only names it.
Model ReadModel(const MappedFile& file, const std::string& path);

// The same from bytes in memory; `path` only names the source in messages.
Model ReadModelFromBytes(std::string_view bytes, const std::string& path);
// The same from a message that holds no weights.
Model ReadModelFromProto(const onnx::ModelProto& proto, const std::string& path);

}  // namespace dlcost
