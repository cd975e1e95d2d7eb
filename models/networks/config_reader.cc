#include "models/networks/config_reader.h"

#include "estimator/core/error.h"

namespace dlcost::networks {
namespace {

const nlohmann::json kNull = nullptr, kEmpty = nlohmann::json::object();

[[noreturn]] void Fail(const std::string& key, const nlohmann::json& value,
                       const std::string& expected) {
  if (value.is_null()) throw Error("no {}", key);
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  throw Error("{}: {} is not {}", key, Printable(text, 60), expected);
}

}  // namespace

const nlohmann::json& ConfigReader::At(const std::string& key) const {
  const auto found = json_.find(key);
  return found == json_.end() ? kNull : *found;
}

bool ConfigReader::Has(const std::string& key) const { return !At(key).is_null(); }

std::int64_t ConfigReader::Size(const std::string& key) const {
  const std::int64_t value = Count(key);
  if (value < 1) Fail(key, At(key), "a whole number from 1 to 1048576");
  return value;
}

std::int64_t ConfigReader::Size(const std::string& key, std::int64_t otherwise) const {
  return Has(key) ? Size(key) : otherwise;
}

std::int64_t ConfigReader::Count(const std::string& key) const {
  constexpr std::int64_t kLargest = 1 << 20;
  const nlohmann::json& value = At(key);
  if (!value.is_number_integer()) Fail(key, value, "a whole number");
  // An unsigned number past the signed ones comes out negative.
  const auto count = value.get<std::int64_t>();
  if (count < 0 || count > kLargest) Fail(key, value, "a whole number from 0 to 1048576");
  return count;
}

double ConfigReader::Number(const std::string& key, double otherwise) const {
  const nlohmann::json& value = At(key);
  if (value.is_null()) return otherwise;
  if (!value.is_number()) Fail(key, value, "a number");
  return value.get<double>();
}

bool ConfigReader::Flag(const std::string& key, bool otherwise) const {
  const nlohmann::json& value = At(key);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean()) Fail(key, value, "true or false");
  return value.get<bool>();
}

std::string ConfigReader::Text(const std::string& key, const std::string& otherwise) const {
  const nlohmann::json& value = At(key);
  if (value.is_null()) return otherwise;
  if (!value.is_string()) Fail(key, value, "a text");
  return value.get<std::string>();
}

std::vector<std::string> ConfigReader::Texts(const std::string& key) const {
  const nlohmann::json& value = At(key);
  std::vector<std::string> texts;
  if (value.is_null()) return texts;
  if (!value.is_array()) Fail(key, value, "a list of texts");
  for (const nlohmann::json& item : value) {
    if (!item.is_string()) Fail(key, item, "a text");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::vector<std::int64_t> ConfigReader::Integers(const std::string& key) const {
  const nlohmann::json& value = At(key);
  std::vector<std::int64_t> integers;
  if (value.is_null()) return integers;
  if (!value.is_array()) Fail(key, value, "a list of whole numbers");
  for (const nlohmann::json& item : value) {
    if (!item.is_number_integer()) Fail(key, item, "a whole number");
    integers.push_back(item.get<std::int64_t>());
  }
  return integers;
}

ConfigReader ConfigReader::Inner(const std::string& key) const {
  const nlohmann::json& value = At(key);
  if (value.is_null()) return ConfigReader(kEmpty);
  if (!value.is_object()) Fail(key, value, "an object");
  return ConfigReader(value);
}

}  // namespace dlcost::networks
