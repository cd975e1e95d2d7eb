#pragma once

#include "tests/plan/plan_model.h"

namespace dlcost {

// What the tests of one execution look at: the reference networks, on devices of different makers.
struct Network {
  const char* file;
  Dims dims;
};

inline const Network kNetworks[] = {{"alexnet", {}},
                                    {"resnet50", {}},
                                    {"mobilenet-v2", {}},
                                    {"bert-base", {{"sequence", 128}}},
                                    {"gpt2", {{"sequence", 64}}},
                                    {"llama3-8b", {{"sequence", 32}}},
                                    {"lstm", {{"sequence", 16}}}};
inline const char* const kDevices[] = {"p4",
                                       "v100-sxm2-16gb",
                                       "t4",
                                       "a100-sxm4-80gb",
                                       "h100-sxm5",
                                       "rtx-4090",
                                       "mi300x",
                                       "tpu-v5e",
                                       "gaudi2",
                                       "trainium1",
                                       "xeon-platinum-8480plus"};

inline InferredModel Load(const Network& network) {
  return InferFile(std::string(DLCOST_SOURCE_DIR) + "/models/networks/" + network.file + ".onnx",
                   network.dims);
}

}  // namespace dlcost
