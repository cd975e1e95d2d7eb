#include "estimator/calibrate/protocol.h"

namespace dlcost {
namespace {

constexpr Protocol kProtocols[] = {
    // TensorRT-LLM's Linear under a CUDA graph; up to five copies of the weights in turns; fp8 with
    // dynamic scales, so that each call also quantizes its activations.
    {.source = "aiconfigurator", .weight_copies = 5, .quantizes = true, .quantize_calls = 5.5e-6},
    // Per-fusion times of a profiler session: each holds the gap to its neighbours.
    {.source = "xla", .extra_launch = 3e-6},
    // cuBLAS, cuDNN called in a loop without synchronizing. Halves are random numbers from 0 to 1,
    // converted to the integers that their bits are held in (code/nvidia/tensor.h, rand): zeros.
    {.source = "deepbench", .back_to_back = true, .zero_halves = true},
    // torch.mm of two matrices in a loop without synchronizing.
    {.source = "torch-mm", .back_to_back = true},
    // FlashAttention's and Triton's benchmarks: one call after the other, or the device's own time.
    {.source = "attention-loop", .back_to_back = true},
    // PyTorch's calls in a CUDA graph of many (bench/measure_operators.py).
    {.source = "pytorch", .as_is = true},
    // PyTorch, one call between two events, then a synchronization.
    {.source = "neusight"},
    {.source = "neusight-bmm"},
    {.source = "neusight-linear", .bias = true},
};
constexpr Protocol kPlain{};

}  // namespace

const Protocol& FindProtocol(std::string_view source) {
  for (const Protocol& protocol : kProtocols) {
    if (protocol.source == source) return protocol;
  }
  return kPlain;
}

}  // namespace dlcost
