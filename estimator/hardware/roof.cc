#include "estimator/hardware/roof.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace dlcost {
namespace {

using enum NumberFormat;

Roof RoofOf(const Rate& rate) {
  return {.known = true,
          .unit = rate.unit,
          .input = rate.input,
          .accumulate = rate.accumulate,
          .peak = rate.peak,
          .note = ""};
}

// The better of two roofs; equal ones stay with `a`.
Roof Faster(const Roof& a, const Roof& b) {
  if (!b.known) return a;
  return !a.known || b.peak > a.peak ? b : a;
}

struct Candidate {
  UnitKind unit;
  NumberFormat input;
  NumberFormat accumulate;
};
constexpr auto kTensor = UnitKind::kTensor;
constexpr auto kVector = UnitKind::kVector;

Roof Fastest(const Device& device, std::initializer_list<Candidate> candidates) {
  Roof best;
  for (const Candidate& c : candidates) {
    if (const Rate* rate = device.FindRate(c.unit, c.input, c.accumulate)) {
      best = Faster(best, RoofOf(*rate));
    }
  }
  return best;
}

// "" with the unit as the device's own documents call it: "on its CUDA cores".
std::string UnitWords(const Device& device, UnitKind unit) {
  const std::string& name = unit == kTensor ? device.tensor_name : device.vector_name;
  if (!name.empty()) return name;
  return unit == kTensor ? "matrix units" : "vector units";
}

// Says that a type runs as another one, and why.
void NoteSubstitute(const Device& device, std::string_view type, bool listed, Roof& roof) {
  if (!roof.known) {
    roof.note = fmt::format("{}: no rate is public for {}", type, device.id);
    return;
  }
  roof.note = fmt::format(
      "{} runs as {} on the {}: {} {}", type, Name(roof.input), UnitWords(device, roof.unit),
      listed ? "slower than that as itself on" : "no rate of its own on", device.id);
}

Roof MatrixRoof(const Device& device, NumberFormat format, MathMode mode);

bool MayRound(MathMode mode) { return mode == MathMode::kTf32 || mode == MathMode::kFastest; }

bool MaySumInHalves(MathMode mode) {
  return mode == MathMode::kFp16Accumulate || mode == MathMode::kFastest;
}

// How many lanes of a narrower integer stand in for one of fp32: only CPUs pack them.
int LanesPerFp32(const Device& device, NumberFormat format) {
  return device.kind == DeviceKind::kCpu && Bits(format) < 32 ? 32 / Bits(format) : 1;
}

Roof Fp32Matrix(const Device& device, MathMode mode) {
  Roof roof = Fastest(device, {{kTensor, kFp32, kFp32}, {kVector, kFp32, kFp32}});
  if (MayRound(mode)) {
    const Roof tf32 = Fastest(device, {{kTensor, kTf32, kFp32}});
    if (tf32.known) return Faster(tf32, roof);
    if (mode == MathMode::kTf32) {
      roof.note = fmt::format("{} has no tf32 mode: fp32 stays fp32", device.id);
    }
  }
  if (!roof.known && device.kind == DeviceKind::kTpu) {
    // XLA's default precision; "highest" takes six passes, so one pass bounds every setting.
    roof = Fastest(device, {{kTensor, kBf16, kFp32}});
    if (roof.known) {
      roof.note = "fp32 runs as one bf16 pass, the compiler's default; full precision takes six";
    }
  }
  if (!roof.known) NoteSubstitute(device, "fp32", false, roof);
  return roof;
}

Roof HalfMatrix(const Device& device, NumberFormat format, MathMode mode) {
  Roof own = Fastest(device, {{kTensor, format, kFp32}, {kVector, format, kFp32}});
  const Roof packed = Fastest(device, {{kVector, format, format}});
  if (MaySumInHalves(mode) && format == kFp16) {
    own = Faster(own, Faster(Fastest(device, {{kTensor, format, format}}), packed));
  }
  Roof wide = Fp32Matrix(device, MathMode::kDefault);
  if (!own.known && packed.known && (!wide.known || packed.peak > wide.peak)) {
    // P100: libraries use the packed rate for half types, so nothing less would be a bound.
    own = packed;
    own.note =
        fmt::format("{} adds up in {} on the {} of {}: the only {} arithmetic it has", Name(format),
                    Name(format), UnitWords(device, kVector), device.id, Name(format));
  }
  if (own.known && (!wide.known || own.peak >= wide.peak)) return own;
  NoteSubstitute(device, Name(format), own.known || packed.known, wide);
  return wide;
}

// fp8 and fp4: as themselves, or expanded to the next wider type.
Roof NarrowFloatMatrix(const Device& device, NumberFormat format, MathMode mode) {
  Roof own = Fastest(device, {{kTensor, format, kFp32}});
  if (mode == MathMode::kFp16Accumulate) {
    own = Faster(own, Fastest(device, {{kTensor, format, kFp16}}));
  }
  Roof wide = format == kFp4
                  ? MatrixRoof(device, kFp8, mode)
                  : Faster(MatrixRoof(device, kFp16, mode), MatrixRoof(device, kBf16, mode));
  if (own.known && (!wide.known || own.peak >= wide.peak)) return own;
  NoteSubstitute(device, Name(format), own.known, wide);
  return wide;
}

// Integers keep exact integer sums; the vector units' fp32 rate bounds what no unit multiplies.
Roof IntegerMatrix(const Device& device, NumberFormat format) {
  Roof own = Fastest(device, {{kTensor, format, kInt32}, {kVector, format, kInt32}});
  if (format == kInt4) {
    Roof wide = IntegerMatrix(device, kInt8);
    if (own.known && (!wide.known || own.peak >= wide.peak)) return own;
    if (wide.input != kFp32 || !own.known) {
      NoteSubstitute(device, "int4", own.known, wide);
      return wide;
    }
  }
  if (own.known) {
    const Roof half = MatrixRoof(device, kFp16, MathMode::kDefault);
    if (half.known && half.peak > own.peak) {
      own.note =
          fmt::format("{} is slower than fp16 on {}; dequantizing pays", Name(format), device.id);
    }
    return own;
  }
  Roof fallback = Fastest(device, {{kVector, kFp32, kFp32}});
  NoteSubstitute(device, Name(format), false, fallback);
  if (const int lanes = LanesPerFp32(device, format); fallback.known && lanes > 1) {
    fallback.peak = fallback.peak * lanes;
    fallback.note = fmt::format("{} is bounded by {} times the fp32 rate: its lanes are narrower",
                                Name(format), lanes);
  }
  return fallback;
}

Roof MatrixRoof(const Device& device, NumberFormat format, MathMode mode) {
  switch (format) {
    case kFp64: {
      Roof roof = Fastest(device, {{kTensor, kFp64, kFp64}, {kVector, kFp64, kFp64}});
      if (!roof.known) NoteSubstitute(device, "fp64", false, roof);
      return roof;
    }
    case kFp32:
    case kTf32:
      return Fp32Matrix(device, mode);
    case kFp16:
    case kBf16:
      return HalfMatrix(device, format, mode);
    case kFp8:
    case kFp6:
    case kFp4:
      return NarrowFloatMatrix(device, format, mode);
    default:
      return IntegerMatrix(device, format);
  }
}

// Elementwise work and reductions. A narrow type may always compute in fp32, which is what
// frameworks do; integers are bounded by the fp32 rate, times the narrower lanes of a CPU.
Roof VectorRoof(const Device& device, NumberFormat format) {
  const Roof own = Fastest(device, {{kVector, format, format}});
  Roof wide = Fastest(device, {{kVector, kFp32, kFp32}});
  if (format == kFp64) wide = Roof();
  if (own.known && (!wide.known || own.peak >= wide.peak)) return own;
  if (!wide.known) {
    wide.note = fmt::format("{} vector work: no rate is public for {}", Name(format), device.id);
    return wide;
  }
  if (IsInteger(format)) wide.peak = wide.peak * LanesPerFp32(device, format);
  if (own.known) NoteSubstitute(device, Name(format), true, wide);
  return wide;
}

}  // namespace

