#include "estimator/infer/suggestion.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "estimator/core/shell.h"
#include "estimator/infer/infer_once.h"
#include "estimator/infer/typical.h"

namespace dlcost {
namespace {

constexpr std::int64_t kImage = 224;  // what classifiers of images take
constexpr std::size_t kMaxTries = 64;
constexpr std::size_t kMaxTrySteps = 300'000;  // nodes inferred: about a second

using Extents = std::vector<std::int64_t>;

// Words of a name, in the spelling of most exporters: "past_seq_len" is "past sequence length".
std::vector<std::string> WordsOf(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  for (std::string& word : words) {
    if (word == "seq") word = "sequence";
    if (word == "len") word = "length";
  }
  return words;
}

bool HasWord(const std::string& name, std::initializer_list<const char*> wanted) {
  const std::vector<std::string> words = WordsOf(name);
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const char* w) { return word == w; });
  });
}

class Search {
 public:
  Search(const Model& model, const InferOptions& options, const UnboundDims& unbound)
      : model_(model), options_(options), unbound_(unbound) {
    for (const OpenDim& dim : unbound.dims) {
      const std::set<std::string> parts = PartsOf(dim.key);
      const bool solved = !parts.empty() && std::all_of(parts.begin(), parts.end(), [&](auto& p) {
        return IsUnbound(p) || unbound.bound.count(p) != 0;
      });
      if (solved) continue;  // follows from the others
      (parts.empty() && !IsTotal(dim) ? free_ : derived_).push_back(&dim);
    }
    for (const OpenDim* dim : free_) usual_.push_back(Usual(*dim));
  }

  // Options that work, or "".
  std::string Run() {
    const std::vector<Extents> shapes =
        unbound_.shapeless.empty()
            ? std::vector<Extents>{{}}
            : std::vector<Extents>{
                  {1, 3, kImage, kImage}, {1, kTypicalLength}, {kTypicalLength}, {1}, {},
                  {1, kTypicalLength, 64}};
    for (const Extents& sizes : Profiles()) {
      for (const Extents& shape : shapes) {
        if (tries_ == kMaxTries || (tries_ > 0 && trace_.steps > kMaxTrySteps)) return "";
        ++tries_;
        InferOptions trial = options_;
        const std::string line = Add(trial.bindings, sizes, shape);
        if (!TryInfer(model_, trial, trace_)) continue;
        found_ = std::move(trial.bindings);
        return line;
      }
    }
    return "";
  }

  // Those that Run found.
  std::optional<Bindings> TakeFound() { return std::move(found_); }

 private:
  bool IsUnbound(const std::string& key) const {
    return std::any_of(unbound_.dims.begin(), unbound_.dims.end(),
                       [&](const OpenDim& dim) { return dim.key == key; });
  }

  // "total_sequence_length" beside "past_sequence_length" is a sum without saying so.
  bool IsTotal(const OpenDim& dim) const {
    return HasWord(dim.key, {"total"}) &&
           std::any_of(unbound_.dims.begin(), unbound_.dims.end(),
                       [](const OpenDim& other) { return HasWord(other.key, {"past"}); });
  }

  std::int64_t Usual(const OpenDim& dim) const {
    const OpenDim::Place& place = dim.places.front();
    const bool named = dim.name == DimName::kOther;
    if (named && HasWord(dim.key, {"height", "width", "h", "w"})) return kImage;
    if (named && HasWord(dim.key, {"channel", "channels"})) return 3;
    if (named) return kTypicalLength;
    if (place.rank == 4) return place.axis == 1 ? 3 : kImage;
    // A vector beside larger inputs has one element for each of a batch.
    if (place.rank == 1 && model_.graph.inputs.size() > 1) return 1;
    return kTypicalLength;
  }

