#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlcost {

// Sizes that an option names: "8", "1,8,32", "128:4096:128" (from, to, step), "1:1024:x2" (times
// 2), "1:64" (step 1), "@lengths.csv" (observed sizes), and any of these with commas between.
struct SizeList {
  struct Range {
    std::int64_t first = 1, last = 1, step = 1;
    bool times = false;  // multiply by `step` instead of adding it
  };
  std::vector<Range> ranges;
  // Of a file: how often each size was seen. Empty for ranges.
  std::vector<std::int64_t> observed;  // ascending, each once
  std::vector<double> weights;

  bool IsDistribution() const { return !observed.empty(); }
  // How many sizes there are, without making them.
  std::int64_t Count() const;
  // In the order in which they were named. Throws Error for more than memory holds.
  std::vector<std::int64_t> Sizes() const;
};

// Sizes as they are listed.
SizeList ListedSizes(const std::vector<std::int64_t>& sizes);
// Sizes and how often each was seen, in any order. Throws Error for a weight below 0 and for sizes
// of no weight. `what` is told in messages.
SizeList ObservedSizes(const std::string& what, const std::vector<std::int64_t>& sizes,
                       const std::vector<double>& weights);

// Whether the text names several sizes, or a file of them.
bool IsSizeList(const std::string& text);
// Throws Error for anything else, an empty list, a range that runs backwards or stands still, and a
// file that holds no sizes. `option` is told in messages: "--batch 64:1".
SizeList ParseSizeList(const std::string& option, const std::string& text);

}  // namespace dlcost
