#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "estimator/core/spelling.h"
#include "estimator/request/count_options.h"
#include "estimator/request/device_options.h"
#include "estimator/request/model_options.h"

namespace dlcost {

// Options that several subcommands share, as words of the command line (estimator/request/ says
// what they mean).

// Headings of the help, under which the shared options stand.
inline constexpr const char* kModelHeading = "Model and its sizes";
inline constexpr const char* kTrainingHeading = "Training";
inline constexpr const char* kDeviceHeading = "Device";
inline constexpr const char* kCountHeading = "How it runs and counts";

// Whether a command looks for what fits a device's memory, as --batch max and --fit ask. Others
// take these words too, and say who does.
enum class Search { kNone, kFit };
// `positional` is the name of the positional argument for the file.
void AddModelOptions(CLI::App& app, ModelOptions& options, const std::string& positional = "model",
                     Search search = Search::kNone);

// How many devices a command takes.
enum class Devices { kOne, kSeveral };
void AddDeviceOptions(CLI::App& app, DeviceOptions& options, Devices devices = Devices::kOne);

void AddCountOptions(CLI::App& app, CountOptions& options);

// --format (text or json) and --output.
void AddOutputOptions(CLI::App& app, std::string& format, std::string& output);

}  // namespace dlcost
