#include "estimator/core/error.h"
#include "estimator/picture/pictures.h"
#include "estimator/sweep/sweep_render.h"

namespace dlcost {

std::string SweepSvg(const Sweep& sweep, const std::vector<SweepPoint>& points, bool dark,
                     const std::string& title) {
  const std::optional<std::size_t> axis = CurveAxis(sweep);
  if (sweep.devices.empty() || !axis) {
    throw Error(
        "--format svg draws throughput over a size: add --gpu and a range, --batch 1:64:x2");
  }
  std::vector<CurveSeries> series;
  for (const SweepCurve& curve : CurvesOf(sweep, points)) {
    CurveSeries& one = series.emplace_back(CurveSeries{CurveName(sweep, curve), {}});
    for (const SweepPoint* point : curve.points) {
      const std::int64_t size = point->sizes[*axis];
      const std::optional<double> rate = point->items_per_second();
      if (rate && *rate > 0 && size > 0) one.points.emplace_back(static_cast<double>(size), *rate);
    }
  }
  const std::string& path = sweep.model->path;
  const std::string shown = title.empty() ? Printable(path.substr(path.rfind('/') + 1)) : title;
  return CurvePicture(series, Printable(sweep.axes[*axis].name), "items/s",
                      {.title = shown, .dark = dark});
}

}  // namespace dlcost
