#include "estimator/calibrate/latency_case.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/calibrate/protocol.h"
#include "estimator/core/error.h"
#include "estimator/hardware/device.h"
#include "estimator/hardware/roof.h"

namespace dlcost {
namespace {

struct TypeName {
  std::string_view name;
  DType type;
};
constexpr TypeName kTypes[] = {
    {"fp64", DType::kFloat64},     {"fp32", DType::kFloat32},
    {"float32", DType::kFloat32},  {"fp16", DType::kFloat16},
    {"half", DType::kFloat16},     {"float16", DType::kFloat16},
    {"bf16", DType::kBfloat16},    {"bfloat16", DType::kBfloat16},
    {"fp8", DType::kFloat8E4M3FN}, {"fp8_block", DType::kFloat8E4M3FN},
    {"int8", DType::kInt8},        {"fp4", DType::kFloat4E2M1},
    {"nvfp4", DType::kFloat4E2M1},
};

std::optional<DType> FindType(std::string_view name) {
  for (const TypeName& type : kTypes) {
    if (type.name == name) return type.type;
  }
  return std::nullopt;
}

std::string SizeClass(double seconds) {
  if (seconds < 10e-6) return "<10us";
  if (seconds < 100e-6) return "10-100us";
  if (seconds < 1e-3) return "0.1-1ms";
  if (seconds < 10e-3) return "1-10ms";
  return ">10ms";
}

class CaseMaker {
 public:
  CaseMaker(const LatencyRow& row, const Device& device, std::string* skipped)
      : row_(row),
        device_(device),
        skipped_(skipped),
        protocol_(FindProtocol(Optional("source"))) {}

  std::optional<LatencyCase> Make(LatencyKind kind) {
    const std::string& dtype = row_.Text("dtype");
    const auto type = FindType(dtype);
    if (!type) return Skip(fmt::format("unknown dtype '{}'", Printable(dtype, 40)));
    type_ = *type;
    if (!device_.memory.bandwidth) return Skip("no memory bandwidth is listed");
    if (!FindRoof(device_, WorkKind::kMatrix, type_).known) {
      return Skip(fmt::format("no roof for {}", dtype));
    }
    const double latency = row_.Number("latency_us");
    if (latency <= 0) throw Error("latency_us: {} is not a time", row_.Text("latency_us"));
    case_.measured = latency * 1e-6;
    case_.device = device_.id;
    case_.hardware = &device_;
    case_.source = Optional("source");
    case_.dtype = dtype;
    case_.size = SizeClass(case_.measured);
    case_.options.cache = CacheState::kWarm;
    case_.options.eager = Optional("timing") == "eager" && !protocol_.back_to_back;
    case_.extra_launch = protocol_.extra_launch;
    if (!MakeKernels(kind)) return std::nullopt;
    Bounds();
    return std::move(case_);
  }

 private:
  bool MakeKernels(LatencyKind kind) {
    switch (kind) {
      case LatencyKind::kGemm:
        return Gemm();
      case LatencyKind::kAttention:
        return Attention();
      case LatencyKind::kConv:
        return Conv();
      case LatencyKind::kStream:
        return Stream();
      default:
        return Recurrent();
    }
  }

  std::nullopt_t Skip(std::string why) {
    *skipped_ = std::move(why);
    return std::nullopt;
  }
  bool Unknown(std::string why) {
    *skipped_ = std::move(why);
    return false;
  }
  std::string Optional(const std::string& column) const {
    const auto it = row_.fields.find(column);
    return it == row_.fields.end() ? std::string() : it->second;
  }
  Count Size(const std::string& column, std::int64_t absent = 1) const {
    if (!row_.fields.count(column)) return absent;
    return Count(static_cast<std::int64_t>(row_.SizeOrZero(column)));
  }
  // Results of 8-bit products leave in 16 bits.
  DType Result() const { return Bits(type_) < 16 ? DType::kFloat16 : type_; }

  Kernel& Product(const LoopNest& nest, Bytes read, Bytes written) {
    Kernel kernel;
    kernel.nest = nest;
    kernel.nest_name = "product";
    kernel.math = type_;
    kernel.work.Add(OpClass::kMac, type_, MacsOf(nest));
    kernel.needed = kernel.work;
    kernel.bytes_read = read;
    kernel.bytes_written = written;
    case_.kernels.push_back(std::move(kernel));
    return case_.kernels.back();
  }
  // A kernel that only moves data, before or behind what the row is about.
  void Move(Bytes read, Bytes written) {
    Kernel kernel;
    kernel.nest = ElementwiseNest{read.count()};
    kernel.nest_name = "elementwise";
    kernel.math = DType::kFloat16;
    kernel.bytes_read = read;
    kernel.bytes_written = written;
    case_.kernels.push_back(std::move(kernel));
  }

