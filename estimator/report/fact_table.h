#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "estimator/hardware/device.h"

namespace dlcost {

// Numbers the documents so that the table of values stays narrow.
class SourceList {
 public:
  // "[2]", or the source itself where it is a derivation.
  std::string Reference(const std::string& source);
  // The documents with their numbers, a line each.
  std::string Text() const;

 private:
  std::vector<std::string> sources_;
};

// Values of a file in hw_specs/ with their sources, a line each and what was remarked below.
std::string FactTable(const std::vector<Fact>& facts, SourceList& sources);
nlohmann::ordered_json FactsJson(const std::vector<Fact>& facts);

}  // namespace dlcost
