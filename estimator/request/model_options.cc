#include "estimator/request/model_options.h"

#include "estimator/core/dtype_spelling.h"
#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/infer/custom_ops.h"
#include "estimator/infer/retype.h"
#include "estimator/open/open_model.h"
#include "estimator/precision/precision.h"
#include "estimator/request/known_output.h"
#include "estimator/training/step.h"

namespace dlcost {
namespace {

constexpr std::int64_t kMostMicroBatches = 1'000'000;

TrainOptions TrainOptionsOf(const ModelOptions& options) {
  RequireOneOf("--train", options.train, Optimizers());
  RequireOneOf("--loss", options.loss, Losses());
  if (options.micro_batches < 1 || options.micro_batches > kMostMicroBatches) {
    throw Error("--accumulate {} is not from 1 to {}", options.micro_batches, kMostMicroBatches);
  }
  if (options.clip_norm && !(*options.clip_norm > 0)) {
    throw Error("--clip-norm {} is not above 0", *options.clip_norm);
  }
  return {.optimizer = options.train,
          .loss = options.loss,
          .frozen = options.frozen,
          .precision = options.precision,
          .recompute = options.recompute,
          .micro_batches = options.micro_batches,
          .clips = options.clip_norm.has_value(),
          .sparse_embeddings = options.sparse_embeddings,
          .fuses_attention =
              [form = options.plan.Form()](DType type, bool called) {
                return !Materializes(form, type) && JoinsSpelled(form, called);
              },
          .losses_apart = options.plan.composed_apart,
          .joins_attention = options.plan.fusion != Fusion::kNone,
          .regathers = options.split != nullptr};
}

std::optional<DType> WhatIfType(const ModelOptions& options) {
  if (options.dtype.empty()) return std::nullopt;
  return ReadDType("--dtype", options.dtype);
}

}  // namespace

Model ModelOf(const ModelOptions& options) {
  return options.read != nullptr ? *options.read : OpenModel(options.path);
}

Bindings BindingsOf(const ModelOptions& options) {
  Bindings bindings = options.bound;
  if (options.batch) bindings.batch = options.batch;
  if (options.batch && *options.batch < 0) throw Error("--batch {} is negative", *options.batch);
  for (const std::string& text : options.dims) AddDimBinding(bindings, text);
  for (const std::string& text : options.inputs) AddInputBinding(bindings, text);
  for (const std::string& text : options.values) AddValueBinding(bindings, text);
  return bindings;
}

InferredModel InferModel(const ModelOptions& options) {
  return InferModel(ModelOf(options), options, BindingsOf(options));
}

InferOptions InferOptionsOf(const ModelOptions& options, const Bindings& bindings) {
  InferOptions infer;
  infer.bindings = bindings;
  for (const std::string& text : options.at) infer.at.push_back(ParseRunBinding(text));
  if (!options.assume.empty()) RequireOneOf("--assume", options.assume, {"typical"});
  infer.assume_typical = !options.assume.empty();
  for (const std::string& text : options.trips) AddTrips(infer.control, text);
  for (const std::string& text : options.branches) AddBranch(infer.control, text);
  if (!options.ops.empty()) {
    auto custom = std::make_shared<CustomOperators>();
    for (const std::string& path : options.ops) custom->Read(path);
    infer.custom = std::move(custom);
  }
  return infer;
}

void ApplyDType(const ModelOptions& options, InferredModel& model) {
  if (const std::optional<DType> dtype = WhatIfType(options)) Retype(model, *dtype);
}

ModelDerivation DerivationOf(const ModelOptions& options) {
  const bool trains = !options.train.empty();
  if (!trains && options.loss != "auto") throw Error("--loss needs --train");
  if (!trains && options.micro_batches != 1) throw Error("--accumulate needs --train");
  if (!trains && options.sparse_embeddings) throw Error("--sparse-embeddings needs --train");
  if (!trains && options.clip_norm) throw Error("--clip-norm needs --train");
  if (!trains && options.recompute != "none") throw Error("--recompute needs --train");
  if (!trains && !options.frozen.empty()) throw Error("--freeze needs --train");
  const bool precise = !options.precision.empty();
  if (precise && !options.dtype.empty()) {
    throw Error("--precision and --dtype both choose types; give one of them");
  }
  if (precise) FindPrecision(options.precision);
  if (trains) {
    return [train = TrainOptionsOf(options)](InferredModel model, const InferOptions& infer) {
      return InferStep(BuildStep(model, train), model, infer);
    };
  }
  if (!precise || FindPrecision(options.precision).half == DType::kUndefined) return nullptr;
  return [&precision = FindPrecision(options.precision)](InferredModel model,
                                                         const InferOptions& infer) {
    return InPrecision(model, precision, infer);
  };
}

void RequireNothingSought(const ModelOptions& options) {
  if (!options.fit && !options.batch_max) return;
  throw Error("{} is for dlcost MODEL and explain alone", options.fit ? "--fit" : "--batch max");
}

namespace {

// `inferred_by` makes the model, or its part, that is derived from.
template <typename Inferred>
InferredModel Derived(const ModelOptions& options, const Bindings& bindings,
                      const Inferred& inferred_by) {
  RequireNothingSought(options);
  const InferOptions infer = InferOptionsOf(options, bindings);
  const std::optional<DType> dtype = WhatIfType(options);
  const ModelDerivation derive = DerivationOf(options);
  InferredModel inferred = inferred_by(infer);
  if (!options.train.empty()) RequireKnownOutput(inferred, infer);
  if (derive) inferred = derive(std::move(inferred), infer);
  if (dtype) {
    Retype(inferred, *dtype);
    if (inferred.step != nullptr) CountStepMemory(inferred);
  }
  return inferred;
}

}  // namespace

InferredModel InferModel(Model model, const ModelOptions& options, const Bindings& bindings) {
  return Derived(options, bindings, [&](const InferOptions& infer) {
    InferredModel inferred = Infer(std::move(model), infer);
    return options.split ? options.split(inferred, infer) : std::move(inferred);
  });
}

InferredModel InferSplit(const InferredModel& whole, const ModelOptions& options,
                         const Bindings& bindings) {
  return Derived(options, bindings,
                 [&](const InferOptions& infer) { return options.split(whole, infer); });
}

TrainingStep BuildTrainingStep(const ModelOptions& options) {
  const TrainOptions train = TrainOptionsOf(options);
  const InferOptions infer = InferOptionsOf(options, BindingsOf(options));
  const InferredModel forward = Infer(ModelOf(options), infer);
  RequireKnownOutput(forward, infer);
  Step step = BuildStep(forward, train);
  return {.model = std::move(step.model), .inputs = std::move(step.changed)};
}

}  // namespace dlcost
