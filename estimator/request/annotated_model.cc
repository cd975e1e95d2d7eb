#include "estimator/request/annotated_model.h"

#include "estimator/core/error.h"
#include "estimator/core/shell.h"
#include "estimator/onnx/annotate.h"
#include "estimator/onnx/mapped_file.h"
#include "estimator/open/open_model.h"
#include "estimator/report/remarks.h"

namespace dlcost {

void RequireAnnotatable(const ModelOptions& model) {
  if (IsConfigFile(model.path)) {
    throw Error(
        "{}: costs are written into an ONNX file; dlcost network {} -o model.onnx makes one",
        Printable(model.path), ShellWord(model.path));
  }
  if (model.path == "-" || IsProvided(model.path)) {
    throw Error("--format onnx reads the model once more, for its weights: give it as a file");
  }
  if (!model.train.empty() || !model.precision.empty()) {
    throw Error(
        "--format onnx remarks on the nodes of the file: leave out --train and --precision");
  }
}

void WriteAnnotatedModel(const ModelOptions& model, const Report& report, const TextSink& sink) {
  RequireAnnotatable(model);
  const MappedFile file(model.path);
  const NodeRemarks remarks(report);
  Annotate(
      file.bytes(), [&](const NodeInFile& node) { return remarks.Of(node.op, node.first_output); },
      remarks.OfModel(), sink);
}

}  // namespace dlcost
