#pragma once

#include <string>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/hardware/roof.h"
#include "estimator/plan/kernel.h"
#include "estimator/report/report.h"

namespace dlcost {

// One choice of a runtime as its file has it: "attention: flash", what that means here, and the
// document that says so.
struct RuntimePart {
  std::string name, value, meaning, source;
};

// A framework or library that runs models: which operators it runs as one kernel, how its kernels
// start, what it computes in. Everything that a device's kernels do not decide.
struct Runtime {
  std::string id;    // "onnxruntime": the file's name
  std::string name;  // "ONNX Runtime, CUDA execution provider"
  std::vector<std::string> aliases;
  std::vector<std::string> vendors;  // of the devices that it runs on; empty: all

  FusionSet fuses;
  AttentionForm attention = AttentionForm::kFlash;
  MathMode math = MathMode::kDefault;
  Launch launch = Launch::kGraph;
  Selection selection = Selection::kCall;
  bool converts = true;             // RunOptions::converts
  bool planes_first = false;        // RunOptions::planes_first
  bool odd_rows = false;            // RunOptions::odd_rows
  bool int8_blocks = false;         // RunOptions::int8_blocks
  bool timed_convolutions = false;  // RunOptions::timed_convolutions
  UpdateForm update = UpdateForm::kFused;
  bool composed_apart = false;  // PlanOptions::composed_apart

  std::vector<RuntimePart> parts;  // in the file's order
  std::string file;
};

// What a report assumes that is told nothing.
inline constexpr const char* kDefaultRuntime = "generic";

// Reads one file of hw_specs/runtimes. Throws Error with file:line.
Runtime ReadRuntime(const std::string& path);

// All runtimes of the databases `directories` (their folders runtimes/), ordered by id; earlier
// directories win.
std::vector<Runtime> AllRuntimes(const std::vector<std::string>& directories);

// By id or alias, case ignored, or a path to a YAML file. Throws Error for an unknown name, with
// the nearest spelling.
Runtime FindRuntime(const std::string& name, const std::vector<std::string>& directories);

// Whether the runtime has kernels for the device.
bool RunsOn(const Runtime& runtime, const Device& device);
// Throws Error where it has none.
void RequireRunsOn(const Runtime& runtime, const Device& device);

// Sets the parts of the options that the runtime decides.
void Assume(const Runtime& runtime, bool given, ReportOptions& options);

}  // namespace dlcost
