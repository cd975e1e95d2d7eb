#pragma once

#include <memory>
#include <string>
#include <utility>

namespace onnx {
class ModelProto;
}

namespace dlcost::networks {

// A network as it was built.
class Network {
 public:
  explicit Network(std::shared_ptr<const onnx::ModelProto> model) : model_(std::move(model)) {}

  const onnx::ModelProto& proto() const { return *model_; }
  // The serialized ModelProto; equal networks give equal bytes.
  std::string Serialize() const;

 private:
  std::shared_ptr<const onnx::ModelProto> model_;
};

}  // namespace dlcost::networks
