#include "estimator/open/open_model.h"

#include <filesystem>
#include <map>

#include "estimator/core/error.h"
#include "estimator/onnx/mapped_file.h"
#include "estimator/onnx/reader.h"
#include "models/networks/config_file.h"

namespace dlcost {
namespace {

Model Configured(std::string_view json, const std::string& path) {
  const auto network = [&] {
    try {
      return MakeNetworkOfConfig(json);
    } catch (const Error& error) {
      throw error.At(Printable(path));
    }
  }();
  return ReadModelFromProto(network.proto(), path);
}

std::map<std::string, std::string>& Provided() {
  static std::map<std::string, std::string> models;
  return models;
}

// "models.py:build", which the command of the Python package exports before it comes here.
void RequireNoPython(const std::string& path) {
  if (path.find(".py:") == std::string::npos || std::filesystem::exists(path)) return;
  throw Error(
      "'{}': this program runs no Python; the command dlcost of the Python module does "
      "(docs/python.md)",
      Printable(path));
}

}  // namespace

void ProvideModel(const std::string& path, std::string bytes) {
  Provided()[path] = std::move(bytes);
}

bool IsProvided(const std::string& path) { return Provided().count(path) > 0; }

Model OpenModel(const std::string& path) {
  const auto provided = Provided().find(path);
  if (provided != Provided().end()) return OpenModelFromBytes(provided->second, path);
  RequireNoPython(path);
  const MappedFile file(path);
  return IsNetworkConfig(file.bytes()) ? Configured(file.bytes(), path) : ReadModel(file, path);
}

Model OpenModelFromBytes(std::string_view bytes, const std::string& path) {
  return IsNetworkConfig(bytes) ? Configured(bytes, path) : ReadModelFromBytes(bytes, path);
}

bool IsConfigFile(const std::string& path) {
  return path != "-" && !IsProvided(path) && IsNetworkConfig(MappedFile(path).bytes());
}

}  // namespace dlcost
