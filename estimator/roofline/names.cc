#include <array>

#include "estimator/roofline/bound.h"
#include "estimator/roofline/run.h"

namespace dlcost {

namespace {

template <typename Enum>
std::optional<Enum> Named(std::span<const Enum> all, std::string_view name) {
  for (const Enum each : all) {
    if (Name(each) == name) return each;
  }
  return std::nullopt;
}

}  // namespace

std::string_view Name(CacheState state) {
  switch (state) {
    case CacheState::kCold:
      return "cold";
    case CacheState::kPassed:
      return "passed";
    case CacheState::kWarm:
      return "warm";
  }
  return "";
}

std::optional<CacheState> ParseCacheState(std::string_view name) {
  return Named(CacheStates(), name);
}

std::span<const CacheState> CacheStates() {
  static constexpr std::array kStates = {CacheState::kCold, CacheState::kPassed, CacheState::kWarm};
  return kStates;
}

std::string_view Name(UpdateForm form) {
  switch (form) {
    case UpdateForm::kFused:
      return "fused";
    case UpdateForm::kForeach:
      return "foreach";
    case UpdateForm::kLoop:
      return "loop";
  }
  return "";
}

std::optional<UpdateForm> ParseUpdateForm(std::string_view name) {
  return Named(UpdateForms(), name);
}

std::span<const UpdateForm> UpdateForms() {
  static constexpr std::array kForms = {UpdateForm::kFused, UpdateForm::kForeach,
                                        UpdateForm::kLoop};
  return kForms;
}

std::string_view Name(Launch launch) {
  switch (launch) {
    case Launch::kGraph:
      return "graph";
    case Launch::kEager:
      return "eager";
    case Launch::kScript:
      return "script";
  }
  return "";
}

std::optional<Launch> ParseLaunch(std::string_view name) { return Named(Launches(), name); }

std::span<const Launch> Launches() {
  static constexpr std::array kLaunches = {Launch::kGraph, Launch::kEager, Launch::kScript};
  return kLaunches;
}

std::span<const Selection> Selections() {
  static constexpr std::array kSelections = {Selection::kCall, Selection::kFirst,
                                             Selection::kCompiled, Selection::kBuild};
  return kSelections;
}

std::string_view Name(Selection selection) {
  switch (selection) {
    case Selection::kCall:
      return "call";
    case Selection::kFirst:
      return "first";
    case Selection::kCompiled:
      return "compiled";
    case Selection::kBuild:
      return "build";
  }
  return "";
}

}  // namespace dlcost
