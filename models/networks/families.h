#pragma once

#include <string>

#include "models/networks/network.h"
#include "models/networks/options.h"

namespace dlcost::networks {

// One function per family. `name` selects the member, for example "resnet50"; the result is a
// serialized ModelProto.
Network BuildAlexNet(const std::string& name, const Options& options);
Network BuildResNet(const std::string& name, const Options& options);
Network BuildVgg(const std::string& name, const Options& options);
Network BuildMobileNetV2(const std::string& name, const Options& options);
Network BuildEfficientNet(const std::string& name, const Options& options);
Network BuildLstm(const std::string& name, const Options& options);
Network BuildTransformer(const std::string& name, const Options& options);
Network BuildBert(const std::string& name, const Options& options);
Network BuildT5(const std::string& name, const Options& options);
Network BuildGpt2(const std::string& name, const Options& options);
Network BuildLlama(const std::string& name, const Options& options);

}  // namespace dlcost::networks
