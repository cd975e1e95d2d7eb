#include "estimator/report/page_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "estimator/core/xml.h"
#include "estimator/report/page_assets.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

// JSON inside a <script>: a name such as "</script>" must not end it. '<' occurs in strings only.
std::string ScriptJson(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

// Fills in the place marks of the page; what is filled in is not searched again.
std::string Fill(const std::string& page,
                 const std::vector<std::pair<std::string, std::string>>& parts) {
  std::string filled;
  std::size_t from = 0;
  for (const auto& [mark, text] : parts) {
    const std::size_t at = page.find(mark, from);
    filled += page.substr(from, at - from) + text;
    from = at + mark.size();
  }
  return filled + page.substr(from);
}

}  // namespace

std::string RenderPage(const std::string& title, const Json& data) {
  // In the order of the marks in page.html.
  return Fill(kPageHtml, {{"@TITLE@", EscapeXml(title)},
                          {"@STYLE@", kPageStyle},
                          {"@DATA@", ScriptJson(data)},
                          {"@SCRIPT@", kPageScript}});
}

Json DeviceRoofsJson(const Device* device, const std::function<bool(const std::string&)>& is_used) {
  Json compute = Json::array(), memory = Json::array();
  if (device == nullptr) return {{"compute", compute}, {"memory", memory}};
  for (const Rate& rate : device->rates) {
    const std::string unit(Name(rate.unit));
    std::string name(Name(rate.input));
    const bool used = is_used(unit + " " + name);
    // fp16 products that add up in fp16 are another roof than those that add up in fp32.
    if (device->FindRate(rate.unit, rate.input) != &rate) {
      name += fmt::format(" ({} sums)", Name(rate.accumulate));
    }
    compute.push_back({{"pipe", unit},
                       {"name", name},
                       {"used", used},
                       {"peak", rate.peak.value()},
                       {"unit", IsInteger(rate.input) ? "OP/s" : "FLOP/s"}});
  }
  const auto add = [&](const MemoryLevel& level, bool cache) {
    if (!level.bandwidth) return;
    memory.push_back({{"name", level.name}, {"rate", level.bandwidth->value()}, {"cache", cache}});
  };
  add(device->memory, false);
  for (const MemoryLevel& level : device->caches) add(level, true);
  return {{"compute", compute}, {"memory", memory}};
}

Json DeviceFactsJson(const Device* device) {
  Json facts = Json::array();
  if (device == nullptr) return {{"name", ""}, {"facts", facts}};
  for (const Fact& fact : device->facts) {
    facts.push_back({{"path", fact.path},
                     {"text", fact.text},
                     {"source", fact.source},
                     {"elsewhere", fact.elsewhere},
                     {"note", fact.note},
                     {"differs", fact.differs}});
  }
  return {{"name", device->name}, {"facts", facts}};
}

}  // namespace dlcost
