#include "estimator/profile_report/row_work.h"

#include <array>
#include <numeric>
#include <utility>

#include "estimator/core/error.h"
#include "estimator/profiles/kernel_name.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

// The type that a name spells, as hw_specs/ calls it.
std::optional<NumberFormat> FormatOfName(const KernelName& name) {
  static constexpr std::array<std::pair<std::string_view, NumberFormat>, 8> kFormats{
      {{"f64", NumberFormat::kFp64},
       {"f32", NumberFormat::kFp32},
       {"tf32", NumberFormat::kTf32},
       {"f16", NumberFormat::kFp16},
       {"bf16", NumberFormat::kBf16},
       {"f8e4m3", NumberFormat::kFp8},
       {"f8e5m2", NumberFormat::kFp8},
       {"i8", NumberFormat::kInt8}}};
  for (const auto& [type, format] : kFormats) {
    if (name.type == type) return format;
  }
  return std::nullopt;
}

// The type of matrix operations by the counter's name: "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
// "SQ_INSTS_VALU_MFMA_MOPS_F16". Nothing where several types were counted together.
std::optional<NumberFormat> FormatOfCounter(const Counter& counter) {
  static constexpr std::array<std::pair<std::string_view, NumberFormat>, 10> kParts{
      {{"src_tf32", NumberFormat::kTf32},
       {"src_bf16", NumberFormat::kBf16},
       {"src_fp16", NumberFormat::kFp16},
       {"src_fp8", NumberFormat::kFp8},
       {"src_fp64", NumberFormat::kFp64},
       {"src_int8", NumberFormat::kInt8},
       {"mops_bf16", NumberFormat::kBf16},
       {"mops_f16", NumberFormat::kFp16},
       {"mops_f32", NumberFormat::kFp32},
       {"mops_f64", NumberFormat::kFp64}}};
  if (counter.sources.size() != 1) return std::nullopt;
  const std::string raw = Lower(counter.sources.front());
  for (const auto& [part, format] : kParts) {
    if (Contains(raw, part)) return format;
  }
  return std::nullopt;
}

double Launches(const MeasuredKernel& row) { return static_cast<double>(row.launches); }

std::optional<double> TimeOf(const MeasuredKernel& row) {
  if (!row.samples.empty()) {  // the duration is their median
    return std::accumulate(row.samples.begin(), row.samples.end(), 0.0);
  }
  if (!row.duration) return std::nullopt;
  return row.duration->value() * Launches(row);
}

// Whether the matrix pipe worked: a counter tells, or else the name.
bool UsesMatrixPipe(const MeasuredKernel& row, const KernelName& name) {
  if (const Counter* count = row.Find(Metric::kTensorInstructions)) return count->value > 0;
  if (const Counter* active = row.Find(Metric::kTensorActive)) return active->value > 0;
  return name.tensor;
}

std::optional<double> LeastTime(const Device& device, UnitKind unit,
                                std::optional<NumberFormat> format, double flops) {
  if (flops == 0) return 0.0;
  if (!format) return std::nullopt;
  const Rate* rate = device.FindRate(unit, *format);
  if (rate == nullptr) return std::nullopt;
  return flops / rate->peak.value();
}

// Types run one after the other, at best.
std::optional<double> ComputeLeast(const MeasuredKernel& row, const KernelName& name,
                                   const ProfileReportOptions& options) {
  const auto told = FormatOfName(name);
  const std::array<std::pair<Metric, std::optional<NumberFormat>>, 4> vector{
      {{Metric::kFlopsF16, NumberFormat::kFp16},
       {Metric::kFlopsF32, NumberFormat::kFp32},
       {Metric::kFlopsF64, NumberFormat::kFp64},
       {Metric::kFlops, told ? told : options.format}}};
  double least = 0;
  for (const auto& [metric, format] : vector) {
    const Counter* counter = row.Find(metric);
    if (counter == nullptr) continue;
    // A plain table's FLOPs may be those of a matrix pipe; a name that says so is believed.
    const UnitKind unit =
        metric == Metric::kFlops && name.tensor ? UnitKind::kTensor : UnitKind::kVector;
    const auto time = LeastTime(*options.device, unit, format, counter->value);
    if (!time) return std::nullopt;
    least += *time;
  }
  if (const Counter* counter = row.Find(Metric::kTensorFlops)) {
    const auto counted = FormatOfCounter(*counter);
    const auto format = counted ? counted : told ? told : options.format;
    const auto time = LeastTime(*options.device, UnitKind::kTensor, format, counter->value);
    if (!time) return std::nullopt;
    least += *time;
  }
  return least * Launches(row);
}

}  // namespace

NumberFormat ReadFlopFormat(const std::string& option, const std::string& name) {
  std::optional<NumberFormat> format = ParseNumberFormat(name);
  const std::optional<DType> type = ParseDType(name);
  if (!format && type) format = FormatOf(*type);
  if (format) return *format;
  throw Error("{} '{}' is no type of arithmetic; try fp32, tf32, fp16, bf16, fp64 or int8", option,
              Printable(name));
}

RowWork WorkOf(const MeasuredKernel& row, const ProfileReportOptions& options) {
  RowWork work;
  const KernelName name = ReadKernelName(row.name);
  work.time = TimeOf(row);
  const auto vector = row.VectorFlops();
  const Counter* tensor = row.Find(Metric::kTensorFlops);
  if (vector || tensor) {
    work.flops = (vector.value_or(0) + (tensor ? tensor->value : 0)) * Launches(row);
    // A plain table's FLOPs are whatever its writer counted.
    work.flops_at_least = !tensor && !row.Find(Metric::kFlops) && UsesMatrixPipe(row, name);
  }
  if (const auto bytes = row.DramBytes()) work.bytes = *bytes * Launches(row);
  const Counter *rate = row.Find(Metric::kDramRate), *read = row.Find(Metric::kDramReadRate),
                *write = row.Find(Metric::kDramWriteRate);
  if (rate) {
    work.byte_rate = rate->value;
  } else if (read && write) {
    work.byte_rate = read->value + write->value;
  }
  if (options.device == nullptr) return work;
  if (work.flops) work.compute_least = ComputeLeast(row, name, options);
  const auto& bandwidth = options.device->memory.bandwidth;
  // What a copy moves mostly crosses a link, not device memory.
  if (row.kind == MeasuredKind::kKernel && work.bytes && bandwidth)
    work.memory_least = *work.bytes / bandwidth->value();
  return work;
}

}  // namespace dlcost
