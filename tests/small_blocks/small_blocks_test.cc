// estimator/cli/small_blocks.cc is part of this program: its operator new and delete are at work
// all the time.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

// A block that is filled with a number, to see whether another one overlaps it.
struct Block {
  unsigned char* bytes;
  std::size_t size;
  unsigned char fill;
};

Block Make(std::size_t size, unsigned char fill) {
  auto* const bytes = static_cast<unsigned char*>(operator new(size));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % __STDCPP_DEFAULT_NEW_ALIGNMENT__, 0u) << size;
  std::memset(bytes, fill, size);
  return {bytes, size, fill};
}

void Drop(const Block& block) {
  for (std::size_t i = 0; i < block.size; ++i) ASSERT_EQ(block.bytes[i], block.fill) << block.size;
  operator delete(block.bytes);
}

TEST(SmallBlocks, EverySizeIsAlignedAndApart) {
  std::vector<Block> blocks;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t size = 0; size < 2200; ++size) {
      blocks.push_back(Make(size, static_cast<unsigned char>(size * 7 + blocks.size())));
    }
    for (std::size_t i = 0; i < blocks.size(); i += 2) {
      Drop(blocks[i]);
      blocks[i] = blocks.back();
      blocks.pop_back();
    }
  }
  for (const Block& block : blocks) Drop(block);
}

TEST(SmallBlocks, WhatIsDroppedIsUsedAgain) {
  std::map<void*, int> seen;
  for (int i = 0; i < 100'000; ++i) {
    void* const block = operator new(48);
    ++seen[block];
    operator delete(block);
  }
  EXPECT_LT(seen.size(), 100u);
}

// Threads that end with as many blocks as a span has, or one more or fewer.
TEST(SmallBlocks, SpansThatAreUsedUpAreLeftBehind) {
  std::vector<Block> blocks;
  for (const std::size_t size : {1024, 896, 512, 48}) {
    for (std::size_t count = 1; count < 80'000 / size; ++count) {
      std::thread([&] {
        for (std::size_t i = 0; i < count; ++i) {
          blocks.push_back(Make(size, static_cast<unsigned char>(count + i)));
        }
      }).join();
    }
  }
  for (const Block& block : blocks) Drop(block);
}

// Blocks change hands: made by one thread, dropped by another, or by one that comes after both.
TEST(SmallBlocks, ThreadsDropEachOthersBlocks) {
  std::mutex mutex;
  std::vector<Block> shared;
  for (int generation = 0; generation < 6; ++generation) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, seed = generation * 10 + t] {
        std::mt19937 random(seed);
        std::vector<Block> own;
        for (int i = 0; i < 20'000; ++i) {
          const std::size_t size = random() % (i % 50 == 0 ? 5000 : 300);
          own.push_back(Make(size, static_cast<unsigned char>(random())));
          const std::size_t at = random() % own.size();
          if (i % 3 == 0) {
            Drop(own[at]);
            own[at] = own.back();
            own.pop_back();
          } else if (i % 7 == 0) {
            const std::lock_guard lock(mutex);
            shared.push_back(own[at]);  // and another of those instead
            std::swap(shared[random() % shared.size()], shared.back());
            own[at] = shared.back();
            shared.pop_back();
          }
        }
        for (const Block& block : own) Drop(block);
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (generation % 2 == 1) {
      for (const Block& block : shared) Drop(block);
      shared.clear();
    }
  }
}

}  // namespace
