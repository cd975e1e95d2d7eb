#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlcost::api {

// How a model is counted and run. Names are those of the command line (`dlcost report --help`); one
// that does not exist is an Error with the nearest spelling.
struct Options {
  std::string convention = "dlcost";  // what counts as a FLOP
  std::string runtime;                // what runs the model (docs/timing.md); "": a fusing compiler
  std::string fusion;                 // none, default or ideal; "": as the runtime does
  std::string attention;              // a form of `--attention`; "": as the runtime does
  std::string convolution = "auto";   // the algorithm: direct, implicit_gemm, winograd, ...
  std::string math;                   // tf32, fp16-accumulate, ...; "": as the runtime does
  std::string cache = "passed";       // where inputs are at the start: cold, passed or warm
  std::string launch;       // how kernels start: graph, eager, script; "": as the runtime does
  std::string layout;       // of tensors: file or kernels (channels last); "": as the runtime does
  std::string update_form;  // of parameters: fused, foreach or loop; "": as the runtime does
  std::string dtype;        // what if all floating-point tensors had this type; "": as is
  std::size_t scope_depth = 2;  // components of module paths that rows keep, 0: all

  // A training step instead of inference (docs/training.md): the optimizer ("" for inference), what
  // it trains towards, and patterns of parameters that it leaves alone.
  std::string optimizer;
  std::string loss = "auto";
  std::vector<std::string> frozen;
  std::string recompute = "none";   // what a step computes again instead of keeping it
  std::int64_t micro_batches = 1;   // forward and backward passes before one update
  std::optional<double> clip_norm;  // gradients are scaled down to this norm of all of them
  bool sparse_embeddings = false;   // gradients of embeddings are the rows that were used
  // Recompute what takes least time of what makes a step fit the device's memory; of Count and
  // Explain alone.
  bool fit = false;

  // Types as frameworks mix them, of a step or of inference: amp-fp16, bf16, ...; "": as is.
  std::string precision;
};

}  // namespace dlcost::api
