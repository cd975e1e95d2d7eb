#pragma once

#include <string>
#include <variant>
#include <vector>

#include "models/networks/config_reader.h"
#include "models/networks/decoder.h"
#include "models/networks/networks.h"
#include "models/networks/t5.h"

namespace dlcost::networks {

// One of Networks() with its options.
struct NamedNetwork {
  std::string name;
  NetworkOptions options;
};
using DescribedNetwork = std::variant<DecoderConfig, T5Config, NamedNetwork>;

// How the configurations of one `model_type` are read. Sources: the classes of configuration and
// the modules of transformers 5.23 (Hugging Face), whose defaults stand where a key may be left
// out.
struct ConfigFamily {
  std::string type;
  DescribedNetwork (*read)(const ConfigReader& config);
};
const std::vector<ConfigFamily>& ConfigFamilies();

}  // namespace dlcost::networks
