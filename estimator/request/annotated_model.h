#pragma once

#include <string>

#include "estimator/report/json_writer.h"
#include "estimator/report/report.h"
#include "estimator/request/model_options.h"

namespace dlcost {

// Writes the file of the model once more, with what the report says of its nodes as their metadata.
// Throws Error for a model that is no ONNX file, and for one that was changed for the report.
void WriteAnnotatedModel(const ModelOptions& model, const Report& report, const TextSink& sink);

// Throws the same without writing.
void RequireAnnotatable(const ModelOptions& model);

}  // namespace dlcost
