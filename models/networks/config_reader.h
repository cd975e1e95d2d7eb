#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace dlcost::networks {

// The keys of a config.json, checked as they are read. What is null is not given. Throws Error
// naming the key where a value is missing or of the wrong kind.
class ConfigReader {
 public:
  explicit ConfigReader(const nlohmann::json& json) : json_(json) {}

  bool Has(const std::string& key) const;
  // An integer in [1, 2^20], large enough for any network and small enough for every product.
  std::int64_t Size(const std::string& key) const;
  std::int64_t Size(const std::string& key, std::int64_t otherwise) const;
  // The same, or 0.
  std::int64_t Count(const std::string& key) const;
  double Number(const std::string& key, double otherwise) const;
  bool Flag(const std::string& key, bool otherwise) const;
  std::string Text(const std::string& key, const std::string& otherwise) const;
  // Empty where it is not given.
  std::vector<std::string> Texts(const std::string& key) const;
  std::vector<std::int64_t> Integers(const std::string& key) const;
  // An object in this one; an empty one where it is not given.
  ConfigReader Inner(const std::string& key) const;

 private:
  // Null where it is not given.
  const nlohmann::json& At(const std::string& key) const;

  const nlohmann::json& json_;
};

}  // namespace dlcost::networks
