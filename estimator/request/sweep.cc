#include "estimator/request/sweep.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "estimator/core/dtype_spelling.h"
#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/infer/open_dims.h"
#include "estimator/sweep/value_list.h"

namespace dlcost {
namespace {

// A size of one dimension from two options; --batch sets some dimensions by itself.
void RequireOnce(const Model& model, const std::vector<SweepRequest::Axis>& axes,
                 const Bindings& bindings) {
  const auto listed = [&](const std::string& name) {
    return std::count_if(axes.begin(), axes.end(),
                         [&](const SweepRequest::Axis& axis) { return axis.name == name; });
  };
  for (const SweepRequest::Axis& axis : axes) {
    if (axis.name.empty()) continue;
    if (listed(axis.name) > 1 || bindings.dims.count(axis.name) != 0) {
      throw Error("--dim {} is given twice", Printable(axis.name));
    }
  }
  if (listed("") == 0) return;
  if (listed("") > 1 || bindings.batch) throw Error("--batch is given twice");
  for (const std::string& batch : BatchDims(OpenDimsOf(model))) {
    if (listed(batch) > 0 || bindings.dims.count(batch) != 0) {
      throw Error("--batch sets --dim {} too: give one of them", Printable(batch));
    }
  }
}

// Each of the list; without one, what is given otherwise.
std::vector<std::string> EachOf(const std::vector<std::string>& list, const std::string& given) {
  return list.empty() ? std::vector<std::string>{given} : list;
}

// Every combination of runtimes, optimizers, precisions and types.
std::vector<SweepSetup> SetupsOf(const SweepRequest& request) {
  const std::vector<std::string> dtypes = EachOf(request.dtypes, request.model.dtype);
  for (const std::string& name : dtypes) {
    if (!name.empty()) ReadDType("--dtype", name);
  }
  std::vector<SweepSetup> setups;
  CountOptions count = request.count;
  ModelOptions model = request.model;
  for (const std::string& runtime : EachOf(request.runtimes, request.count.runtime)) {
    count.runtime = runtime;
    for (const Device& device : request.devices) RequireRunsOn(RuntimeOf(count), device);
    for (const std::string& train : EachOf(request.trains, request.model.train)) {
      model.train = train;
      for (const std::string& precision : EachOf(request.precisions, request.model.precision)) {
        model.precision = precision;
        for (const std::string& dtype : dtypes) {
          model.dtype = dtype;
          const ReportOptions report = ReportOptionsOf(count, request.device, model);
          model.plan = report.plan;
          setups.push_back({.dtype = dtype,
                            .precision = precision,
                            .train = train,
                            .derive = DerivationOf(model),
                            .report = report});
        }
      }
    }
  }
  return setups;
}

// Ends of buckets beside the observed sizes that they are for.
void AddBuckets(std::vector<std::int64_t> ends, std::vector<SweepAxis>& axes) {
  const auto observed = [](const SweepAxis& axis) { return axis.IsDistribution(); };
  if (std::count_if(axes.begin(), axes.end(), observed) != 1) {
    throw Error("--buckets are for one dimension of observed sizes: --dim NAME=@lengths.csv");
  }
  SweepAxis& axis = *std::find_if(axes.begin(), axes.end(), observed);
  if (axis.batch) throw Error("--buckets are for sizes of items, not for --batch");
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  if (ends.back() < axis.sizes.back()) {
    throw Error("--buckets up to {}: the longest observed size, {}, is in none of them",
                ends.back(), axis.sizes.back());
  }
  // Nothing is padded further.
  ends.erase(std::lower_bound(ends.begin(), ends.end(), axis.sizes.back()) + 1, ends.end());
  for (const std::int64_t end : ends) {
    const auto at = std::lower_bound(axis.sizes.begin(), axis.sizes.end(), end);
    if (at != axis.sizes.end() && *at == end) continue;
    axis.weights.insert(axis.weights.begin() + (at - axis.sizes.begin()), 0);
    axis.sizes.insert(at, end);
  }
  axis.buckets = std::move(ends);
}

// Without the values that --set gave it.
std::string IdAsSold(const Device& device) { return device.id.substr(0, device.id.find(' ')); }

// A price of a device that is not asked for would change nothing.
void RequireSwept(const std::string& id, const std::string& name,
                  const std::vector<Device>& devices) {
  if (devices.empty()) return;  // which is an error of its own
  std::vector<std::string> swept;
  for (const Device& device : devices) swept.push_back(IdAsSold(device));
  if (std::find(swept.begin(), swept.end(), id) != swept.end()) return;
  constexpr std::size_t kShown = 8;
  const std::string more = swept.size() > kShown ? ", ..." : "";
  swept.resize(std::min(swept.size(), kShown));
  throw Error("--price {}: it is not among the devices, which are {}{}", Printable(name),
              fmt::join(swept, ", "), more);
}

}  // namespace

std::vector<Device> FindDevicesOverValues(const DeviceOptions& options) {
  for (std::size_t i = 0; i < options.overrides.size(); ++i) {
    const std::string& text = options.overrides[i];
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || text.find_first_of(",:", equals) == std::string::npos) {
      continue;
    }
    std::vector<Device> devices;
    const std::string key = text.substr(0, equals);
    for (const std::string& value : ParseValueList("--set " + key, text.substr(equals + 1))) {
      DeviceOptions one = options;
      one.overrides[i] = key + "=" + value;
      for (Device& device : FindDevicesOverValues(one)) {
        device.id += " " + one.overrides[i];
        devices.push_back(std::move(device));
      }
    }
    return devices;
  }
  return FindDevices(options);
}

