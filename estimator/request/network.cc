#include "estimator/request/network.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/onnx/mapped_file.h"
#include "models/networks/config_file.h"

namespace dlcost {

std::string NetworkListText() {
  std::size_t width = 0;
  for (const NetworkInfo& network : Networks()) width = std::max(width, network.name.size());
  std::string text;
  for (const NetworkInfo& network : Networks()) {
    std::vector<std::string> options;
    for (const NetworkOption& option : network.options) {
      options.push_back(option.name + "=" + option.default_value);
    }
    text += fmt::format("{:<{}}  {}\n{:<{}}  {}\n", network.name, width, network.description, "",
                        width, fmt::join(options, " "));
  }
  return text;
}

std::string BuildNetworkOf(const std::string& name, const NetworkOptions& settings) {
  // Networks have no dot in their names.
  if (name.find('.') == std::string::npos) return BuildNetwork(name, settings);
  const MappedFile file(name);
  try {
    return BuildNetworkOfConfig(file.bytes(), settings);
  } catch (const Error& error) {
    throw error.At(Printable(name));
  }
}

}  // namespace dlcost
