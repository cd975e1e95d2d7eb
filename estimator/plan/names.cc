#include <array>

#include "estimator/plan/kernel.h"

namespace dlcost {
namespace {

constexpr std::array kFusions = {Fusion::kNone, Fusion::kDefault, Fusion::kIdeal};
constexpr std::array kForms = {AttentionForm::kFlash,  AttentionForm::kFlash1,
                               AttentionForm::kFlash2, AttentionForm::kFlash16,
                               AttentionForm::kCalled, AttentionForm::kMaterialized};
constexpr std::array kSteps = {
    FusionStep::kBias,        FusionStep::kProduct,  FusionStep::kConvolution,
    FusionStep::kPointwise,   FusionStep::kRows,     FusionStep::kOperands,
    FusionStep::kProjections, FusionStep::kParallel, FusionStep::kViews};

template <typename Value, std::size_t kSize>
std::optional<Value> Named(const std::array<Value, kSize>& values, std::string_view name) {
  for (const Value value : values) {
    if (Name(value) == name) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view Name(Fusion fusion) {
  switch (fusion) {
    case Fusion::kNone:
      return "none";
    case Fusion::kDefault:
      return "default";
    case Fusion::kIdeal:
      return "ideal";
  }
  return "";
}

std::optional<Fusion> ParseFusion(std::string_view name) { return Named(kFusions, name); }

std::string_view Name(FusionStep step) {
  switch (step) {
    case FusionStep::kBias:
      return "bias";
    case FusionStep::kProduct:
      return "product";
    case FusionStep::kConvolution:
      return "convolution";
    case FusionStep::kPointwise:
      return "pointwise";
    case FusionStep::kRows:
      return "rows";
    case FusionStep::kViews:
      return "views";
    case FusionStep::kOperands:
      return "operands";
    case FusionStep::kProjections:
      return "projections";
    case FusionStep::kParallel:
      return "parallel";
  }
  return "";
}

std::optional<FusionStep> ParseFusionStep(std::string_view name) { return Named(kSteps, name); }

std::span<const FusionStep> FusionSteps() { return kSteps; }

std::string_view Name(AttentionForm form) {
  switch (form) {
    case AttentionForm::kFlash:
      return "flash";
    case AttentionForm::kFlash1:
      return "flash-1";
    case AttentionForm::kFlash2:
      return "flash-2";
    case AttentionForm::kFlash16:
      return "flash-16bit";
    case AttentionForm::kCalled:
      return "called";
    case AttentionForm::kMaterialized:
      return "materialized";
  }
  return "";
}

std::optional<AttentionForm> ParseAttentionForm(std::string_view name) {
  return Named(kForms, name);
}

std::span<const AttentionForm> AttentionForms() { return kForms; }

bool Materializes(AttentionForm form, DType type, Count queries) {
  constexpr int kLongest = 384;  // FasterTransformer, BaseAttentionLayer.h: getAttentionType
  if (form != AttentionForm::kFlash16) return Materializes(form, type);
  return queries > Count(1) && (Materializes(form, type) || queries > Count(kLongest));
}

bool Materializes(AttentionForm form, DType type) {
  constexpr int kHalf = 16;  // bits
  return form == AttentionForm::kMaterialized ||
         (form == AttentionForm::kFlash16 && Bits(type) > kHalf);
}

}  // namespace dlcost
