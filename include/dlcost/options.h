#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dlcost::api {

// How a model is counted and run. Names are those of the command line (`dlcost report --help`); one
// that does not exist is an Error with the nearest spelling.
struct Options {
  std::string convention = "dlcost";  // what counts as a FLOP
  std::string fusion;                 // none, default or ideal; "": as the runtime does
  std::string attention;              // flash, flash-16bit or materialized; "": as the runtime does
  std::string convolution = "auto";   // the algorithm: direct, implicit_gemm, winograd, ...
  std::string math;             // default, tf32, tf32-convolution or fp16-accumulate; "": runtime's
  std::string cache = "cold";   // where inputs are at the start: cold or warm
  std::string launch;           // how kernels start: graph or eager; "": as the runtime does
  std::string dtype;            // what if all floating-point tensors had this type; "": as is
  std::size_t scope_depth = 2;  // components of module paths that rows keep, 0: all

  // A training step instead of inference (docs/training.md): the optimizer ("" for inference), what
  // it trains towards, and patterns of parameters that it leaves alone.
  std::string optimizer;
  std::string loss = "auto";
  std::vector<std::string> frozen;
};

}  // namespace dlcost::api
