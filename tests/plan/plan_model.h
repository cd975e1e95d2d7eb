#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/hardware/database.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"
#include "estimator/plan/kernel.h"

namespace dlcost {

using Dims = std::map<std::string, std::int64_t>;

inline InferredModel InferFile(const std::string& path, const Dims& dims = {},
                               std::int64_t batch = 1) {
  InferOptions options;
  options.bindings.batch = batch;
  for (const auto& [name, size] : dims) {
    AddDimBinding(options.bindings, name + "=" + std::to_string(size));
  }
  return Infer(ReadModel(path), options);
}

inline InferredModel Export(const std::string& name, const Dims& dims = {},
                            std::int64_t batch = 1) {
  return InferFile(std::string(DLCOST_SOURCE_DIR) + "/tests/plan/models/" + name + ".onnx", dims,
                   batch);
}

inline Device DeviceOf(const std::string& name) {
  return DeviceDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).Find(name);
}

// One product, alone.
inline Kernel Alone(const LoopNest& nest, DType type = DType::kFloat32) {
  Kernel kernel;
  kernel.nest = nest;
  kernel.nest_name = "product";
  kernel.math = type;
  kernel.work.Add(OpClass::kMac, type, MacsOf(nest));
  kernel.needed = kernel.work;
  kernel.bytes_read = kernel.bytes_written = Bytes(1);
  return kernel;
}

inline Plan PlanWith(const InferredModel& model, Fusion fusion) {
  PlanOptions options;
  options.fusion = fusion;
  return MakePlan(model, options);
}

// Labels of the kernels that are launched, in order.
inline std::vector<std::string> Labels(const Plan& plan) {
  std::vector<std::string> labels;
  for (const Kernel& kernel : plan.kernels) {
    if (kernel.repeat > Count(0)) labels.push_back(kernel.label);
  }
  return labels;
}

inline std::ptrdiff_t CountLabels(const Plan& plan, const std::string& part) {
  std::ptrdiff_t count = 0;
  for (const std::string& label : Labels(plan)) count += label.find(part) != std::string::npos;
  return count;
}

// The first that is launched whose label has the part.
inline const Kernel& KernelOf(const Plan& plan, const std::string& part) {
  for (const Kernel& kernel : plan.kernels) {
    if (kernel.label.find(part) != std::string::npos && kernel.repeat > Count(0)) return kernel;
  }
  throw Error("no kernel with {}", part);
}

inline Bytes TotalBytes(const Plan& plan) {
  Bytes sum;
  for (const Kernel& kernel : plan.kernels) sum += kernel.bytes();
  return sum;
}

}  // namespace dlcost
