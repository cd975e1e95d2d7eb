#include "dlcost/measured.h"

#include "estimator/api/state.h"
#include "estimator/profile_report/render.h"
#include "estimator/profiles/one_run.h"
#include "estimator/profiles/reader.h"

namespace dlcost::api {

struct Measured::State {
  std::optional<dlcost::Device> device;
  ProfileReportOptions options;  // points to `device`
  std::vector<ProfileReport> profiles;
};

Measured::Measured(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Measured ReadMeasured(const MeasuredRequest& request) {
  return Guarded([&] {
    if (request.files.empty()) throw dlcost::Error("nothing measured: give a profiler's file");
    auto state = std::make_shared<Measured::State>();
    if (request.device) {
      state->options.device = &state->device.emplace(request.device->state().device);
    }
    if (!request.dtype.empty()) state->options.format = ReadFlopFormat("--dtype", request.dtype);
    const bool one_run = !request.counters.empty();
    std::vector<Measurement> levels;
    for (const std::string& path : request.files) {
      Measurement measurement =
          ReadMeasurementFile(path, {.format = request.format, .ranges_alone = one_run});
      if (one_run) {
        levels.push_back(std::move(measurement));
      } else {
        state->profiles.push_back(BuildProfileReport(measurement, state->options));
      }
    }
    if (one_run) {
      std::vector<Measurement> counters;
      for (const std::string& path : request.counters) {
        counters.push_back(ReadMeasurementFile(path, {}));
      }
      state->profiles.push_back(
          BuildProfileReport(OneRun(std::move(levels), counters), state->options));
    }
    return Measured(std::move(state));
  });
}

namespace {

MeasuredGroup GroupOf(const ProfileGroup& from) {
  MeasuredGroup group;
  group.name = from.name();
  group.rows = from.rows();
  group.launches = from.launches();
  const auto take = [](const std::optional<ProfileGroup::Sum>& sum, std::optional<double>& value,
                       bool& whole) {
    if (!sum) return;
    value = sum->value;
    whole = sum->whole;
  };
  take(from.Time(), group.time_s, group.time_whole);
  take(from.Flops(), group.flops, group.flops_whole);
  take(from.Bytes(), group.bytes, group.bytes_whole);
  if (from.FlopsAtLeast()) group.flops_whole = false;
  group.flops_per_s = from.FlopRate();
  group.bytes_per_s = from.ByteRate();
  group.intensity = from.Intensity();
  group.compute_share = from.ComputeShare();
  group.memory_share = from.MemoryShare();
  if (const auto limiter = from.Limiter()) group.limited_by = Name(*limiter);
  return group;
}

std::vector<MeasuredGroup> MeasuredGroupsOf(const std::vector<ProfileGroup>& from) {
  std::vector<MeasuredGroup> groups;
  for (const ProfileGroup& group : from) groups.push_back(GroupOf(group));
  return groups;
}

}  // namespace

std::vector<Profile> Measured::profiles() const {
  std::vector<Profile> profiles;
  for (const ProfileReport& from : state_->profiles) {
    profiles.push_back({.path = from.path,
                        .format = from.format,
                        .total = GroupOf(from.kernels_total),
                        .kernels = MeasuredGroupsOf(from.kernels),
                        .by_name = MeasuredGroupsOf(from.by_name),
                        .by_family = MeasuredGroupsOf(from.by_family),
                        .by_op = MeasuredGroupsOf(from.by_op),
                        .by_module = MeasuredGroupsOf(from.by_module),
                        .notes = from.notes});
  }
  return profiles;
}

std::string Measured::Text(std::size_t top) const {
  return Guarded([&] {
    return RenderProfilesText(state_->profiles, state_->options, {.top = top, .plot = {}});
  });
}
std::string Measured::Markdown(std::size_t top) const {
  return Guarded([&] { return RenderProfilesMarkdown(state_->profiles, state_->options, top); });
}
std::string Measured::Json() const {
  return Guarded([&] {
    std::string json;
    WriteProfileJson(state_->profiles, state_->options,
                     [&](std::string_view piece) { json += piece; });
    return json;
  });
}
std::string Measured::Csv() const {
  return Guarded([&] { return RenderProfileCsv(state_->profiles); });
}
std::string Measured::Html(const std::string& title) const {
  return Guarded([&] { return RenderProfileHtml(state_->profiles, state_->options, title); });
}

}  // namespace dlcost::api
