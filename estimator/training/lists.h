#pragma once

#include "models/gradients/writer.h"

namespace dlcost {

// Puts tensors in the place of lists (sequences, optionals) whose elements are known: what takes an
// element from such a list reads the tensor itself, and joining one is a Concat. Exporters write
// lists where the program had one (torch.split, torch.stack); derivatives flow along tensors. Lists
// that control flow carries stay.
void TakeLists(NodeWriter& writer);

}  // namespace dlcost
