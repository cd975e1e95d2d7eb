#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/graph/graph.h"
#include "estimator/infer/open_dims.h"

namespace dlcost {

// What the user says about the sizes that the file leaves open.
struct Bindings {
  std::map<std::string, std::int64_t> dims;                 // --dim NAME=N, --dim INPUT[AXIS]=N
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
  std::map<std::string, std::int64_t> symbols;  // every open dimension (OpenDim::key) with its size
  std::vector<std::string> notes;               // defaults taken, one sentence each
  std::string overridden;  // the note of them that says which batch of the file was; "" none
};

// Something is left open. what() says which, not how to bind it: see suggestion.h.
class UnboundDims : public Error {
 public:
  UnboundDims(const std::string& message, std::vector<OpenDim> open,
              std::vector<std::string> without_rank, std::map<std::string, std::int64_t> known)
      : Error(message),
        dims(std::move(open)),
        shapeless(std::move(without_rank)),
        bound(std::move(known)) {}

  std::vector<OpenDim> dims;
  std::vector<std::string> shapeless;         // inputs of which not even the rank is declared
  std::map<std::string, std::int64_t> bound;  // what is known already
};

// Gives every graph input a concrete shape. An unbound batch becomes 1, with a note; any other
// unbound dimension throws UnboundDims, and the model stays as it was.
BoundDims BindInputs(Model& model, const Bindings& bindings);

// A dimension that counts as a batch, and its size.
struct BatchDim {
  std::string key;
  std::int64_t size = 0;
};
// Where other options than --batch bind all dimensions that count as a batch: the first of them.
std::optional<BatchDim> BatchBoundApart(Model& model, const Bindings& bindings);

}  // namespace dlcost
