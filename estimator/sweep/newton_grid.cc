#include "estimator/sweep/newton_grid.h"

#include "estimator/core/count.h"

namespace dlcost {

std::size_t GridSize(const std::vector<RegionAxis>& axes) {
  std::size_t points = 1;
  for (const RegionAxis& axis : axes) points *= static_cast<std::size_t>(axis.degree) + 1;
  return points;
}

Point GridPoint(const std::vector<RegionAxis>& axes, std::size_t index) {
  Point point(axes.size());
  for (std::size_t v = point.size(); v-- > 0;) {
    const RegionAxis& axis = axes[v];
    const auto size = static_cast<std::size_t>(axis.degree) + 1;
    point[v] = axis.base + axis.period * static_cast<std::int64_t>(index % size);
    index /= size;
  }
  return point;
}

std::vector<std::int64_t> Differences(const std::vector<RegionAxis>& axes,
                                      std::vector<std::int64_t> values) {
  std::size_t stride = 1;
  for (std::size_t v = axes.size(); v-- > 0;) {
    const auto size = static_cast<std::size_t>(axes[v].degree) + 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i / stride % size != 0) continue;  // the first of a line
      for (std::size_t order = 1; order < size; ++order) {
        for (std::size_t k = size; k-- > order;) {
          values[i + k * stride] =
              (Count(values[i + k * stride]) - values[i + (k - 1) * stride]).value();
        }
      }
    }
    stride *= size;
  }
  return values;
}

}  // namespace dlcost
