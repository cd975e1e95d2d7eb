#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// What the name of an open dimension tells. Files say "I do not know" in many ways; two dimensions
// that are both not known are two sizes.
enum class DimName {
  kNone,       // "", "?", "-1", "None", "dynamic": not even that two of them are equal
  kPerAxis,    // "unk__12", "DynamicDimension.1": an exporter's own number for one axis
  kGenerated,  // "s0": an exporter's own number for a size, equal wherever it stands
  kBatch,      // "batch_size"
  kInitial,    // "N", "B": a batch where it comes first
  kOther
};
DimName ClassifyDimName(const std::string& symbol);

// One size that the inputs of a model leave open.
struct OpenDim {
  std::string
      key;  // how `--dim` and reports name it: its symbol, or "x[3]" where that says nothing
  DimName name = DimName::kOther;
  struct Place {
    std::string input;
    std::size_t axis = 0, rank = 0;
  };
  std::vector<Place> places;
  // The name for people: "x[3]" where the symbol is an exporter's number.
  std::string Label() const;
};

std::string AxisKey(const std::string& input, std::size_t axis);
// Key of an axis that the file leaves open.
std::string KeyOf(const Tensor& input, std::size_t axis);
// Whether the model's input is a tensor whose axes are declared.
bool DeclaresAxes(const Tensor& input);

// In the order of the inputs.
std::vector<OpenDim> OpenDimsOf(const Model& model);
// Of these, what `--batch` sets and what is 1 by default, by key. docs/dimensions.md has the rules.
std::set<std::string> BatchDims(const std::vector<OpenDim>& dims);

// A symbol such as "past + sequence" or "floor(s0/2)" with `size` for its names: nullopt where it
// is no expression, or a name has no size.
using SizeByName = std::function<std::optional<std::int64_t>(const std::string&)>;
std::optional<std::int64_t> EvaluateSymbol(const std::string& symbol, const SizeByName& size);
// Names in the symbol; empty where it is no expression.
std::set<std::string> PartsOf(const std::string& symbol);

}  // namespace dlcost
