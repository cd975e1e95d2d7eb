#pragma once

#include <string>
#include <string_view>

#include "models/networks/networks.h"

namespace dlcost {

// Whether this is a config.json that describes a network: a JSON object with a `model_type`.
bool IsNetworkConfig(std::string_view bytes);

// The network that a config.json of Hugging Face's transformers describes, as a serialized
// ModelProto like those of BuildNetwork: inputs and layers by their names there, in the type that
// the file says. `options`: phase (prefill or decode; of decoders) and dtype. What the network
// leaves out of the file is in its metadata, "dlcost.note". Throws Error naming the key.
std::string BuildNetworkOfConfig(std::string_view json, const NetworkOptions& options = {});
// The same before it is serialized.
networks::Network MakeNetworkOfConfig(std::string_view json, const NetworkOptions& options = {});

}  // namespace dlcost
