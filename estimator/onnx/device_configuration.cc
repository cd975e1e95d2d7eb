#include "estimator/onnx/device_configuration.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/onnx/mapped_file.h"
#include "estimator/onnx/model_proto.h"
#include "estimator/onnx/skeleton.h"
#include "estimator/onnx/unknown_fields.h"
#include "estimator/onnx/wire_message.h"

namespace dlcost {
namespace {

// Field numbers of onnx.proto, IR version 11.
constexpr int kModelConfiguration = 26;
constexpr int kNodeConfigurations = 10;
constexpr std::int64_t kMostDevices = 1 << 20;
constexpr std::int64_t kMostStages = 1 << 16;

std::int64_t IntegerOf(const std::vector<WireField>& fields, int number, std::int64_t fallback) {
  for (const WireField& field : fields) {
    if (field.number == number) fallback = field.value;
  }
  return fallback;
}

std::string TextOf(const std::vector<WireField>& fields, int number) {
  std::string text;
  for (const WireField& field : fields) {
    if (field.number == number) text = field.bytes;
  }
  return text;
}

// DeviceConfigurationProto: name 1, num_devices 2, device 3.
DeviceConfiguration Configuration(std::string_view message) {
  const std::vector<WireField> fields = WireFields(message);
  DeviceConfiguration configuration;
  configuration.name = TextOf(fields, 1);
  const auto named = std::count_if(fields.begin(), fields.end(),
                                   [](const WireField& field) { return field.number == 3; });
  configuration.devices = IntegerOf(fields, 2, named);
  if (configuration.devices < 1 || configuration.devices > kMostDevices ||
      (named > 0 && named != configuration.devices)) {
    throw Error("device configuration '{}': {} devices, of which {} are named",
                Printable(configuration.name), configuration.devices, named);
  }
  return configuration;
}

// ShardingSpecProto: tensor_name 1, device 2, groups 3, sharded_dim 4 {axis 1, simple_sharding 2
// {dim_value 1, dim_param 2, num_shards 3}}.
void AddSpec(std::string_view message, const std::string& node, DeviceConfiguration& to) {
  const std::vector<WireField> fields = WireFields(message);
  const std::string tensor = TextOf(fields, 1);
  std::set<std::int64_t> seen;
  for (const WireField& field : fields) {
    if (field.number != 4) continue;
    const std::vector<WireField> dim = WireFields(field.bytes);
    AnnotatedAxis axis{node, tensor, IntegerOf(dim, 1, 0), 1};
    int simple = 0;
    for (const WireField& part : dim) {
      if (part.number != 2) continue;
      const std::vector<WireField> sharding = WireFields(part.bytes);
      const std::int64_t shards = IntegerOf(sharding, 3, 1);
      if (shards < 1 || shards > kMostDevices) {
        throw Error("{}: '{}' is annotated with {} shards", Printable(node), Printable(tensor),
                    shards);
      }
      axis.shards *= shards;
      ++simple;
    }
    if (simple > 1) {
      throw Error(
          "{}: axis {} of '{}' is annotated with shards of unequal sizes, which are not laid "
          "out; one simple sharding would be",
          Printable(node), axis.axis, Printable(tensor));
    }
    if (!seen.insert(axis.axis).second) {
      throw Error("{}: axis {} of '{}' is annotated twice", Printable(node), axis.axis,
                  Printable(tensor));
    }
    if (axis.shards > 1) to.axes.push_back(axis);
  }
  const bool split = std::any_of(to.axes.begin(), to.axes.end(), [&](const AnnotatedAxis& axis) {
    return axis.node == node && axis.tensor == tensor;
  });
  if (!split) to.whole.push_back({node, tensor, 0, 1});
}

// NodeDeviceConfigurationProto: configuration_id 1, sharding_spec 2, pipeline_stage 3.
void AddNode(const onnx::NodeProto& proto, std::vector<DeviceConfiguration>& configurations) {
  for (const std::string& message : UnknownBytes(proto, kNodeConfigurations)) {
    const std::vector<WireField> fields = WireFields(message);
    const std::string id = TextOf(fields, 1);
    const std::string node = proto.name().empty() ? proto.op_type() : proto.name();
    const auto found =
        std::find_if(configurations.begin(), configurations.end(),
                     [&](const DeviceConfiguration& each) { return each.name == id; });
    if (found == configurations.end()) {
      std::vector<std::string> names;
      for (const DeviceConfiguration& each : configurations) names.push_back(each.name);
      throw Error("{}: annotated for the device configuration '{}', which the file does not have{}",
                  Printable(node), Printable(id), DidYouMean(id, names));
    }
    for (const WireField& field : fields) {
      if (field.number == 2) AddSpec(field.bytes, node, *found);
    }
    const std::int64_t stage = IntegerOf(fields, 3, -1);
    if (stage > kMostStages) {
      throw Error("{}: annotated for pipeline stage {}", Printable(node), stage);
    }
    if (stage >= 0 && proto.output_size() > 0) {
      found->stage_of[proto.output(0)] = static_cast<int>(stage);
    }
  }
}

}  // namespace

std::vector<DeviceConfiguration> DeviceConfigurationsFromBytes(std::string_view bytes,
                                                               const std::string& path) {
  try {
    onnx::ModelProto proto;
    ParseSkeleton(ExtractSkeleton(bytes), proto);
    std::vector<DeviceConfiguration> configurations;
    for (const std::string& message : UnknownBytes(proto, kModelConfiguration)) {
      configurations.push_back(Configuration(message));
    }
    for (const onnx::NodeProto& node : proto.graph().node()) AddNode(node, configurations);
    return configurations;
  } catch (const Error& error) {
    throw error.At(Printable(path));
  }
}

std::vector<DeviceConfiguration> ReadDeviceConfigurations(const std::string& path) {
  const MappedFile file(path);
  return DeviceConfigurationsFromBytes(file.bytes(), path);
}

}  // namespace dlcost
