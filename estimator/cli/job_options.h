#pragma once

#include <string>

#include "estimator/cli/options.h"
#include "estimator/request/input_options.h"
#include "estimator/request/job.h"

namespace dlcost {

// What the commands about many devices share.

void AddJobOptions(CLI::App& app, JobOptions& options);
void AddSystemOption(CLI::App& app, std::string& system,
                     const std::string& help = "an id, an alias or a YAML file");
// --spread, in percent; the default is kDeviceSpread.
void AddSpreadOption(CLI::App& app, double& percent);
void AddInputOptions(CLI::App& app, InputOptions& options);

}  // namespace dlcost
