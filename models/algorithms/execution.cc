#include "models/algorithms/execution.h"

#include <array>

namespace dlcost {
namespace {

constexpr std::array<std::string_view, 18> kAlgorithmNames = {"none",
                                                              "direct",
                                                              "implicit_gemm",
                                                              "im2col_gemm",
                                                              "winograd",
                                                              "winograd_nonfused",
                                                              "fft",
                                                              "depthwise",
                                                              "tiled_gemm",
                                                              "matrix_vector",
                                                              "flash",
                                                              "materialized",
                                                              "recurrent_steps",
                                                              "recurrent_input_gemm",
                                                              "recurrent_persistent",
                                                              "reduction",
                                                              "systolic_gemm",
                                                              "blocked_gemm"};

constexpr std::array<std::string_view, 7> kTermKindNames = {
    "products", "padding", "skipped", "transform", "reduction", "epilogue", "pointwise"};

}  // namespace

std::string_view Name(Algorithm algorithm) {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

std::optional<Algorithm> ParseAlgorithm(std::string_view name) {
  for (std::size_t i = 0; i < kAlgorithmNames.size(); ++i) {
    if (kAlgorithmNames[i] == name) return static_cast<Algorithm>(i);
  }
  return std::nullopt;
}

std::string_view Name(Pipe pipe) { return pipe == Pipe::kVector ? "vector" : "tensor"; }
std::string_view Name(TermKind kind) { return kTermKindNames[static_cast<std::size_t>(kind)]; }

Instructions& Instructions::operator+=(const Instructions& other) {
  fma += other.fma;
  add += other.add;
  mul += other.mul;
  special += other.special;
  return *this;
}

Instructions operator*(Instructions a, Count b) {
  return {.fma = a.fma * b, .add = a.add * b, .mul = a.mul * b, .special = a.special * b};
}

Count TileGrid::Blocks() const { return batch * CeilDiv(m, tile_m) * CeilDiv(n, tile_n) * split_k; }

Count TileGrid::Waves(Count concurrent) const { return CeilDiv(Blocks(), concurrent); }

double TileGrid::PaddingShare() const {
  const double useful = m.AsDouble() * n.AsDouble() * k.AsDouble();
  const double executed = padded_m().AsDouble() * padded_n().AsDouble() * padded_k().AsDouble();
  return executed > 0 ? 1.0 - useful / executed : 0.0;
}

Instructions Stage::On(Pipe pipe) const {
  Instructions sum;
  for (const Term& term : terms) {
    if (term.pipe == pipe) sum += term.instructions;
  }
  return sum;
}

Instructions Execution::On(Pipe pipe) const {
  Instructions sum;
  for (const Stage& stage : stages) sum += stage.On(pipe);
  return sum;
}

Instructions Execution::Of(TermKind kind) const {
  Instructions sum;
  for (const Stage& stage : stages) {
    for (const Term& term : stage.terms) {
      if (term.kind == kind) sum += term.instructions;
    }
  }
  return sum;
}

Flops Execution::flops() const { return On(Pipe::kVector).flops() + On(Pipe::kTensor).flops(); }

Bytes Execution::ExtraRead() const {
  Bytes sum;
  for (const Stage& stage : stages) sum += stage.extra_read;
  return sum;
}

Bytes Execution::ExtraWritten() const {
  Bytes sum;
  for (const Stage& stage : stages) sum += stage.extra_written;
  return sum;
}

Count Execution::Launches() const {
  Count sum;
  for (const Stage& stage : stages) sum += stage.launches;
  return sum;
}

double Execution::PaddingShare() const {
  const double padding = Of(TermKind::kPadding).fma.AsDouble();
  const double all = padding + Of(TermKind::kProducts).fma.AsDouble();
  return all > 0 ? padding / all : 0.0;
}

const TileGrid* Execution::Grid() const {
  const Stage* longest = nullptr;
  Flops most;
  for (const Stage& stage : stages) {
    const Flops flops = stage.On(Pipe::kVector).flops() + stage.On(Pipe::kTensor).flops();
    if (!stage.grid || (longest != nullptr && flops <= most)) continue;
    longest = &stage;
    most = flops;
  }
  return longest == nullptr ? nullptr : &*longest->grid;
}

void Repeat(Execution& execution, Count times) {
  if (times == Count(1)) return;
  for (Stage& stage : execution.stages) {
    stage.launches *= times;
    stage.extra_read = stage.extra_read * times;
    stage.extra_written = stage.extra_written * times;
    for (Term& term : stage.terms) term.instructions = term.instructions * times;
  }
}

}  // namespace dlcost
