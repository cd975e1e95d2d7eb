#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "estimator/infer/expression.h"
#include "models/operators/op_def.h"

namespace dlcost {

// An operator that a user's file defines (docs/custom-operators.md).
struct CustomOperator {
  struct Output {
    std::vector<Expression> dims;
    std::string dtype;  // "in0": as input 0; or the name of a type
  };
  std::string name, domain;
  std::vector<Output> outputs;
  std::vector<std::pair<OpClass, Expression>> work;
  std::string work_dtype;  // as Output::dtype
  // What planning needs to know. Inferred models point to it, and outlive the file's definitions:
  // it lasts as long as the program, as those of built-in operators do.
  const OpDef* def = nullptr;

  // As OpDef::infer and OpDef::cost do.
  void Infer(OpContext& ctx) const;
  OpCost Cost(const OpContext& ctx) const;
};

class CustomOperators {
 public:
  // Reads a YAML file. Throws Error with the place for a file that says anything unknown.
  void Read(const std::string& path);
  void ReadText(const std::string& text, const std::string& path);
  // Null when no file defines it.
  const CustomOperator* Find(const std::string& domain, const std::string& name) const;

 private:
  std::map<std::pair<std::string, std::string>, std::unique_ptr<CustomOperator>> operators_;
};

}  // namespace dlcost
