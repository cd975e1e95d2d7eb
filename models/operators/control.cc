#include "models/operators/families.h"

namespace dlcost {
namespace {

// Operators that own graphs. Inference follows the graphs themselves (estimator/infer); what is
// counted are the nodes inside, as often as they run.

constexpr OpDef kControlOps[] = {
    {.name = "If",
     .since = {1, 11, 13, 16, 19, 21, 23, 24, 25},
     .formula = "the branch that runs; the costlier one when that is only known at run time",
     .control = ControlFlow::kIf},
    {.name = "Loop",
     .since = {1, 11, 13, 16, 19, 21, 23, 24, 25},
     .formula = "trips * body",
     .control = ControlFlow::kLoop},
    {.name = "Scan",
     .since = {8, 9, 11, 16, 19, 21, 23, 24, 25},
     .formula = "extent of the scanned axis * body",
     .control = ControlFlow::kScan},
    {.name = "SequenceMap",
     .since = {17},
     .formula = "sum of the body over the elements of the sequence",
     .control = ControlFlow::kSequenceMap},
};

}  // namespace

std::span<const OpDef> ControlOps() { return kControlOps; }

}  // namespace dlcost
