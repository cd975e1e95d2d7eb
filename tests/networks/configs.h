#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "estimator/infer/infer.h"

namespace dlcost {

// configs/: the sizes of published networks, as their config.json on huggingface.co has them.
inline nlohmann::json Config(const std::string& name) {
  std::ifstream file(DLCOST_SOURCE_DIR "/tests/networks/configs/" + name + ".json");
  return nlohmann::json::parse(file);
}

// Of the nodes whose names have this part.
inline std::int64_t MacsOf(const InferredModel& model, const std::string& part = "") {
  Count total;
  for (const CountedNode& node : model.nodes) {
    if (node.name.find(part) != std::string::npos) total += node.cost.work.macs().count();
  }
  return total.value();
}

}  // namespace dlcost
