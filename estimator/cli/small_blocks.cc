// The program's own operator new and delete. A model is some hundred thousand names, shapes and
// lists of a few dozen bytes, made and dropped again from stage to stage, and the C library's
// general allocator took a third of the run of a large job.
//
// A block of up to kMostSmall bytes lies in a span of blocks of its size, without a header, so that
// what is made together lies together. A span belongs to a thread, which alone takes and puts back
// blocks of it without a lock; a block that another thread drops is that thread's from then on.
// What a thread leaves behind when it ends, others take over. Spans are never given back to the
// system. Larger blocks are the C library's.

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace {

constexpr std::size_t kSpan = std::size_t{32} << 10;  // bytes of a span, and its alignment
constexpr std::size_t kMostSmall = 1024;
constexpr std::size_t kUnit = 16;  // what all sizes are multiples of: every block's alignment
static_assert(kUnit == __STDCPP_DEFAULT_NEW_ALIGNMENT__);

// Sizes of blocks: the multiples of 16 up to 128, then four between powers of two.
constexpr std::size_t kClasses = 8 + 3 * 4;
constexpr std::array<std::uint16_t, kClasses> Sizes() {
  std::array<std::uint16_t, kClasses> sizes{};
  std::size_t size = 0, step = kUnit;
  for (std::uint16_t& each : sizes) {
    size += step;
    each = static_cast<std::uint16_t>(size);
    if (size >= 128 && (size & (size - 1)) == 0) step = size / 4;
  }
  return sizes;
}
constexpr auto kSizes = Sizes();
static_assert(kSizes.back() == kMostSmall);

constexpr std::array<std::uint8_t, kMostSmall / kUnit + 1> ClassesBySize() {
  std::array<std::uint8_t, kMostSmall / kUnit + 1> classes{};
  std::uint8_t c = 0;
  for (std::size_t units = 0; units < classes.size(); ++units) {
    while (kSizes[c] < units * kUnit) ++c;
    classes[units] = c;
  }
  return classes;
}
constexpr auto kClassesBySize = ClassesBySize();

// A block that nobody uses.
struct Free {
  Free* next;
  Free* next_list;  // of the first in a list that a thread left behind
};
static_assert(sizeof(Free) <= kSizes.front());

struct ThreadBlocks;

// In front of the blocks of a span.
struct Span {
  std::atomic<ThreadBlocks*> owner;  // null: of a thread that has ended
  Free* free;                        // blocks that were dropped
  char* fresh;                       // blocks from here to `end` were never used
  char* end;
  Span* next;     // in a list of spans that have blocks
  std::size_t c;  // class
  bool is_in_list;
};
constexpr std::size_t kFirstBlock = 64;
static_assert(sizeof(Span) <= kFirstBlock);

struct ThreadBlocks {
  std::array<Span*, kClasses> spans;   // that have blocks; the first is the one in use
  std::array<Free*, kClasses> strays;  // dropped here, of spans of other threads
};
constinit thread_local ThreadBlocks blocks{};

// The address space that spans lie in, and what threads that have ended left behind.
struct Pool {
  std::uintptr_t begin;
  std::size_t size, used;
  bool asked;  // for address space
  std::mutex mutex;
  std::array<std::atomic<Span*>, kClasses> spans;
  std::array<std::atomic<Free*>, kClasses> strays;
};
constinit Pool pool{};

struct AtThreadEnd {
  void IsWanted() {}  // makes the destructor run
  ~AtThreadEnd() {
    const std::lock_guard lock(pool.mutex);
    for (std::size_t c = 0; c < kClasses; ++c) {
      while (Span* const span = blocks.spans[c]) {
        blocks.spans[c] = span->next;
        span->owner.store(nullptr, std::memory_order_relaxed);
        span->next = pool.spans[c].load(std::memory_order_relaxed);
        pool.spans[c].store(span, std::memory_order_relaxed);
      }
      if (Free* const list = blocks.strays[c]) {
        blocks.strays[c] = nullptr;
        list->next_list = pool.strays[c].load(std::memory_order_relaxed);
        pool.strays[c].store(list, std::memory_order_relaxed);
      }
    }
  }
};
thread_local AtThreadEnd at_thread_end;

// Address space alone costs nothing, so that there is more than a run will need; less where the
// user has set a limit. Behind the first few MB pages are large ones: taking small ones one by one
// costs more than what is written into them.
void Reserve() {
  constexpr std::size_t kMost = std::size_t{1} << 36, kLeast = std::size_t{1} << 26;
  constexpr std::size_t kSmallPages = std::size_t{4} << 20, kLargePage = std::size_t{2} << 20;
  for (std::size_t size = kMost; size >= kLeast; size /= 2) {
    void* const space = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(space);
    pool.begin = (begin + kLargePage - 1) / kLargePage * kLargePage;
    pool.size = (begin + size - pool.begin) / kSpan * kSpan;
    madvise(reinterpret_cast<void*>(pool.begin + kSmallPages), pool.size - kSmallPages,
            MADV_HUGEPAGE);
    return;
  }
}

bool IsSmall(const void* block) {
  return reinterpret_cast<std::uintptr_t>(block) - pool.begin < pool.size;
}

Span* SpanOf(void* block) {
  return reinterpret_cast<Span*>(reinterpret_cast<std::uintptr_t>(block) & ~(kSpan - 1));
}

void* TakeFrom(Span& span) {
  if (Free* const block = span.free) {
    span.free = block->next;
    return block;
  }
  if (span.fresh == span.end) return nullptr;
  char* const block = span.fresh;
  span.fresh += kSizes[span.c];
  return block;
}

// A span from those that were left behind, or a new one; null where there is no more space. The
// same for blocks of spans of others.
Span* TakeSpan(std::size_t c) {
  const std::lock_guard lock(pool.mutex);
  Span* span = pool.spans[c].load(std::memory_order_relaxed);
  if (span != nullptr) {
    pool.spans[c].store(span->next, std::memory_order_relaxed);
    span->next = nullptr;
  } else {
    if (!std::exchange(pool.asked, true)) Reserve();
    if (pool.used == pool.size) return nullptr;
    char* const place = reinterpret_cast<char*>(pool.begin + pool.used);
    pool.used += kSpan;
    const std::size_t count = (kSpan - kFirstBlock) / kSizes[c];
    span = new (place) Span{.fresh = place + kFirstBlock,
                            .end = place + kFirstBlock + count * kSizes[c],
                            .c = c,
                            .is_in_list = true};
  }
  span->owner.store(&blocks, std::memory_order_relaxed);
  return span;
}

void* TakeStray(std::size_t c) {
  Free*& strays = blocks.strays[c];
  if (strays == nullptr && pool.strays[c].load(std::memory_order_relaxed) != nullptr) {
    const std::lock_guard lock(pool.mutex);
    strays = pool.strays[c].load(std::memory_order_relaxed);
    if (strays != nullptr) pool.strays[c].store(strays->next_list, std::memory_order_relaxed);
  }
  Free* const block = strays;
  if (block != nullptr) strays = block->next;
  return block;
}

// Where the span in use has no more blocks, or there is none.
void* Take(std::size_t c) {
  if (void* const stray = TakeStray(c)) return stray;
  Span*& first = blocks.spans[c];
  while (true) {
    while (first != nullptr) {
      if (void* const block = TakeFrom(*first)) return block;
      first->is_in_list = false;
      first = first->next;
    }
    at_thread_end.IsWanted();
    first = TakeSpan(c);  // which may have been used up before it was left behind
    if (first == nullptr) return std::malloc(kSizes[c]);
  }
}

}  // namespace

void* operator new(std::size_t size) {
  while (true) {
    void* block = nullptr;
    if (size <= kMostSmall) {
      const std::size_t c = kClassesBySize[(size + kUnit - 1) / kUnit];
      if (Span* const span = blocks.spans[c]) block = TakeFrom(*span);
      if (block == nullptr) block = Take(c);
    } else {
      block = std::malloc(size);
    }
    if (block != nullptr) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* block) noexcept {
  if (!IsSmall(block)) {
    std::free(block);
    return;
  }
  Span* const span = SpanOf(block);
  Free* const free = static_cast<Free*>(block);
  if (span->owner.load(std::memory_order_relaxed) != &blocks) {
    free->next = std::exchange(blocks.strays[span->c], free);
    return;
  }
  free->next = std::exchange(span->free, free);
  if (span->is_in_list) return;
  // Behind the one in use.
  span->is_in_list = true;
  Span*& place =
      blocks.spans[span->c] == nullptr ? blocks.spans[span->c] : blocks.spans[span->c]->next;
  span->next = std::exchange(place, span);
}

void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
