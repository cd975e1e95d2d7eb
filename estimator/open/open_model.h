#pragma once

#include <string>
#include <string_view>

#include "estimator/graph/graph.h"

namespace dlcost {

// A model from whatever describes one: an ONNX file, or a config.json of Hugging Face's
// transformers, whose network is built. "-" is standard input. Throws Error naming the file and
// what is wrong with it.
Model OpenModel(const std::string& path);

// The same from bytes in memory; `path` only names the source in messages.
Model OpenModelFromBytes(std::string_view bytes, const std::string& path);

// From now on, in this process, `path` names these bytes: of a model that a program around this one
// made, and wrote to no file. Not while others open models.
void ProvideModel(const std::string& path, std::string bytes);

// Whether `path` names a model for certain: one that was provided.
bool IsProvided(const std::string& path);

// Whether the file is a configuration that OpenModel builds a network of; false for "-".
bool IsConfigFile(const std::string& path);

}  // namespace dlcost
