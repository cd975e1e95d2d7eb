#pragma once

#include <string>
#include <variant>
#include <vector>

#include "estimator/core/shape.h"

namespace dlcost {

// What the user says about a tensor that only the run knows: --at NODE=WHAT.
struct RunBinding {
  struct Values {
    std::vector<double> elements;
  };
  struct Share {
    double fraction = 1;  // of the upper bound of the open axis
  };
  std::string text;  // as given, for messages
  // A node ("NODE", "NODE:1") or a tensor; `*` stands for anything, and then only what is open is
  // bound.
  std::string target;
  std::variant<Shape, Values, Share> what;
  std::string assumed_because;  // "": the user said so
};

// Reads "NODE=2x57", "NODE=[1,2,3]" or "NODE=37%". Throws Error for anything else.
RunBinding ParseRunBinding(const std::string& text);

// A size or value that does not follow from the file: bound by the user, or assumed.
struct RunFact {
  std::string node;  // with the output's number behind it, "NODE:1", where it is not the first
  std::string what;  // "[2,57] of at most [2,114]", "the value [512]"
  std::string how;   // the option as given, or the reason of the assumption
};

}  // namespace dlcost