std::string_view Name(MathMode mode) {
  switch (mode) {
    case MathMode::kDefault:
      return "default";
    case MathMode::kTf32:
      return "tf32";
    case MathMode::kTf32Convolution:
      return "tf32-convolution";
    case MathMode::kFp16Accumulate:
      return "fp16-accumulate";
    case MathMode::kFastest:
      return "fastest";
  }
  return "";
}

namespace {

// Boards whose documents rate a typical clock run faster than that, never slower.
double ClockHeadroom(const Device& device, UnitKind unit) {
  const auto& rated =
      unit == kTensor && device.tensor_clock ? device.tensor_clock : device.boost_clock;
  if (!rated || !device.max_clock) return 1;
  return std::max(1.0, device.max_clock->value() / rated->value());
}

}  // namespace

std::optional<MathMode> ParseMathMode(std::string_view name) {
  for (const MathMode mode : MathModes()) {
    if (Name(mode) == name) return mode;
  }
  return std::nullopt;
}

std::span<const MathMode> MathModes() {
  static constexpr MathMode kModes[] = {MathMode::kDefault, MathMode::kTf32,
                                        MathMode::kTf32Convolution, MathMode::kFp16Accumulate,
                                        MathMode::kFastest};
  return kModes;
}

MathMode ModeOf(MathMode mode, bool convolution) {
  if (mode != MathMode::kTf32Convolution) return mode;
  return convolution ? MathMode::kTf32 : MathMode::kDefault;
}

Roof FindRoof(const Device& device, WorkKind work, DType type, MathMode mode) {
  std::optional<NumberFormat> format = FormatOf(type);
  // 64-bit integers and complex numbers are made of fp32-rate operations at best.
  if (!format) format = type == DType::kComplex128 ? kFp64 : IsInteger(type) ? kInt32 : kFp32;
  Roof roof =
      work == WorkKind::kMatrix ? MatrixRoof(device, *format, mode) : VectorRoof(device, *format);
  roof.reached = roof.peak * ClockHeadroom(device, roof.unit);
  return roof;
}

std::optional<Intensity> RidgePoint(const Device& device, const Roof& roof) {
  if (!roof.known || !device.memory.bandwidth) return std::nullopt;
  return roof.peak / *device.memory.bandwidth;
}

}  // namespace dlcost
