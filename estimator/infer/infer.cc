#include "estimator/infer/infer.h"

#include "estimator/core/error.h"
#include "estimator/infer/driver.h"
#include "estimator/infer/memory.h"

namespace dlcost {

InferredModel Infer(Model model, const InferOptions& options) {
  InferredModel result;
  result.model = std::make_unique<Model>(std::move(model));
  try {
    result.dims = BindInputs(*result.model, options.bindings);
    result.nodes.reserve(result.model->graph.nodes.size());
    InferenceDriver driver(result, options);
    driver.Run(result.model->graph, 1, "");
    driver.CheckChoices();
    CountWeights(result);
    MeasurePeakActivations(result);
  } catch (const Error& error) {
    throw error.At(Printable(result.model->path));
  }
  result.notes = result.dims.notes;
  if (std::string note = WeightsOfUnknown(result); !note.empty()) {
    result.notes.push_back(std::move(note));
  }
  return result;
}

}  // namespace dlcost