  bool Gemm() {
    const GemmNest nest{.batch = Size("batch"), .m = Size("m"), .n = Size("n"), .k = Size("k")};
    const Count inputs = nest.batch * nest.m * nest.k;
    const Bytes weights = SizeOf(type_, nest.batch * nest.n * nest.k);
    if (protocol_.quantizes && Bits(type_) < 16) {
      // 16-bit activations: one pass finds the largest value, one converts.
      Move(SizeOf(DType::kFloat16, inputs), Bytes(0));
      Move(SizeOf(DType::kFloat16, inputs), SizeOf(type_, inputs));
      case_.extra_launch += protocol_.quantize_calls;
    }
    Product(nest, SizeOf(type_, inputs) + weights, SizeOf(Result(), nest.batch * nest.m * nest.n));
    const double cache = device_.WarmCapacity().AsDouble();
    case_.options.weight_copies = std::clamp(std::ceil(cache / std::max(weights.AsDouble(), 1.0)),
                                             1.0, static_cast<double>(protocol_.weight_copies));
    case_.type = nest.batch > Count(1) ? "batched gemm" : "gemm";
    return true;
  }

  bool Attention() {
    const std::string phase = Optional("phase");
    const bool prompt = phase == "prefill" || phase == "context";
    const bool decode = phase == "decode" || phase == "generation";
    if (!prompt && !decode && phase != "encoder" && !phase.empty()) {
      return Unknown(fmt::format("unknown phase '{}'", Printable(phase, 40)));
    }
    AttentionNest nest{.batch = Size("batch"),
                       .q_heads = Size("heads"),
                       .kv_heads = Size("kv_heads"),
                       .q_len = Size("q_len"),
                       .kv_len = Size("kv_len"),
                       .qk_dim = Size("head_dim"),
                       .v_dim = Size("head_dim"),
                       .cached = prompt};
    if (nest.kv_heads == Count(0) || nest.q_heads % nest.kv_heads != Count(0)) {
      return Unknown("heads are no multiple of kv_heads");
    }
    nest.causal = prompt && nest.q_len > Count(1) && Optional("causal") != "0";
    DType cache = type_;
    if (const auto given = FindType(Optional("kv_dtype"))) cache = *given;
    const Count queries = nest.batch * nest.q_heads * nest.q_len * nest.qk_dim;
    const Count keys = nest.batch * nest.kv_heads * nest.kv_len * nest.qk_dim * 2;
    Product(nest, SizeOf(type_, queries) + SizeOf(cache, keys), SizeOf(Result(), queries));
    case_.type = phase.empty() ? "encoder" : phase;
    return true;
  }

  ConvAxis Axis(const char* in, const char* kernel, const char* stride, const char* pad) const {
    ConvAxis axis{.in = Size(in).value(),
                  .kernel = Size(kernel).value(),
                  .stride = Size(stride).value(),
                  .pad_begin = Size(pad, 0).value(),
                  .pad_end = Size(pad, 0).value()};
    if (axis.stride < 1) throw Error("{}: {} is no stride", stride, axis.stride);
    axis.out = (axis.in + 2 * axis.pad_begin - axis.kernel) / axis.stride + 1;
    return axis;
  }

  bool Conv() {
    const ConvNest nest{
        .batch = Size("n"),
        .groups = Size("groups"),
        .in_channels = Size("c"),
        .out_channels = Size("k"),
        .axes = {Axis("h", "r", "stride_h", "pad_h"), Axis("w", "s", "stride_w", "pad_w")}};
    for (const ConvAxis& axis : nest.axes) {
      if (axis.in + 2 * axis.pad_begin < axis.kernel) return Unknown("the output is empty");
    }
    const Count weights =
        nest.in_channels / nest.groups * nest.out_channels * nest.Product(&ConvAxis::kernel);
    const Count inputs = nest.batch * nest.in_channels * nest.Product(&ConvAxis::in);
    const Count outputs = nest.batch * nest.out_channels * nest.Product(&ConvAxis::out);
    Product(nest, SizeOf(type_, inputs + weights), SizeOf(type_, outputs));
    const std::string algorithm = Optional("algorithm"), direction = Optional("direction");
    case_.type = algorithm.empty() ? "unknown algorithm" : algorithm;
    if (!direction.empty() && direction != "forward") case_.type = direction;
    return true;
  }

