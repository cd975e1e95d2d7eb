#include "estimator/infer/driver.h"

namespace dlcost {

void RunControlFlow(InferenceDriver& driver, Graph& graph, CountedNode& counted, Count) {
  counted.why = "control flow is not resolved";
  AdoptDeclaredTypes(graph, *counted.node, driver.result().dims);
  driver.result().nodes.push_back(std::move(counted));
}

}  // namespace dlcost
