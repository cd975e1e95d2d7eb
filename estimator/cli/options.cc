#include "estimator/cli/options.h"

#include <fmt/ranges.h>

#include "estimator/core/error.h"
#include "estimator/core/whole_number.h"
#include "estimator/precision/precision.h"

namespace dlcost {
namespace {

// Puts options with names under a heading of the help, from the one of this number on.
void SetHeading(CLI::App& app, std::size_t from, const char* heading) {
  const std::vector<CLI::Option*> options = app.get_options();
  for (std::size_t i = from; i < options.size(); ++i) {
    if (!options[i]->get_positional()) options[i]->group(heading);
  }
}

}  // namespace

void AddModelOptions(CLI::App& app, ModelOptions& options, const std::string& positional,
                     Search search) {
  const std::size_t first = app.get_options().size();
  app.add_option(positional, options.path, "ONNX file")->required()->type_name("FILE");
  app.add_option_function<std::string>(
         "--batch",
         [&options](const std::string& text) {
           options.batch_max = text == "max";
           if (options.batch_max) return;
           options.batch = WholeNumber(text);
           if (!options.batch) {
             throw Error("--batch '{}' is no size: a whole number, or max", Printable(text));
           }
         },
         search == Search::kFit
             ? "size of batch dimensions; max: the largest with which the device's memory suffices"
             : "size of batch dimensions")
      ->type_name("N");
  app.add_option("--dim", options.dims,
                 "bind an open dimension by name, or an axis of an input, e.g. --dim seq=512, "
                 "--dim 'x[3]=192'")
      ->type_name("NAME=N");
  app.add_option("--input", options.inputs, "set one input's shape, e.g. --input x:1x3x224x224")
      ->type_name("NAME:SHAPE");
  app.add_option("--value", options.values,
                 "the integers that an input holds, e.g. --value shape=1,3,224,224")
      ->type_name("NAME=INTS");
  app.add_option(
         "--at", options.at,
         "bind what only the run knows, at a node or tensor (* for any text): its shape, its "
         "values, or a share of its upper bound, e.g. --at /NonZero=2x57, --at "
         "'/Range=[0,1,2]', --at '/experts*/NonZero=25%'")
      ->type_name("NODE=WHAT");
  app.add_option("--assume", options.assume,
                 "typical: estimate what only the run knows; counts that rest on it are marked")
      ->type_name("WHAT");
  app.add_option("--dtype", options.dtype,
                 "what if: store and compute floating-point tensors in this type, e.g. f16, int8")
      ->type_name("TYPE");
  app.add_option("--trips", options.trips,
                 "iterations of loops that the file leaves open: of one node, or of all")
      ->type_name("[NODE=]N");
  app.add_option("--branch", options.branches,
                 "branch of conditions that the file leaves open: then or else")
      ->type_name("[NODE=]WHICH");
  SetHeading(app, first, kModelHeading);
  const std::size_t training = app.get_options().size();
  app.add_option("--train", options.train,
                 "a training step instead of inference, with this optimizer: none, sgd, momentum, "
                 "adam, adamw, lion, lamb, adafactor or muon")
      ->type_name("OPTIMIZER");
  app.add_option(
         "--loss", options.loss,
         "what a step trains towards: auto, cross_entropy, nll, mse, sum, or none (gradients of "
         "the outputs are given)")
      ->type_name("LOSS")
      ->capture_default_str();
  app.add_option("--freeze", options.frozen,
                 "parameters that a step does not train, by name, e.g. --freeze 'encoder.*'")
      ->type_name("PATTERN");
  app.add_option(
         "--recompute", options.recompute,
         "what a step computes again instead of keeping it: none, scopes (repeated modules; "
         "scopes:K the first K), full, or selective:PATTERN (of nodes, modules or "
         "operators; selective:pointwise)")
      ->type_name("WHAT")
      ->capture_default_str();
  app.add_option("--accumulate", options.micro_batches,
                 "forward and backward passes, of a batch each, before one update")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--clip-norm", options.clip_norm,
                 "scale gradients down to this norm of all of them")
      ->type_name("NORM");
  app.add_flag("--sparse-embeddings", options.sparse_embeddings,
               "gradients of embeddings are the rows that were used, and their update (sgd, adam, "
               "adamw) touches no others");
  app.add_flag("--fit", options.fit,
               "recompute what takes least time of what makes a step fit the device's memory");
  SetHeading(app, training, kTrainingHeading);
  if (search == Search::kNone) app.get_option("--fit")->group("");
  const std::size_t types = app.get_options().size();
  app.add_option(
         "--precision", options.precision,
         fmt::format(
             "types as frameworks mix them: {} (autocast: amp-*; weights, "
             "activations and gradients in a half type: fp16, bf16; weights in half, "
             "activations cast around products: products-fp16; as servers quantize "
             "weights, and the "
             "operands of their products: w8a8-fp8, w4a4-nvfp4, w4a16-int4, w4a16-mxfp4; as "
             "in GGUF files: q4_0, q8_0, q4_k_m, q5_k_m, q6_k)",
             fmt::join(PrecisionNames(), ", ")))
      ->type_name("NAME");
  app.add_option("--ops", options.ops, "a YAML file that defines operators of your own")
      ->type_name("FILE");
  SetHeading(app, types, kModelHeading);
}

