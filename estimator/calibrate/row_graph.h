#pragma once

#include <string>
#include <vector>

#include "estimator/graph/graph.h"
#include "estimator/plan/kernel.h"

namespace dlcost {

// A measured call as a small model: the product reads, counts and plans it as it does a file's.
class RowGraph {
 public:
  using Sizes = std::vector<Count>;

  TensorId Input(DType type, const Sizes& shape);
  TensorId Weight(DType type, const Sizes& shape);
  // A node of ai.onnx in its newest version; its output, or kNoTensor among `inputs` for what is
  // left out. The last node's output is the model's.
  TensorId Add(const std::string& op, std::vector<TensorId> inputs,
               std::vector<Attribute> attributes = {});
  // A node of com.microsoft, of whose outputs only that at `output` is wanted.
  TensorId AddContrib(const std::string& op, std::vector<TensorId> inputs,
                      std::vector<Attribute> attributes, std::size_t output);
  // A node of dlcost.training whose `outputs` are all the model's.
  void AddTraining(const std::string& op, std::vector<TensorId> inputs,
                   std::vector<Attribute> attributes, std::size_t outputs);

  // The kernels that run, in order. Throws Error where the operator cannot take its inputs.
  std::vector<Kernel> Plan(AttentionForm attention) &&;

 private:
  TensorId AddTensor(Role role);
  Model model_;
};

}  // namespace dlcost
