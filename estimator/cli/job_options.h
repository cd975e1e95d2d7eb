#pragma once

#include <string>

#include "estimator/cli/options.h"
#include "estimator/hardware/quantity_text.h"
#include "estimator/request/input_options.h"
#include "estimator/request/job.h"

namespace dlcost {

// What the commands about many devices share.

void AddJobOptions(CLI::App& app, JobOptions& options);
void AddSystemOption(CLI::App& app, std::string& system,
                     const std::string& help = "an id, an alias or a YAML file");
// --spread, in percent; the default is kDeviceSpread.
void AddSpreadOption(CLI::App& app, double& percent);

// How replicas send gradients, as words.
struct GradientTexts {
  std::string bucket = "25 MiB", type, sums;
  bool serial = false, fused = false;
};
void AddGradientOptions(CLI::App& app, GradientTexts& texts);
// How they add up over micro-batches before.
void AddSumOptions(CLI::App& app, GradientTexts& texts);
GradientOptions ParseGradients(const GradientTexts& texts);

// How items come to the devices of a node, as words.
struct InputTexts {
  std::string item, stored, storage, host_link;
  std::string decode, augment;  // items/s of one core
  int cores = 0;
};
void AddInputOptions(CLI::App& app, InputTexts& texts);
InputOptions ParseInput(const InputTexts& texts);
// Items per second; throws Error for anything else.
double ParseItemRate(const std::string& option, const std::string& text);
// A quantity, whose errors name the option.
double ParseWith(const std::string& option, const std::string& text, Dimension dimension);

}  // namespace dlcost
