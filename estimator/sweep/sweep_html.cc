#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/core/error.h"
#include "estimator/report/page_json.h"
#include "estimator/report/text_table.h"
#include "estimator/sweep/sweep_render.h"

// Curves and heat maps of a sweep: the page of the model's report, with page/sweep.js for its
// sections.
namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostPoints = 20000;  // that a browser draws without a pause

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json OrNull(const std::optional<Seconds>& time) { return time ? Json(time->value()) : Json(); }

}  // namespace

std::string SweepHtml(const Sweep& sweep, const SweepRenderOptions& options,
                      const std::vector<SweepPoint>& points) {
  if (points.size() > kMostPoints) {
    throw Error("a page draws up to {} points, not {}; --format csv takes any number", kMostPoints,
                points.size());
  }
  Json axes = Json::array(), devices = Json::array(), setups = Json::array(), rows = Json::array();
  for (const SweepAxis& axis : sweep.axes) {
    axes.push_back({{"name", Printable(axis.name)}, {"sizes", axis.sizes}});
  }
  for (const Device& device : sweep.devices) devices.push_back(device.id);
  for (std::size_t s = 0; s < sweep.setups.size(); ++s) setups.push_back(SetupName(sweep, s));
  TextTable texts;
  for (const SweepPoint& point : points) {
    const bool known = point.why_not.empty();
    const auto count = [&](Count value) { return known ? Json(value.value()) : Json(); };
    rows.push_back({point.sizes, point.setup, point.device, OrNull(point.items_per_second()),
                    OrNull(point.tokens_per_second()), OrNull(point.latency()), OrNull(point.bound),
                    OrNull(point.intensity()), count(point.flops), count(point.bytes),
                    count(point.needed), point.fits ? Json(*point.fits) : Json(),
                    OrNull(point.joules_per_item()), OrNull(options.CostOf(sweep, point)),
                    texts.Number(known ? point.limiter : Printable(point.why_not))});
  }
  const std::string path = sweep.model->path;
  const std::string name = Printable(path.substr(path.rfind('/') + 1), 80);
  const Json report = {
      {"title", name},
      {"sweep",
       {{"axes", axes},
        {"devices", devices},
        {"dtypes", setups},
        {"setup", SetupHead(sweep)},
        {"columns",
         {"sizes", "dtype", "device", "throughput", "tokens", "latency", "bound", "intensity",
          "flops", "bytes", "memory", "fits", "joules", "price", "limiter"}},
        {"texts", texts.texts()},
        {"rows", rows}}}};
  const std::string title = fmt::format("dlcost: {} over its sizes", name);
  return RenderPage(title, {{"title", title}, {"reports", Json::array({report})}});
}

}  // namespace dlcost