ServedDevices ServedByAll(const SweepRequest& request, std::vector<Device> devices) {
  ServedDevices served{.devices = std::move(devices), .left_out = ""};
  CountOptions count = request.count;
  for (const std::string& runtime : EachOf(request.runtimes, request.count.runtime)) {
    count.runtime = runtime;
    if (served.devices.empty()) throw Error("no device is served by all of --runtime");
    ServedDevices one = ServedOf(std::move(served.devices), count);
    served.devices = std::move(one.devices);
    if (!one.left_out.empty()) served.left_out = one.left_out;
  }
  return served;
}

std::int64_t PointsOf(const SweepRequest& request) {
  Count points = 1;
  try {
    for (const SweepRequest::Axis& axis : request.axes) points *= axis.sizes.Count();
    for (const auto* list :
         {&request.runtimes, &request.trains, &request.precisions, &request.dtypes}) {
      points *= static_cast<std::int64_t>(std::max<std::size_t>(list->size(), 1));
    }
    points *= static_cast<std::int64_t>(std::max<std::size_t>(request.devices.size(), 1));
  } catch (const OverflowError&) {
    return std::numeric_limits<std::int64_t>::max();
  }
  return points.value();
}

SweepRenderOptions SelectionOf(const SweepRequest& request) {
  if (!request.rank.empty())
    RequireOneOf("--rank", request.rank, {"price", "latency", "throughput", "energy"});
  SweepRenderOptions render{.rank = request.rank};
  for (const std::string& text : request.conditions)
    render.conditions.push_back(ParseCondition(text));
  for (const auto& [name, per_hour] : request.price) {
    if (!(per_hour > 0)) throw Error("--price {}: a price per hour is above 0", per_hour);
    const std::string id = name.empty() ? "" : OpenDatabase().Find(name, {}).id;
    if (!id.empty()) RequireSwept(id, name, request.devices);
    render.price[id] = per_hour;
  }
  if (request.devices.empty() &&
      (!render.conditions.empty() || !render.price.empty() || !render.rank.empty())) {
    throw Error("times need a device: add --gpu");
  }
  if (request.rank == "price" && render.price.empty()) throw Error("--rank price needs --price");
  return render;
}

Sweep SweepOf(const SweepRequest& request, const Model& model) {
  RequireNothingSought(request.model);
  if (request.devices.empty()) RequireDeviceFor(request.device);
  const Bindings bindings = BindingsOf(request.model);
  RequireOnce(model, request.axes, bindings);
  Sweep sweep;
  sweep.model = &model;
  sweep.infer = InferOptionsOf(request.model, bindings);
  sweep.setups = SetupsOf(request);
  sweep.devices = request.devices;
  sweep.bounds_only = request.bounds_only;
  for (const SweepRequest::Axis& axis : request.axes) {
    sweep.axes.push_back({.name = axis.name.empty() ? "batch" : axis.name,
                          .sizes = axis.sizes.Sizes(),
                          .weights = axis.sizes.weights,
                          .batch = axis.name.empty()});
  }
  if (!request.buckets.empty()) AddBuckets(request.buckets, sweep.axes);
  return sweep;
}

}  // namespace dlcost
