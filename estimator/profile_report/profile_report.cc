#include "estimator/profile_report/profile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/profile_report/device_name.h"
#include "estimator/profiles/kernel_name.h"

namespace dlcost {
namespace {

// Groups by key, in the order of their first rows.
class Groups {
 public:
  // `name` is what the group is called.
  ProfileGroup& At(const std::string& key, const std::string& name) {
    const auto [found, fresh] = at_.emplace(key, groups_.size());
    if (fresh) groups_.emplace_back(name);
    return groups_[found->second];
  }
  std::vector<ProfileGroup> Sorted() && {
    const auto weight = [](const ProfileGroup& group) {
      const auto time = group.Time(), flops = group.Flops();
      return std::pair(time ? time->value : -1.0, flops ? flops->value : -1.0);
    };
    std::stable_sort(
        groups_.begin(), groups_.end(),
        [&](const ProfileGroup& a, const ProfileGroup& b) { return weight(a) > weight(b); });
    return std::move(groups_);
  }

 private:
  std::unordered_map<std::string, std::size_t> at_;
  std::vector<ProfileGroup> groups_;
};

std::string TripleText(const std::optional<std::array<std::int64_t, 3>>& triple) {
  if (!triple) return "";
  return fmt::format("{}x{}x{}", (*triple)[0], (*triple)[1], (*triple)[2]);
}

// "model/conv1" of "model/conv1/Conv2D": what TensorFlow's scopes are.
std::string Folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// The part of the model that a row belongs to: PyTorch's module, or annotated ranges, or the scope
// in a TensorFlow operator's name; "" where the file tells none.
std::string ModuleOf(const MeasuredKernel& row) {
  if (!row.module.empty()) return row.module;
  std::string path;
  for (const std::string& range : row.scope) {
    if (range == row.op) break;                        // and what the framework called for it
    if (range.starts_with("ProfilerStep#")) continue;  // PyTorch's own, one per iteration
    path += (path.empty() ? "" : "/") + range;
  }
  return path.empty() ? Folder(row.op) : path;
}

class Builder {
 public:
  Builder(const Measurement& measurement, const ProfileReportOptions& options)
      : measurement_(measurement), options_(options) {}

  ProfileReport Run() {
    out_.path = measurement_.path;
    out_.format = measurement_.format;
    out_.sampled = measurement_.sampled;
    out_.runs = measurement_.runs;
    out_.unknown_counters = measurement_.unknown_counters;
    out_.notes = measurement_.notes;
    const bool has_kernels =
        std::any_of(measurement_.kernels.begin(), measurement_.kernels.end(),
                    [](const MeasuredKernel& row) { return row.kind == MeasuredKind::kKernel; });
    for (const MeasuredKernel& row : measurement_.kernels) {
      const RowWork work = WorkOf(row, options_);
      Total(row.kind).Add(row, work);
      UseCounters(row);
      if (row.kind == MeasuredKind::kCopy) {
        copies_.At(row.name, row.name).Add(row, work);
      } else if (row.kind == MeasuredKind::kApi) {
        calls_.At(row.name, row.name).Add(row, work);
      } else if (row.kind == MeasuredKind::kKernel || !has_kernels) {
        AddMain(row, work);
      }
    }
    if (has_kernels && out_.ops_total.rows() > 0) {
      out_.notes.push_back(
          fmt::format("{} rows of operators or ranges beside the kernels are in no sum",
                      out_.ops_total.rows()));
    }
    out_.kernels = std::move(kernels_).Sorted();
    out_.by_name = std::move(by_name_).Sorted();
    out_.by_family = std::move(by_family_).Sorted();
    out_.by_op_type = std::move(by_op_type_).Sorted();
    out_.by_op = std::move(by_op_).Sorted();
    out_.by_module = std::move(by_module_).Sorted();
    out_.copies = std::move(copies_).Sorted();
    out_.calls = std::move(calls_).Sorted();
    out_.activity = ActivityOf(measurement_);
    FindTail(has_kernels);
    NoteDevice();
    NoteFlops(has_kernels ? out_.kernels_total : out_.ops_total);
    return std::move(out_);
  }

 private:
  ProfileGroup& Total(MeasuredKind kind) {
    switch (kind) {
      case MeasuredKind::kKernel:
        return out_.kernels_total;
      case MeasuredKind::kCopy:
        return out_.copies_total;
      case MeasuredKind::kApi:
        return out_.calls_total;
      case MeasuredKind::kOp:
        break;
    }
    return out_.ops_total;
  }

