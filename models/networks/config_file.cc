#include "models/networks/config_file.h"

#include <fmt/ranges.h>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "models/networks/config_families.h"
#include "models/networks/options.h"

namespace dlcost {
namespace {

using networks::ConfigReader;

constexpr std::size_t kLongest = 1 << 20;  // bytes; the published ones have a few thousand

// "bfloat16" as PyTorch writes it.
std::string TypeOf(const ConfigReader& config) {
  const std::string type = config.Text("dtype", config.Text("torch_dtype", "float32"));
  if (type == "float32") return "f32";
  if (type == "float16") return "f16";
  if (type == "bfloat16") return "bf16";
  throw Error("dtype: '{}' is not float32, float16 or bfloat16", Printable(type));
}

const networks::ConfigFamily& FamilyOf(const ConfigReader& config) {
  const std::string type = config.Text("model_type", "");
  std::vector<std::string> types;
  for (const networks::ConfigFamily& family : networks::ConfigFamilies()) {
    if (family.type == type) return family;
    types.push_back(family.type);
  }
  if (config.Has("text_config")) {
    throw Error(
        "model_type '{}' is several networks in one; its text_config alone can be counted: "
        "jq .text_config config.json | dlcost -",
        Printable(type));
  }
  throw Error("no network is built for model_type '{}'{}; there are {}", Printable(type),
              DidYouMean(type, types), fmt::join(types, ", "));
}

// What the file says and the network has not; `family`: what the network of its family has not.
std::string NoteOf(const ConfigReader& config, const std::string& family, const std::string& type) {
  std::vector<std::string> notes;
  if (!family.empty()) notes.push_back(family);
  if (config.Has("quantization_config")) {
    notes.push_back(fmt::format(
        "config.json stores weights quantized ({}): counted here as {}",
        Printable(config.Inner("quantization_config").Text("quant_method", "unnamed method")),
        type));
  }
  for (const char* key : {"num_nextn_predict_layers", "num_mtp_layers"}) {
    if (config.Has(key) && config.Count(key) > 0) {
      notes.emplace_back("without the layers that predict further tokens");
      break;
    }
  }
  return fmt::format("{}", fmt::join(notes, "; "));
}

networks::Network Build(const ConfigReader& config, const NetworkOptions& given) {
  const networks::ConfigFamily& family = FamilyOf(config);
  networks::DescribedNetwork network = family.read(config);
  if (auto* named = std::get_if<networks::NamedNetwork>(&network)) {
    named->options["dtype"] = TypeOf(config);
    for (const auto& [key, value] : given) named->options[key] = value;
    return MakeNetwork(named->name, named->options);
  }
  const NetworkInfo info = {family.type,
                            "",
                            {{"phase", "prefill", "prefill, decode or, of a T5, a part of it"},
                             {"dtype", TypeOf(config), "element type: f32, f16 or bf16"}}};
  const networks::Options options(info, given);
  const std::string type = options.Choice("dtype", {"f32", "f16", "bf16"});
  if (auto* t5 = std::get_if<networks::T5Config>(&network)) {
    t5->note = NoteOf(config, t5->note, type);
    const networks::T5Phase phase =
        networks::T5PhaseOf(options.Choice("phase", networks::kT5Phases));
    return BuildT5Network(family.type, *t5, phase, options.Type());
  }
  auto& decoder = std::get<networks::DecoderConfig>(network);
  decoder.decode = options.Choice("phase", {"prefill", "decode"}) == "decode";
  decoder.note = NoteOf(config, decoder.note, type);
  return BuildDecoder(family.type, decoder, options.Type());
}

}  // namespace

bool IsNetworkConfig(std::string_view bytes) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (bytes.size() > kLongest || first == std::string_view::npos || bytes[first] != '{')
    return false;
  if (bytes.find("\"model_type\"") == std::string_view::npos) return false;
  const auto json = nlohmann::json::parse(bytes, nullptr, false);
  return json.is_object() && json.contains("model_type");
}

std::string BuildNetworkOfConfig(std::string_view bytes, const NetworkOptions& options) {
  return MakeNetworkOfConfig(bytes, options).Serialize();
}

networks::Network MakeNetworkOfConfig(std::string_view bytes, const NetworkOptions& options) {
  const auto json = nlohmann::json::parse(bytes, nullptr, false);
  if (!json.is_object()) throw Error("not a JSON object");
  return Build(ConfigReader(json), options);
}

}  // namespace dlcost
