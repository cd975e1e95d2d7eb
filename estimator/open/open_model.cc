#include "estimator/open/open_model.h"

#include "estimator/core/error.h"
#include "estimator/onnx/mapped_file.h"
#include "estimator/onnx/reader.h"
#include "models/networks/config_file.h"

namespace dlcost {
namespace {

Model Configured(std::string_view json, const std::string& path) {
  std::string bytes;
  try {
    bytes = BuildNetworkOfConfig(json);
  } catch (const Error& error) {
    throw error.At(Printable(path));
  }
  return ReadModelFromBytes(bytes, path);
}

}  // namespace

Model OpenModel(const std::string& path) {
  const MappedFile file(path);
  return IsNetworkConfig(file.bytes()) ? Configured(file.bytes(), path) : ReadModel(file, path);
}

Model OpenModelFromBytes(std::string_view bytes, const std::string& path) {
  return IsNetworkConfig(bytes) ? Configured(bytes, path) : ReadModelFromBytes(bytes, path);
}

bool IsConfigFile(const std::string& path) {
  return path != "-" && IsNetworkConfig(MappedFile(path).bytes());
}

}  // namespace dlcost