  // Sizes for `free_`, likely ones first: as usual; all smaller; one of them 1 (the batch of a
  // state, a scale); all of another size; both.
  std::vector<Extents> Profiles() const {
    std::vector<Extents> profiles = {usual_};
    const auto add = [&](Extents sizes) {
      if (std::find(profiles.begin(), profiles.end(), sizes) == profiles.end()) {
        profiles.push_back(std::move(sizes));
      }
    };
    constexpr std::size_t kVaried = 6;
    const auto vary = [&](const Extents& around, std::int64_t size) {
      for (std::size_t i = 0; i < std::min(kVaried, around.size()); ++i) {
        Extents sizes = around;
        sizes[i] = size;
        add(std::move(sizes));
      }
    };
    // Tables of positions are short in small models.
    for (const std::int64_t size : {64, 32, 16}) add(Extents(usual_.size(), size));
    vary(usual_, 1);
    for (const std::int64_t size : {512, 64, 256, 32, 16, 1024, 640, 8, 4, 3, 2, 1}) {
      const Extents same(usual_.size(), size);
      add(same);
      vary(same, 1);
      vary(usual_, size);
    }
    return profiles;
  }

  // The size of a part of an expression that no input has under this very name.
  std::int64_t PartSize(const std::string& part, const Bindings& bindings) const {
    const auto exact = bindings.dims.find(part);
    if (exact != bindings.dims.end()) return exact->second;
    for (const auto* known : {&unbound_.bound, &bindings.dims}) {
      for (const auto& [key, size] : *known) {
        if (WordsOf(key) == WordsOf(part)) return size;
      }
    }
    return kTypicalLength;
  }

  // Binds everything, and returns the options that do.
  std::string Add(Bindings& bindings, const Extents& sizes, const Extents& shape) const {
    std::vector<std::string> words;
    const auto bind = [&](const OpenDim& dim, std::int64_t size) {
      bindings.dims[dim.key] = size;
      words.push_back(Option("--dim", fmt::format("{}={}", dim.Label(), size)));
    };
    for (std::size_t i = 0; i < free_.size(); ++i) bind(*free_[i], sizes[i]);
    for (const OpenDim* dim : derived_) {
      const auto value = IsTotal(*dim) ? std::optional(TotalOf(bindings))
                                       : EvaluateSymbol(dim->key, [&](const std::string& part) {
                                           return std::optional(PartSize(part, bindings));
                                         });
      bind(*dim, value && *value >= 0 ? *value : kTypicalLength);
    }
    for (const std::string& name : unbound_.shapeless) {
      bindings.inputs[name] = shape;
      words.push_back(Option("--input", fmt::format("{}:{}", name, fmt::join(shape, "x"))));
    }
    return fmt::format("{}", fmt::join(words, " "));
  }

  // The past, and what comes to it.
  std::int64_t TotalOf(const Bindings& bindings) const {
    std::int64_t past = 0, fresh = 0;
    for (const auto* known : {&unbound_.bound, &bindings.dims}) {
      for (const auto& [key, size] : *known) {
        if (HasWord(key, {"total"})) continue;
        if (HasWord(key, {"past"})) {
          past = size;
        } else if (HasWord(key, {"sequence"})) {
          fresh = size;
        }
      }
    }
    return past + fresh;
  }

  // A name that begins with a dash would be taken for an option.
  static std::string Option(const std::string& option, const std::string& text) {
    return option + (text.starts_with('-') ? "=" : " ") + ShellWord(text);
  }

  const Model& model_;
  const InferOptions& options_;
  const UnboundDims& unbound_;
  std::vector<const OpenDim*> free_, derived_;
  Extents usual_;
  std::size_t tries_ = 0;
  InferTrace trace_;
  std::optional<Bindings> found_;
};

}  // namespace

std::string SuggestBindings(const Model& model, const InferOptions& options,
                            const UnboundDims& unbound) {
  const std::string line = Search(model, options, unbound).Run();
  if (!line.empty()) return "bind them, for example: " + line;
  return "bind each of them with --dim NAME=N or --input NAME:SHAPE (no sizes that fit together "
         "were found)";
}

std::optional<Bindings> FindBindings(const Model& model, const InferOptions& options,
                                     const UnboundDims& unbound) {
  Search search(model, options, unbound);
  search.Run();
  return search.TakeFound();
}

}  // namespace dlcost
