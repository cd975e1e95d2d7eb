#pragma once

#include "estimator/cli/commands.h"

namespace dlcost {

// `dlcost completion bash|zsh|fish` and `dlcost man` tell of all options of all commands.
void AddCompletionCommand(Commands& commands);
void AddManCommand(Commands& commands);

// All subcommands, these included.
void AddEveryCommand(Commands& commands);

}  // namespace dlcost
