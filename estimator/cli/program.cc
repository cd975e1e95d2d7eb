#include <malloc.h>

#include <limits>

#include "estimator/cli/command_line.h"

int main(int argc, char** argv) {
  // A short-lived process that only grows: large arrays stay in the heap, and nothing goes back to
  // the system before the end. A tenth of the run of a large model.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  // Small blocks that are freed wait in a cache per thread; the lists behind it, which a large
  // allocation merges every time, cost another tenth.
  mallopt(M_MXFAST, 0);
  return dlcost::CommandLine(argc, argv);
}
