#include "estimator/infer/strides.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace dlcost {

Sizes ContiguousStrides(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

bool SameStrides(const Sizes& sizes, const Sizes& a, const Sizes& b) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && a[i] != b[i]) return false;
  }
  return true;
}

Sizes StridesInOrderOf(const Sizes& sizes, const Sizes& strides) {
  Sizes order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] == 0 && sizes[i] > 1) return ContiguousStrides(sizes);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return strides[static_cast<std::size_t>(a)] > strides[static_cast<std::size_t>(b)];
  });
  Sizes result(sizes.size(), 1);
  std::int64_t next = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    result[axis] = next;
    next *= sizes[axis];
  }
  return result;
}

bool Scatters(const Sizes& sizes, const Sizes& strides, const Sizes& other, std::int64_t least) {
  std::size_t next = sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1 && (next == sizes.size() || strides[i] < strides[next])) next = i;
  }
  return next < sizes.size() && other[next] >= least;
}

bool IsImage(const Sizes& sizes) { return sizes.size() == 4 || sizes.size() == 5; }

Sizes ChannelsLastStrides(const Sizes& sizes) {
  Sizes last = {sizes[0]};
  last.insert(last.end(), sizes.begin() + 2, sizes.end());
  last.push_back(sizes[1]);
  const Sizes dense = ContiguousStrides(last);
  Sizes strides = {dense[0], dense.back()};
  strides.insert(strides.end(), dense.begin() + 1, dense.end() - 1);
  return strides;
}

bool IsBlasMatrix(const Sizes& sizes, const Sizes& strides) {
  const std::size_t rows = sizes.size() - 2, columns = sizes.size() - 1;
  const auto leads = [&](std::size_t far, std::size_t near) {
    return (strides[near] == 1 || sizes[near] == 1) &&
           (strides[far] >= sizes[near] || sizes[far] == 1);
  };
  return leads(rows, columns) || leads(columns, rows);
}

std::optional<Sizes> ViewedAs(const Sizes& sizes, const Sizes& strides, const Sizes& viewed) {
  const auto elements = [](const Sizes& of) {
    return std::accumulate(of.begin(), of.end(), std::int64_t{1}, std::multiplies<>());
  };
  if (elements(sizes) != elements(viewed)) return std::nullopt;
  if (sizes.empty()) return ContiguousStrides(viewed);
  // From the back: the run of axes that lie one behind the other, and the new axes that divide it.
  Sizes result(viewed.size(), 1);
  std::size_t next = viewed.size();
  std::int64_t run = 1, base = strides.back();
  for (std::size_t i = sizes.size(); i-- > 0;) {
    run *= sizes[i];
    const bool ends = i == 0 || (sizes[i - 1] != 1 && strides[i - 1] != run * base);
    if (!ends) continue;
    std::int64_t covered = 1;
    while (next > 0 && (covered < run || viewed[next - 1] == 1)) {
      result[--next] = covered * base;
      covered *= viewed[next];
    }
    if (covered != run) return std::nullopt;
    if (i > 0) {
      base = strides[i - 1];
      run = 1;
    }
  }
  return next == 0 ? std::optional<Sizes>(std::move(result)) : std::nullopt;
}

}  // namespace dlcost
