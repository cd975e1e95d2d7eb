#pragma once

#include <string>
#include <vector>

namespace dlcost::api {

// One choice of a runtime: "attention", "flash", what that means here, and who says so.
struct RuntimePart {
  std::string name, value, meaning, source;
};

// What runs models: a framework or library, and what it decides (docs/timing.md). Options::runtime
// names one.
struct Runtime {
  std::string id;    // "onnxruntime"
  std::string name;  // "ONNX Runtime, CUDA execution provider"
  std::vector<std::string> aliases;
  std::vector<std::string> vendors;  // of the devices that it runs on; empty: all
  std::vector<RuntimePart> parts;
  std::string text;  // as `dlcost runtimes NAME` tells it
};

// An id, an alias (case ignored), or the path of a YAML file. Throws Error for an unknown name,
// with the nearest one.
Runtime FindRuntime(const std::string& name);

// All runtimes, ordered by id.
std::vector<Runtime> Runtimes();
std::string RuntimesText();  // one line each
// Schema dlcost.runtimes/1: of all, or of one.
std::string RuntimesJson(const std::string& name = "");

}  // namespace dlcost::api