  bool Stream() {
    // Tensors of rows x cols that the operator reads; a scalar second operand ("addu") is none.
    static const std::map<std::string, int, std::less<>> inputs = {
        {"add", 2},  {"sub", 2},  {"mul", 2},     {"div", 2},       {"pow", 2},    {"addu", 1},
        {"subu", 1}, {"mulu", 1}, {"divu", 1},    {"powu", 1},      {"relu", 1},   {"gelu", 1},
        {"tanh", 1}, {"exp", 1},  {"sigmoid", 1}, {"sqrt", 1},      {"silu", 1},   {"copy", 1},
        {"neg", 1},  {"abs", 1},  {"softmax", 1}, {"layernorm", 1}, {"rmsnorm", 1}};
    const std::string& op = row_.Text("op");
    const auto it = inputs.find(op);
    if (it == inputs.end()) return Unknown(fmt::format("unknown op '{}'", Printable(op, 40)));
    const Count rows = Size("rows"), columns = Size("cols"), elements = rows * columns;
    Move(SizeOf(type_, elements * Count(it->second)), SizeOf(type_, elements));
    Kernel& kernel = case_.kernels.back();
    kernel.math = type_;
    kernel.nest = ElementwiseNest{elements};
    if (op == "softmax" || op == "layernorm" || op == "rmsnorm") {
      kernel.nest = ReduceNest{.outer = rows, .reduce = columns};
      // What tells a softmax from a normalization.
      kernel.work.Add(op == "softmax" ? OpClass::kExp : OpClass::kSqrt, type_,
                      op == "softmax" ? elements : rows);
      kernel.needed = kernel.work;
    }
    case_.type = op;
    return true;
  }

  bool Recurrent() {
    static const std::map<std::string, int, std::less<>> gates = {
        {"LSTM", 4}, {"GRU", 3}, {"Vanilla", 1}};
    const std::string& cell = row_.Text("cell");
    const auto it = gates.find(cell);
    if (it == gates.end()) return Unknown(fmt::format("unknown cell '{}'", Printable(cell, 40)));
    // The recurrent half alone.
    const RecurrentNest nest{.steps = Size("timesteps"),
                             .batch = Size("batch"),
                             .input = 0,
                             .hidden = Size("hidden"),
                             .gates = it->second};
    const Count state = nest.steps * nest.batch * nest.hidden;
    Product(nest, SizeOf(type_, nest.gates * nest.hidden * nest.hidden + state * nest.gates),
            SizeOf(type_, state));
    case_.type = cell;
    return true;
  }

  void Bounds() {
    const Runner runner(&device_, case_.options);
    const double rate = device_.memory.bandwidth->value();
    for (const Kernel& kernel : case_.kernels) {
      case_.bound += runner.Run(kernel).bound.time.value();
      const double flops = 2 * kernel.work.macs().AsDouble();
      const double peak = FindRoof(device_, WorkKind::kMatrix, type_).reached.value();
      case_.naive += std::max(flops / peak, kernel.bytes().AsDouble() / rate);
    }
  }

  const LatencyRow& row_;
  const Device& device_;
  std::string* skipped_;
  const Protocol& protocol_;
  DType type_ = DType::kFloat32;
  LatencyCase case_;
};

}  // namespace

std::optional<LatencyCase> MakeCase(LatencyKind kind, const LatencyRow& row, const Device& device,
                                    std::string* skipped) {
  return CaseMaker(row, device, skipped).Make(kind);
}

TimeRange ExpectedRange(const TimingDevice& timing, const LatencyCase& row) {
  const Runner runner(*row.hardware, row.options, timing);
  TimeRange sum{row.extra_launch, row.extra_launch, row.extra_launch};
  for (const Kernel& kernel : row.kernels) {
    const KernelRun run = runner.Run(kernel);
    if (!run.expected) throw Error("a measured kernel has no expected time");
    sum.low += run.expected->time.low;
    sum.expected += run.expected->time.expected;
    sum.high += run.expected->time.high;
  }
  return sum;
}

double ExpectedSeconds(const TimingDevice& timing, const LatencyCase& row) {
  return ExpectedRange(timing, row).expected;
}

Constant RangeOf(const LatencyCase& row) {
  const LoopNest& nest = row.kernels.back().nest;
  if (const auto* gemm = std::get_if<GemmNest>(&nest)) {
    return gemm->batch > Count(1) ? Constant::kRangeBatched : Constant::kRangeGemm;
  }
  if (const auto* attention = std::get_if<AttentionNest>(&nest)) {
    return attention->q_len == Count(1) ? Constant::kRangeDecode : Constant::kRangeAttention;
  }
  if (std::holds_alternative<ConvNest>(nest)) return Constant::kRangeConv;
  if (std::holds_alternative<RecurrentNest>(nest)) return Constant::kRangeBatched;
  return Constant::kRangeElementwise;
}

}  // namespace dlcost
