// Everything: what an ONNX model costs, on a device, without running it (docs/cpp.md).
#pragma once

#include "dlcost/collective.h"   // IWYU pragma: export
#include "dlcost/comparison.h"   // IWYU pragma: export
#include "dlcost/device.h"       // IWYU pragma: export
#include "dlcost/difference.h"   // IWYU pragma: export
#include "dlcost/error.h"        // IWYU pragma: export
#include "dlcost/explanation.h"  // IWYU pragma: export
#include "dlcost/fit.h"          // IWYU pragma: export
#include "dlcost/formula.h"      // IWYU pragma: export
#include "dlcost/input.h"        // IWYU pragma: export
#include "dlcost/measured.h"     // IWYU pragma: export
#include "dlcost/model.h"        // IWYU pragma: export
#include "dlcost/network.h"      // IWYU pragma: export
#include "dlcost/operators.h"    // IWYU pragma: export
#include "dlcost/options.h"      // IWYU pragma: export
#include "dlcost/parallel.h"     // IWYU pragma: export
#include "dlcost/report.h"       // IWYU pragma: export
#include "dlcost/runtime.h"      // IWYU pragma: export
#include "dlcost/sweep.h"        // IWYU pragma: export
#include "dlcost/system.h"       // IWYU pragma: export
