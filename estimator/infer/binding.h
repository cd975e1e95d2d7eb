#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// What the user says about the sizes that the file leaves open.
struct Bindings {
  std::map<std::string, std::int64_t> dims;                 // --dim NAME=N
  std::optional<std::int64_t> batch;                        // --batch N
  std::map<std::string, std::vector<std::int64_t>> inputs;  // --input NAME:1x3x224x224
  std::map<std::string, std::vector<std::int64_t>> values;  // --value NAME=1,2
};

// Reads "NAME=N" / "NAME:1x3x224x224" ("NAME:" is a scalar) into `bindings`. Throws Error for
// anything else.
void AddDimBinding(Bindings& bindings, const std::string& text);
void AddInputBinding(Bindings& bindings, const std::string& text);
// Reads "NAME=1,-2,3", the integers that an input holds.
void AddValueBinding(Bindings& bindings, const std::string& text);

struct BoundDims {
  std::map<std::string, std::int64_t> symbols;  // every symbol with its size
  std::vector<std::string> notes;               // defaults taken, one sentence each
};

// Gives every graph input a concrete shape. An unbound batch-like first dimension becomes 1, with a
// note; any other unbound dimension is an Error that lists the symbols and options that would bind
// them.
BoundDims BindInputs(Model& model, const Bindings& bindings);

}  // namespace dlcost
