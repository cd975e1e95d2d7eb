#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "estimator/cli/command_line.h"

namespace {

// Large pages for the heap behind its first few MB, where small ones, taken one by one, cost a
// tenth of the run of a large model.
void WantLargePages() {
  constexpr std::size_t kHeap = 30 << 20, kSmallPages = 2 << 20, kLargePage = 2 << 20;
  void* const heap = std::malloc(kHeap);
  if (heap == nullptr) return;
  const auto at = reinterpret_cast<std::uintptr_t>(heap);
  const std::uintptr_t from = (at + kSmallPages + kLargePage - 1) / kLargePage * kLargePage;
  const std::uintptr_t to = (at + kHeap) / kLargePage * kLargePage;
  madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
  std::free(heap);
}

}  // namespace

int main(int argc, char** argv) {
  // A short-lived process that only grows: large arrays stay in the heap, and nothing goes back to
  // the system before the end. A tenth of the run of a large model.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  // Small blocks that are freed wait in a cache per thread; the lists behind it, which a large
  // allocation merges every time, cost another tenth.
  mallopt(M_MXFAST, 0);
  WantLargePages();
  return dlcost::CommandLine(argc, argv);
}
