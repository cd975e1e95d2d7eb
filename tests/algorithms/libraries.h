#pragma once

#include "models/algorithms/library.h"

namespace dlcost {

inline const Library& kPascal = LibraryFor("Pascal");
inline const Library& kAmpere = LibraryFor("Ampere");

}  // namespace dlcost
