#include "estimator/plan/kernel.h"

namespace dlcost {

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

std::optional<Fusion> ParseFusion(std::string_view name) {
  for (const Fusion fusion : {Fusion::kNone, Fusion::kDefault, Fusion::kIdeal}) {
    if (Name(fusion) == name) return fusion;
  }
  return std::nullopt;
}

std::string_view Name(AttentionForm form) {
  return form == AttentionForm::kFlash ? "flash" : "materialized";
}

std::optional<AttentionForm> ParseAttentionForm(std::string_view name) {
  for (const AttentionForm form : {AttentionForm::kFlash, AttentionForm::kMaterialized}) {
    if (Name(form) == name) return form;
  }
  return std::nullopt;
}

}  // namespace dlcost
