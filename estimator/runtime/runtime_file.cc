#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/hardware/spec_files.h"
#include "estimator/runtime/runtime.h"

namespace dlcost {
namespace {

template <typename Range>
auto Named(const Range& values) {
  std::vector<std::pair<std::string, typename Range::value_type>> named;
  for (const auto& value : values) named.emplace_back(Name(value), value);
  return named;
}

template <typename Value>
Value OneOf(const Entry& entry, const std::vector<std::pair<std::string, Value>>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) {
    if (entry.kind == Entry::Kind::kValue && entry.value == name) return value;
    names.push_back(name);
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  throw Error("{}: '{}' is not one of {}{}", entry.Where(), Printable(entry.value), list,
              DidYouMean(entry.value, names));
}

class RuntimeReader {
 public:
  RuntimeReader(const Entry& root, const std::string& path) : root_(root) {
    runtime_.id = std::filesystem::path(path).stem().string();
    runtime_.file = path;
  }

  Runtime Read() {
    if (root_.kind != Entry::Kind::kMap) {
      throw Error("{}: expected a runtime, as 'key: value' lines", root_.Where());
    }
    const std::vector<std::pair<std::string, std::function<void(const Entry&)>>> keys = {
        {"name", [this](const Entry& e) { runtime_.name = Text(e); }},
        {"aliases", [this](const Entry& e) { runtime_.aliases = List(e); }},
        {"vendors", [this](const Entry& e) { runtime_.vendors = List(e); }},
        {"fuses", [this](const Entry& e) { Fuses(e); }},
        {"attention", [this](const Entry& e) { Attention(e); }},
        {"math", [this](const Entry& e) { Math(e); }},
        {"launch", [this](const Entry& e) { Launch(e); }},
        {"selection", [this](const Entry& e) { Selects(e); }},
        {"convolutions",
         [this](const Entry& e) { Either(e, "timed", "ranked", runtime_.timed_convolutions); }},
        {"layout", [this](const Entry& e) { Either(e, "file", "kernels", runtime_.converts); }},
        {"planes", [this](const Entry& e) { Either(e, "first", "any", runtime_.planes_first); }},
        {"alignment", [this](const Entry& e) { Either(e, "as-is", "padded", runtime_.odd_rows); }},
        {"quantized",
         [this](const Entry& e) { Either(e, "int8", "floats", runtime_.int8_blocks); }},
        {"update", [this](const Entry& e) { Updates(e); }},
        {"composed",
         [this](const Entry& e) { Either(e, "apart", "whole", runtime_.composed_apart); }},
        {"sources", [](const Entry&) {}},
    };
    std::vector<std::string> names;
    for (const auto& [name, read] : keys) names.push_back(name);
    for (const Entry& entry : root_.children) {
      const auto key = std::find(names.begin(), names.end(), entry.key);
      if (key == names.end()) {
        throw Error("{}: unknown key '{}'{}", entry.Where(), Printable(entry.key),
                    DidYouMean(entry.key, names));
      }
      keys[static_cast<std::size_t>(key - names.begin())].second(entry);
    }
    for (const char* needed :
         {"name", "fuses", "attention", "math", "launch", "selection", "layout"}) {
      if (root_.Find(needed) == nullptr) throw Error("{}: '{}' is missing", root_.Where(), needed);
    }
    return std::move(runtime_);
  }

 private:
  static std::string Text(const Entry& entry) {
    if (entry.kind != Entry::Kind::kValue) {
      throw Error("{}: '{}' must be one line of text", entry.Where(), entry.key);
    }
    return entry.value;
  }

  static std::vector<std::string> List(const Entry& entry) {
    if (entry.kind != Entry::Kind::kList) {
      throw Error("{}: '{}' must be a list", entry.Where(), entry.key);
    }
    std::vector<std::string> texts;
    for (const Entry& child : entry.children) texts.push_back(Text(child));
    return texts;
  }

  // A choice without a document is none.
  void AddPart(const std::string& name, const std::string& value, const std::string& meaning,
               const Entry& entry) {
    if (entry.source.empty()) {
      throw Error("{}: '{}' names no source: write [NAME] behind it and NAME under 'sources:'",
                  entry.Where(), entry.key);
    }
    runtime_.parts.push_back({name, value, meaning, entry.source});
  }

  void Fuses(const Entry& entry) {
    if (entry.kind == Entry::Kind::kValue && entry.value == "none") {
      AddPart("fuses", "none", entry.note, entry);
      return;
    }
    if (entry.kind != Entry::Kind::kMap) {
      throw Error("{}: 'fuses' is none, or what is fused with the kernels that do it",
                  entry.Where());
    }
    for (const Entry& step : entry.children) {
      const std::optional<FusionStep> known = ParseFusionStep(step.key);
      if (!known) {
        throw Error("{}: unknown fusion '{}'{}", step.Where(), Printable(step.key),
                    DidYouMean(step.key, NamesOf(FusionSteps())));
      }
      runtime_.fuses.Add(*known);
      AddPart("fuses", step.key, Text(step), step);
    }
  }

  void Attention(const Entry& entry) {
    runtime_.attention = OneOf(entry, Named(AttentionForms()));
    AddPart("attention", entry.value, entry.note, entry);
  }

  void Math(const Entry& entry) {
    runtime_.math = OneOf(entry, Named(MathModes()));
    AddPart("math", entry.value, entry.note, entry);
  }

  void Launch(const Entry& entry) {
    runtime_.launch = OneOf(entry, Named(Launches()));
    AddPart("launch", entry.value, entry.note, entry);
  }

  void Selects(const Entry& entry) {
    runtime_.selection = OneOf(entry, Named(Selections()));
    AddPart("selection", entry.value, entry.note, entry);
  }

  // A part that is one of two words: the one that sets `field`, or the other.
  void Either(const Entry& entry, const char* set, const char* unset, bool& field) {
    field = OneOf<bool>(entry, {{set, true}, {unset, false}});
    AddPart(entry.key, entry.value, entry.note, entry);
  }

  void Updates(const Entry& entry) {
    runtime_.update = OneOf(entry, Named(UpdateForms()));
    AddPart("update", entry.value, entry.note, entry);
  }

  const Entry& root_;
  Runtime runtime_;
};

}  // namespace

Runtime ReadRuntime(const std::string& path) { return RuntimeReader(LoadSpec(path), path).Read(); }

}  // namespace dlcost
