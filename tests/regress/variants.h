#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "estimator/hardware/database.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"
#include "estimator/report/report.h"
#include "models/networks/networks.h"

// Reference networks and the ways in which people change them.
namespace dlcost::variants {

inline onnx::ModelProto Network(const std::string& name, const NetworkOptions& options = {}) {
  onnx::ModelProto model;
  model.ParseFromString(BuildNetwork(name, options));
  return model;
}

// As the command line makes it, but for what is given. "" is no device.
inline Report ReportOf(const onnx::ModelProto& model, const std::string& gpu = "a100",
                       const Bindings& bindings = {}, Fusion fusion = Fusion::kDefault,
                       CacheState cache = CacheState::kPassed) {
  const DeviceDatabase database({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"});
  std::optional<Device> device;
  if (!gpu.empty()) device = database.Find(gpu);
  ReportOptions options;
  options.plan.fusion = fusion;
  options.run.cache = cache;
  return BuildReport(Infer(ReadModelFromBytes(model.SerializeAsString(), "model.onnx"), {bindings}),
                     device, options);
}

// A size for every dimension of the inputs that the model leaves open; 1 for batches.
inline Bindings Sizes(const onnx::ModelProto& model, std::int64_t size) {
  Bindings bindings;
  for (const auto& input : model.graph().input()) {
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      const bool batch = dim.dim_param().find("batch") != std::string::npos;
      if (!dim.dim_param().empty()) bindings.dims[dim.dim_param()] = batch ? 1 : size;
    }
  }
  return bindings;
}

inline onnx::NodeProto& FindNode(onnx::ModelProto& model, const std::string& name) {
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    if (node.name() == name) return node;
  }
  throw Error("no node {}", name);
}

inline void SetInts(onnx::NodeProto& node, const std::string& attribute,
                    const std::vector<std::int64_t>& values) {
  for (onnx::AttributeProto& one : *node.mutable_attribute()) {
    if (one.name() == attribute) one.mutable_ints()->Assign(values.begin(), values.end());
  }
}

// Gives the weight, a ConstantOfShape node, another shape.
inline void SetWeightShape(onnx::ModelProto& model, const std::string& weight,
                           const std::vector<std::int64_t>& shape) {
  onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(weight + ".new_shape");
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(shape.size()));
  for (const std::int64_t dim : shape) tensor.add_int64_data(dim);
  FindNode(model, weight).set_input(0, tensor.name());
}

// Puts `node` behind the tensor `after`: everything that read `after` reads the node.
inline void InsertAfter(onnx::ModelProto& model, const std::string& after, onnx::NodeProto node) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (onnx::NodeProto& old : *model.mutable_graph()->mutable_node()) {
    for (std::string& input : *old.mutable_input()) {
      if (input == after) input = node.output(0);
    }
    *nodes.Add() = old;
    for (const std::string& output : old.output()) {
      if (output == after) *nodes.Add() = node;
    }
  }
  model.mutable_graph()->mutable_node()->Swap(&nodes);
}

// Takes the node out: its readers read its first input.
inline void Remove(onnx::ModelProto& model, const std::string& name) {
  const onnx::NodeProto gone = FindNode(model, name);
  auto& nodes = *model.mutable_graph()->mutable_node();
  for (int i = nodes.size() - 1; i >= 0; --i) {
    if (nodes[i].name() == name) {
      nodes.DeleteSubrange(i, 1);
      continue;
    }
    for (std::string& input : *nodes[i].mutable_input()) {
      if (input == gone.output(0)) input = gone.input(0);
    }
  }
}

// As another exporter would have named it: no name of node or tensor survives.
inline void RenameAll(onnx::ModelProto& model) {
  onnx::GraphProto& graph = *model.mutable_graph();
  const auto rename = [](std::string& name) {
    if (!name.empty()) name = "t" + std::to_string(std::hash<std::string>()(name) % 1'000'000'007);
  };
  int index = 0;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    node.set_name(node.op_type() + "_" + std::to_string(index++));
    for (std::string& name : *node.mutable_input()) rename(name);
    for (std::string& name : *node.mutable_output()) rename(name);
  }
  for (auto& info : *graph.mutable_input()) rename(*info.mutable_name());
  for (auto& info : *graph.mutable_output()) rename(*info.mutable_name());
  for (auto& tensor : *graph.mutable_initializer()) rename(*tensor.mutable_name());
}

}  // namespace dlcost::variants
