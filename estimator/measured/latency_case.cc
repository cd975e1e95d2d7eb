#include "estimator/measured/latency_case.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/core/error.h"
#include "estimator/hardware/device.h"
#include "estimator/hardware/roof.h"
#include "estimator/measured/protocol.h"

namespace dlcost {
namespace {

struct TypeName {
  std::string_view name;
  DType type;
  double bytes;
};
constexpr TypeName kTypes[] = {
    {"fp64", DType::kFloat64, 8},       {"fp32", DType::kFloat32, 4},
    {"float32", DType::kFloat32, 4},    {"fp16", DType::kFloat16, 2},
    {"half", DType::kFloat16, 2},       {"float16", DType::kFloat16, 2},
    {"bf16", DType::kBfloat16, 2},      {"bfloat16", DType::kBfloat16, 2},
    {"fp8", DType::kFloat8E4M3FN, 1},   {"fp8_block", DType::kFloat8E4M3FN, 1},
    {"int8", DType::kInt8, 1},          {"fp4", DType::kFloat4E2M1, 0.5},
    {"nvfp4", DType::kFloat4E2M1, 0.5},
};

const TypeName* FindType(std::string_view name) {
  for (const TypeName& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

std::string SizeClass(double seconds) {
  if (seconds < 10e-6) return "<10us";
  if (seconds < 100e-6) return "10-100us";
  if (seconds < 1e-3) return "0.1-1ms";
  if (seconds < 10e-3) return "1-10ms";
  return ">10ms";
}

// What a row's bounds are made of.
struct Demand {
  double flops = 0;  // that the algorithm that ran cannot avoid
  double naive_flops = 0;
  double bytes = 0;  // compulsory
  double peak = 0;   // the fastest unit that could have run it
};

class CaseMaker {
 public:
  CaseMaker(const LatencyRow& row, const Device& device, std::string* skipped)
      : row_(row),
        device_(device),
        skipped_(skipped),
        protocol_(FindProtocol(Optional("source"))) {}

  std::optional<LatencyCase> Make(LatencyKind kind) {
    const std::string& dtype = row_.Text("dtype");
    type_ = FindType(dtype);
    if (!type_) return Skip(fmt::format("unknown dtype '{}'", Printable(dtype, 40)));
    if (!device_.memory.bandwidth) return Skip("no memory bandwidth is listed");
    const Roof roof = FindRoof(device_, WorkKind::kMatrix, type_->type);
    if (!roof.known) return Skip(fmt::format("no roof for {}", dtype));
    demand_.peak = roof.reached.value();
    tensor_ = roof.unit == UnitKind::kTensor;

    const double latency = row_.Number("latency_us");
    if (latency <= 0) throw Error("latency_us: {} is not a time", row_.Text("latency_us"));
    case_.measured = latency * 1e-6;
    case_.device = device_.id;
    case_.source = Optional("source");
    case_.dtype = dtype;
    case_.size = SizeClass(case_.measured);
    case_.conditions.eager = Optional("timing") == "eager" && !protocol_.back_to_back;
    case_.extra_launch = protocol_.extra_launch;

    bool known = true;
    switch (kind) {
      case LatencyKind::kGemm:
        Gemm();
        break;
      case LatencyKind::kAttention:
        known = Attention();
        break;
      case LatencyKind::kConv:
        known = Conv();
        break;
      case LatencyKind::kStream:
        known = Stream();
        break;
      case LatencyKind::kRecurrent:
        known = Recurrent();
        break;
    }
    if (!known) return std::nullopt;
    Bounds();
    return case_;
  }

 private:
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
  double OutputBytes() const { return type_->bytes < 2 ? 2 : type_->bytes; }

  void Gemm() {
    GemmProblem p;
    p.batch = row_.fields.count("batch") ? row_.Size("batch") : 1;
    p.m = row_.Size("m");
    p.n = row_.Size("n");
    p.k = row_.Size("k");
    p.input_bytes = type_->bytes;
    p.output_bytes = OutputBytes();
    p.tensor = tensor_;
    p.peak = demand_.peak;
    p.bias = protocol_.bias;
    p.quantize = protocol_.quantizes && type_->bytes < 2;
    const double weights = p.batch * p.n * p.k * p.input_bytes;
    const double cache = device_.WarmCapacity().AsDouble();
    case_.conditions.weight_copies =
        std::clamp(std::ceil(cache / weights), 1.0, static_cast<double>(protocol_.weight_copies));
    case_.type = p.batch > 1 ? "batched gemm" : "gemm";
    demand_.flops = 2 * p.batch * p.m * p.n * p.k;
    demand_.bytes =
        p.batch * (p.m * p.k + p.k * p.n) * p.input_bytes + p.batch * p.m * p.n * p.output_bytes;
    case_.problem = p;
  }

  bool Attention() {
    AttentionProblem p;
    const std::string phase = Optional("phase");
    if (phase == "prefill" || phase == "context") {
      p.phase = AttentionPhase::kPrefill;
    } else if (phase == "decode" || phase == "generation") {
      p.phase = AttentionPhase::kDecode;
    } else if (phase == "encoder" || phase.empty()) {
      p.phase = AttentionPhase::kEncoder;
    } else {
      return Unknown(fmt::format("unknown phase '{}'", Printable(phase, 40)));
    }
    p.batch = row_.Size("batch");
    p.query_length = row_.Size("q_len");
    p.key_length = row_.Size("kv_len");
    p.heads = row_.Size("heads");
    p.key_value_heads = row_.Size("kv_heads");
    p.head_size = row_.Size("head_dim");
    if (std::fmod(p.heads, p.key_value_heads) != 0) {
      return Unknown("heads are no multiple of kv_heads");
    }
    p.causal =
        p.query_length > 1 && Optional("causal") != "0" && p.phase != AttentionPhase::kEncoder;
    p.query_bytes = type_->bytes;
    p.key_value_bytes = type_->bytes;
    p.peak = demand_.peak;
    const std::string cache = Optional("kv_dtype");
    if (const TypeName* kv = FindType(cache)) {
      p.key_value_bytes = kv->bytes;
      // Queries may be narrowed to the type of the cache: the bound allows it.
      const Roof roof = FindRoof(device_, WorkKind::kMatrix, kv->type);
      if (roof.known) demand_.peak = std::max(demand_.peak, roof.reached.value());
    }
    const double queries = p.batch * p.heads * p.query_length;
    // Query i of a causal prompt sees the keys up to its own.
    const double keys = p.causal ? p.key_length - (p.query_length - 1) / 2 : p.key_length;
    demand_.flops = 4 * queries * keys * p.head_size;
    demand_.bytes =
        queries * p.head_size * (p.query_bytes + OutputBytes()) +
        2 * p.batch * p.key_value_heads * p.key_length * p.head_size * p.key_value_bytes;
    case_.type = phase.empty() ? "encoder" : phase;
    case_.problem = p;
    return true;
  }

  bool Conv() {
    ConvCase c;
    ConvProblem& p = c.problem;
    p.batch = row_.Size("n");
    p.channels = row_.Size("c");
    p.height = row_.Size("h");
    p.width = row_.Size("w");
    p.filters = row_.Size("k");
    p.kernel_height = row_.Size("r");
    p.kernel_width = row_.Size("s");
    p.groups = row_.fields.count("groups") ? row_.Size("groups") : 1;
    p.out_height = Positions(p.height, p.kernel_height, "stride_h", "pad_h");
    p.out_width = Positions(p.width, p.kernel_width, "stride_w", "pad_w");
    if (p.out_height < 1 || p.out_width < 1) return Unknown("the output is empty");
    p.element_bytes = type_->bytes;
    p.tensor = tensor_;
    p.peak = demand_.peak;
    c.algorithm = Optional("algorithm");
    demand_.naive_flops = 2 * p.batch * p.filters * p.out_height * p.out_width * p.channels /
                          p.groups * p.kernel_height * p.kernel_width;
    // Winograd F(4x4,3x3) multiplies a quarter as often; a Fourier transform's products shrink
    // with the filter: 4 real products per point and pair on tiles of 32 x 32.
    const double fourier = std::max(1.0, p.kernel_height * p.kernel_width / 2.2);
    const bool unit_stride = p.out_height * 2 > p.height && p.out_width * 2 > p.width;
    double saved = 1;
    if (c.algorithm == "winograd") saved = 4;
    if (c.algorithm == "fft") saved = fourier;
    // Nobody says what ran: the best that could have.
    if (c.algorithm.empty() && unit_stride)
      saved = std::max(fourier, p.kernel_height == 3 ? 4.0 : 1);
    demand_.flops = demand_.naive_flops / saved;
    // A stride beyond the kernel skips rows and columns.
    const double touched = std::min(p.height, p.out_height * p.kernel_height) *
                           std::min(p.width, p.out_width * p.kernel_width);
    demand_.bytes =
        (p.batch * p.channels * touched + p.batch * p.filters * p.out_height * p.out_width +
         p.filters * p.channels / p.groups * p.kernel_height * p.kernel_width) *
        type_->bytes;
    const std::string direction = Optional("direction");
    case_.type = c.algorithm.empty() ? "unknown algorithm" : c.algorithm;
    if (!direction.empty() && direction != "forward") case_.type = direction;
    case_.problem = c;
    return true;
  }

  double Positions(double size, double kernel, const char* stride, const char* pad) const {
    const double step = row_.fields.count(stride) ? row_.Size(stride) : 1;
    const double padding = row_.fields.count(pad) ? row_.SizeOrZero(pad) : 0;
    return std::floor((size + 2 * padding - kernel) / step) + 1;
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
    StreamProblem p;
    if (op == "softmax") p.kind = StreamKind::kSoftmax;
    if (op == "layernorm" || op == "rmsnorm") p.kind = StreamKind::kNormalization;
    p.row_elements = row_.Size("cols");
    p.element_bytes = type_->bytes;
    p.bytes = row_.Size("rows") * p.row_elements * (it->second + 1) * type_->bytes;
    demand_.bytes = p.bytes;
    case_.type = op;
    case_.problem = p;
    return true;
  }

  bool Recurrent() {
    static const std::map<std::string, double, std::less<>> gates = {
        {"LSTM", 4}, {"GRU", 3}, {"Vanilla", 1}};
    const std::string& cell = row_.Text("cell");
    const auto it = gates.find(cell);
    if (it == gates.end()) return Unknown(fmt::format("unknown cell '{}'", Printable(cell, 40)));
    RecurrentProblem p;
    p.gates = it->second;
    p.hidden = row_.Size("hidden");
    p.batch = row_.Size("batch");
    p.steps = row_.Size("timesteps");
    p.element_bytes = type_->bytes;
    p.tensor = tensor_;
    p.peak = demand_.peak;
    demand_.flops = 2 * p.gates * p.hidden * p.hidden * p.batch * p.steps;
    demand_.bytes = p.gates * p.hidden * p.hidden * type_->bytes;
    case_.type = cell;
    case_.problem = p;
    return true;
  }

  void Bounds() {
    const double rate = device_.memory.bandwidth->value();
    const double cache = device_.WarmCapacity().AsDouble();
    const double naive_flops = demand_.naive_flops > 0 ? demand_.naive_flops : demand_.flops;
    case_.naive = std::max(naive_flops / demand_.peak, demand_.bytes / rate);
    case_.bound =
        std::max(demand_.flops / demand_.peak, std::max(0.0, demand_.bytes - cache) / rate);
  }

  const LatencyRow& row_;
  const Device& device_;
  std::string* skipped_;
  const Protocol& protocol_;
  const TypeName* type_ = nullptr;
  bool tensor_ = false;
  Demand demand_;
  LatencyCase case_;
};

double ConvSeconds(const TimingDevice& device, const ConvCase& c, const Conditions& conditions) {
  const auto run = [&](ConvMethod method) {
    return ExpectedConv(device, c.problem, method, conditions).seconds;
  };
  if (c.algorithm == "winograd") return ExpectedWinograd(device, c.problem, conditions).seconds;
  if (c.algorithm == "gemm") return run(ConvMethod::kExplicitGemm);
  if (c.algorithm == "fft") return run(ConvMethod::kFft);
  const double implicit = run(ConvMethod::kImplicitGemm);
  if (!c.algorithm.empty() || !c.winograd_possible) return implicit;
  return std::min(implicit, ExpectedWinograd(device, c.problem, conditions).seconds);
}

}  // namespace

std::optional<LatencyCase> MakeCase(LatencyKind kind, const LatencyRow& row, const Device& device,
                                    std::string* skipped) {
  return CaseMaker(row, device, skipped).Make(kind);
}

double ExpectedSeconds(const TimingDevice& device, const LatencyCase& row) {
  struct Visitor {
    const TimingDevice& device;
    const Conditions& conditions;
    double operator()(const GemmProblem& p) const {
      return ExpectedGemm(device, p, conditions).seconds;
    }
    double operator()(const AttentionProblem& p) const {
      return ExpectedAttention(device, p, conditions).seconds;
    }
    double operator()(const ConvCase& c) const { return ConvSeconds(device, c, conditions); }
    double operator()(const StreamProblem& p) const {
      return ExpectedStream(device, p, conditions).seconds;
    }
    double operator()(const RecurrentProblem& p) const {
      return ExpectedRecurrentSteps(device, p, conditions).seconds;
    }
  };
  const double model = std::visit(Visitor{device, row.conditions}, row.problem);
  return std::max(model + row.extra_launch, row.bound);
}

Constant RangeOf(const LatencyCase& row) {
  struct Visitor {
    Constant operator()(const GemmProblem& p) const {
      return p.batch > 1 ? Constant::kRangeBatched : Constant::kRangeGemm;
    }
    Constant operator()(const AttentionProblem& p) const {
      return p.phase == AttentionPhase::kDecode ? Constant::kRangeDecode
                                                : Constant::kRangeAttention;
    }
    Constant operator()(const ConvCase&) const { return Constant::kRangeConv; }
    Constant operator()(const StreamProblem&) const { return Constant::kRangeElementwise; }
    Constant operator()(const RecurrentProblem&) const { return Constant::kRangeBatched; }
  };
  return std::visit(Visitor{}, row.problem);
}

TimeRange ExpectedRange(const TimingDevice& device, const LatencyCase& row) {
  return WithRange(ExpectedSeconds(device, row), device[RangeOf(row)], row.bound);
}

}  // namespace dlcost
