#pragma once

#include "models/networks/config_families.h"

namespace dlcost::networks {

// Decoders with layer normalization (ConfigFamily::read).
DescribedNetwork Falcon(const ConfigReader& config);
DescribedNetwork GptJ(const ConfigReader& config);
DescribedNetwork GptNeoX(const ConfigReader& config);
DescribedNetwork Phi(const ConfigReader& config);
DescribedNetwork StableLm(const ConfigReader& config);
DescribedNetwork Starcoder2(const ConfigReader& config);

}  // namespace dlcost::networks