  void AddMain(const MeasuredKernel& row, const RowWork& work) {
    const KernelName name = ReadKernelName(row.name);
    // oneDNN's primitives say what they are; operators are told by their type.
    const bool primitive =
        name.family == KernelFamily::kUnknown && row.op.empty() && !row.op_type.empty();
    const bool on_device = row.kind == MeasuredKind::kKernel;
    const std::string family(!on_device  ? ""
                             : primitive ? std::string_view(row.op_type)
                                         : Name(name.family));
    const auto flops = row.VectorFlops();
    const std::string module = ModuleOf(row);
    ProfileGroup& kernel =
        kernels_.At(fmt::format("{}\n{}\n{}\n{}\n{}\n{}", row.name, row.op, row.device,
                                TripleText(row.grid), TripleText(row.block), flops.value_or(-1)),
                    row.name);
    kernel.family = family;
    kernel.library = name.library;
    kernel.op = row.op;
    kernel.op_type = row.op_type;
    kernel.module = module;
    kernel.device = row.device;
    kernel.grid = row.grid;
    kernel.block = row.block;
    kernel.Add(row, work);
    ProfileGroup& named = by_name_.At(row.name, row.name);
    named.family = family;
    named.op_type = row.op_type;
    named.library = name.library;
    named.Add(row, work);
    if (on_device) by_family_.At(family, family).Add(row, work);
    if (!row.op_type.empty()) by_op_type_.At(row.op_type, row.op_type).Add(row, work);
    if (!row.op.empty() && row.op != row.op_type && row.op != row.name) {
      ProfileGroup& op = by_op_.At(row.op, row.op);
      op.op_type = row.op_type;
      op.Add(row, work);
    }
    if (!module.empty()) by_module_.At(module, module).Add(row, work);
  }

  void UseCounters(const MeasuredKernel& row) {
    for (const Counter& counter : row.counters) {
      const std::string metric(Name(counter.metric));
      auto use = std::find_if(out_.counters.begin(), out_.counters.end(),
                              [&](const CounterUse& known) { return known.metric == metric; });
      if (use == out_.counters.end()) {
        out_.counters.push_back({metric, {}});
        use = out_.counters.end() - 1;
      }
      for (const std::string& source : counter.sources) {
        if (std::find(use->sources.begin(), use->sources.end(), source) == use->sources.end()) {
          use->sources.push_back(source);
        }
      }
    }
  }

  // By what a launch takes, which needs no starts.
  void FindTail(bool has_kernels) {
    if (!has_kernels || measurement_.sampled) return;
    constexpr double kDefault = 10e-6;  // what a launch costs a host that does nothing else
    LaunchTail tail;
    const auto eager =
        options_.device ? options_.device->Timing("launch.call") : std::optional<double>();
    tail.threshold = Seconds(eager.value_or(kDefault));
    tail.threshold_from = eager ? "a framework's call on " + options_.device->name
                                : "what a launch costs a host that does nothing else";
    for (const ProfileGroup& kernel : out_.kernels) {
      const auto mean = kernel.MeanTime();
      const auto time = kernel.Time();
      if (!mean || !time->whole) return;
      tail.of_launches += kernel.launches();
      tail.of_time += Seconds(time->value);
      if (*mean >= tail.threshold.value()) continue;
      tail.launches += kernel.launches();
      tail.time += Seconds(time->value);
    }
    out_.tail = tail;
  }

  void NoteDevice() {
    if (!options_.device) return;
    for (const ProfileGroup& kernel : out_.kernels) {
      auto note = OtherDeviceNote(kernel.device, *options_.device);
      if (!note) continue;
      out_.notes.push_back(std::move(*note));
      return;
    }
  }

  void NoteFlops(const ProfileGroup& total) {
    std::int64_t at_least = 0;
    for (const ProfileGroup& kernel : out_.kernels) {
      at_least += kernel.FlopsAtLeast() ? kernel.launches() : 0;
    }
    if (at_least > 0) {
      out_.notes.push_back(
          fmt::format("{} launch{} on the matrix pipe, whose FLOPs no counter in the file tells: a "
                      "lower bound, without a rate",
                      at_least, at_least == 1 ? "" : "es"));
    }
    const auto flops = total.Flops();
    if (options_.device && flops && total.FlopRate() && !total.ComputeShare() && at_least == 0) {
      out_.notes.push_back(
          fmt::format("no share of {}'s compute peak: the file does not tell the type of its "
                      "FLOPs, or the device has no rate for it; --dtype TYPE says the type",
                      options_.device->name));
    }
  }

  const Measurement& measurement_;
  const ProfileReportOptions& options_;
  ProfileReport out_;
  Groups kernels_, by_name_, by_family_, by_op_type_, by_op_, by_module_, copies_, calls_;
};

}  // namespace

ProfileReport BuildProfileReport(const Measurement& measurement,
                                 const ProfileReportOptions& options) {
  return Builder(measurement, options).Run();
}

}  // namespace dlcost
