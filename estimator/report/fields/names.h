#pragma once

#include <optional>
#include <string_view>

#include "estimator/report/report.h"

// Enumerations that a report tells by their Name(): their values go from 0 to the last, named here.

namespace dlcost::fields {

template <typename Enum>
inline constexpr Enum kLast = Enum(-1);
template <>
inline constexpr Algorithm kLast<Algorithm> = Algorithm::kBlockedGemm;
template <>
inline constexpr AttentionForm kLast<AttentionForm> = AttentionForm::kMaterialized;
template <>
inline constexpr CacheState kLast<CacheState> = CacheState::kWarm;
template <>
inline constexpr DType kLast<DType> = static_cast<DType>(kDTypeCount - 1);
template <>
inline constexpr Fusion kLast<Fusion> = Fusion::kIdeal;
template <>
inline constexpr FusionStep kLast<FusionStep> = FusionStep::kViews;
template <>
inline constexpr Launch kLast<Launch> = Launch::kScript;
template <>
inline constexpr MathMode kLast<MathMode> = MathMode::kFastest;
template <>
inline constexpr NodeStatus kLast<NodeStatus> = NodeStatus::kUnknown;
template <>
inline constexpr Phase kLast<Phase> = static_cast<Phase>(kPhaseCount - 1);
template <>
inline constexpr Pipe kLast<Pipe> = Pipe::kTensor;
template <>
inline constexpr Selection kLast<Selection> = Selection::kBuild;
template <>
inline constexpr SequencePhase kLast<SequencePhase> = SequencePhase::kDecode;
template <>
inline constexpr UpdateForm kLast<UpdateForm> = UpdateForm::kLoop;
template <>
inline constexpr TermKind kLast<TermKind> = TermKind::kPointwise;
template <>
inline constexpr TimingBasis kLast<TimingBasis> = TimingBasis::kAssumed;

// What earlier releases called a value, for one that is called so no more.
template <typename Enum>
std::optional<Enum> FindEarlier(std::string_view) {
  return std::nullopt;
}
template <>
inline std::optional<Selection> FindEarlier(std::string_view name) {
  if (name == "convolution") return Selection::kFirst;
  return std::nullopt;
}

// The value of that name, or none.
template <typename Enum>
std::optional<Enum> FindNamed(std::string_view name) {
  static_assert(kLast<Enum> != Enum(-1), "its last value is named above");
  for (int i = 0; i <= static_cast<int>(kLast<Enum>); ++i) {
    if (Name(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  return FindEarlier<Enum>(name);
}

}  // namespace dlcost::fields
