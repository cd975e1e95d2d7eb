#include <string>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/profiles/columns.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/text.h"

// DLProf (--reports=detail,kernel,... --formats=csv): one row per operator or per kernel. What all
// versions share is a column that tells whether tensor cores were (or could be) used.
namespace dlcost {
namespace {

using Names = std::initializer_list<std::string_view>;
const Names kKernelName = {"kernel name"};
const Names kOpName = {"op name", "node name", "op node", "name"};
const Names kOpType = {"op type", "node op", "op"};
const Names kCalls = {"no. calls", "calls", "count", "kernel count", "kernel calls", "instances"};
const Names kTotalTime = {"total gpu time",  "gpu time",   "total duration",
                          "kernel duration", "total time", "duration"};

}  // namespace

bool IsDlprof(std::string_view head) {
  for (const std::string_view column :
       {"TC Eligible", "Uses TC", "Using TC", "Uses Tensor Cores"}) {
    if (HasLineWith(head, {column, ","})) return true;
  }
  return false;
}

void ReadDlprof(Input& input, Measurement& measurement) {
  CsvReader csv(input);
  CsvRow row;
  Columns columns;
  while (csv.Next(row)) {
    if (row.banner) continue;
    const Columns header(row.fields);
    if (header.Has(kTotalTime) && (header.Has(kKernelName) || header.Has(kOpName))) {
      columns = header;
      continue;
    }
    if (columns.size() == 0) continue;
    csv.Expect(row, columns.size());
    MeasuredKernel kernel;
    kernel.line = row.line;
    const bool of_kernels = columns.Has(kKernelName);
    kernel.kind = of_kernels ? MeasuredKind::kKernel : MeasuredKind::kOp;
    kernel.op = columns.Text(row, kOpName);
    kernel.op_type = columns.Text(row, kOpType);
    kernel.name = of_kernels ? columns.Text(row, kKernelName) : kernel.op;
    if (columns.Has(kCalls)) {
      kernel.launches = Truncate(RequiredNumber(csv, columns, row, kCalls));
    }
    if (kernel.launches <= 0) continue;  // an operator that never ran on the GPU
    kernel.duration = Seconds(RequiredNumber(csv, columns, row, kTotalTime) /
                              static_cast<double>(kernel.launches));
    measurement.Add(std::move(kernel));
  }
}

}  // namespace dlcost