void AddDeviceOptions(CLI::App& app, DeviceOptions& options, Devices devices) {
  const std::size_t first = app.get_options().size();
  const std::string several =
      devices == Devices::kSeveral ? "; several with commas, or all" : std::string();
  app.add_option("--gpu,--device", options.gpu,
                 "device id or alias (dlcost gpus), or a YAML file" + several)
      ->type_name("ID");
  app.add_option(
         "--math", options.math,
         "default, tf32, tf32-convolution (not in matrix products), fp16-accumulate or fastest "
         "(tf32 and fp16-accumulate); without it as --runtime does")
      ->type_name("MODE");
  app.add_option("--cache", options.cache,
                 "what on-chip levels hold when a kernel starts: nothing (cold), what kernels pass "
                 "on as far as it fits, and the weights if all of them fit (passed), whatever "
                 "fits (warm)")
      ->type_name("STATE")
      ->capture_default_str();
  app.add_option("--launch", options.launch,
                 "how kernels start, for expected times: graph (one after the other), eager (a "
                 "framework call each) or script (the same without Python); without it as "
                 "--runtime does")
      ->type_name("MODE");
  app.add_option("--layout", options.layout,
                 "how tensors lie between convolutions on matrix units: file (channels first, as "
                 "ONNX has them; each converts) or kernels (channels last throughout); without it "
                 "as --runtime does")
      ->type_name("FORM");
  CLI::Option* update =
      app.add_option(
             "--update-form", options.update,
             "how a training step changes parameters: fused (one kernel), foreach (operation by "
             "operation, over all tensors) or loop (tensor by tensor); without it as --runtime "
             "does")
          ->type_name("FORM");
  if (CLI::Option* train = app.get_option_no_throw("--train")) update->needs(train);
  app.add_option("--set", options.overrides,
                 "what if: change a value of the device, e.g. --set memory.bandwidth=8TB/s")
      ->type_name("KEY=VALUE");
  SetHeading(app, first, kDeviceHeading);
}

void AddCountOptions(CLI::App& app, CountOptions& options) {
  const std::size_t first = app.get_options().size();
  std::vector<std::string> names;
  for (const Convention& convention : Conventions()) names.emplace_back(convention.name);
  app.add_option("--convention", options.convention,
                 fmt::format("what counts as a FLOP: {}", fmt::join(names, ", ")))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--runtime", options.runtime,
                 "what runs the model, and with it which operators are one kernel, how kernels "
                 "start, the form of attention and the math mode: pytorch-eager, onnxruntime, "
                 "tensorrt, ... (dlcost runtimes), or a YAML file; without it a fusing compiler")
      ->type_name("NAME");
  app.add_option("--fusion", options.fusion,
                 "what runs as one kernel: none, default (as compilers do) or ideal (only inputs, "
                 "weights and outputs move); without it as --runtime does")
      ->type_name("MODE");
  app.add_option(
         "--attention", options.attention,
         "flash (scores stay on the chip), flash-1 or flash-2 (in FlashAttention's first or "
         "second kernels), flash-16bit (types wider than 16 bits do not), called (what the model "
         "calls as one function) or materialized; without it as --runtime does")
      ->type_name("FORM");
  app.add_option("--algo", options.algorithms,
                 "how convolutions run: conv=auto, direct, implicit_gemm, im2col_gemm, winograd, "
                 "winograd_nonfused, fft or depthwise")
      ->type_name("OP=NAME")
      ->allow_extra_args(false);
  SetHeading(app, first, kCountHeading);
}

void AddOutputOptions(CLI::App& app, std::string& format, std::string& output) {
  app.add_option("--format", format, "text or json")->type_name("FORMAT")->capture_default_str();
  app.add_option("-o,--output", output, "write to a file")->type_name("FILE");
}

}  // namespace dlcost
