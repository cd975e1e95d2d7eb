#pragma once

#include <string>

#include "models/networks/options.h"

namespace dlcost::networks {

// One function per family. `name` selects the member, for example "resnet50"; the result is a
// serialized ModelProto.
std::string BuildAlexNet(const std::string& name, const Options& options);
std::string BuildResNet(const std::string& name, const Options& options);
std::string BuildVgg(const std::string& name, const Options& options);
std::string BuildMobileNetV2(const std::string& name, const Options& options);
std::string BuildEfficientNet(const std::string& name, const Options& options);
std::string BuildLstm(const std::string& name, const Options& options);
std::string BuildTransformer(const std::string& name, const Options& options);
std::string BuildBert(const std::string& name, const Options& options);
std::string BuildGpt2(const std::string& name, const Options& options);
std::string BuildLlama(const std::string& name, const Options& options);

}  // namespace dlcost::networks
