#include "estimator/profile_report/device_name.h"

#include <algorithm>
#include <set>
#include <string>

#include "estimator/core/error.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

// The words of a name, in lower case: "a100", "sxm4", "80gb".
std::set<std::string> Words(std::string_view name) {
  std::set<std::string> words;
  std::string word;
  for (const char c : Lower(name) + " ") {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::move(word));
      word.clear();
    }
  }
  return words;
}

bool HasDigit(const std::string& word) {
  return std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// What several models share: sizes, slots.
bool IsVariant(const std::string& word) {
  return word.ends_with("gb") || word.starts_with("sxm") || word.starts_with("pcie");
}

}  // namespace

bool MayBe(std::string_view name, const Device& device) {
  if (name.ends_with(')')) name = Trim(name.substr(0, name.rfind('(')));  // its number
  const bool on_cpu = device.kind == DeviceKind::kCpu;
  if (Lower(name).starts_with("cpu") && !on_cpu) return false;
  if (Lower(name).starts_with("gpu") && on_cpu) return false;
  std::set<std::string> models;
  bool letters = false;
  for (const std::string& word : Words(name)) {
    letters = letters || word.find_first_not_of("0123456789") != std::string::npos;
    if (HasDigit(word) && !IsVariant(word)) models.insert(word);
  }
  if (!letters || models.empty()) return true;
  std::set<std::string> known = Words(device.name);
  known.merge(Words(device.id));
  for (const std::string& alias : device.aliases) known.merge(Words(alias));
  // nvprof's text log cuts names to 15 characters: "GeForce RTX 208".
  const bool cut = name.size() == 15;
  return std::any_of(models.begin(), models.end(), [&](const std::string& model) {
    const bool last = cut && Lower(name).ends_with(model);
    return known.contains(model) ||
           (last && std::any_of(known.begin(), known.end(),
                                [&](auto& word) { return word.starts_with(model); }));
  });
}

std::optional<std::string> OtherDeviceNote(std::string_view name, const Device& device) {
  if (MayBe(name, device)) return std::nullopt;
  return fmt::format("measured on '{}', held against {}: --gpu names the device",
                     Printable(std::string(name), 60), device.name);
}

}  // namespace dlcost
