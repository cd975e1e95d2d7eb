#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/graph/value_integer.h"
#include "estimator/infer/control_flow.h"
#include "estimator/infer/iterations.h"
#include "estimator/infer/trip_count.h"

namespace dlcost {
namespace {

// Trip counts from here on mean "until the condition says stop": exporters write the largest
// integer of 32 or 64 bits for a loop without a limit.
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int32_t>::max();
// Iterations that are followed one by one; a loop whose iterations are alike needs one.
constexpr std::int64_t kMaxUnrolled = 10'000;
// Counting iterations by their values stops where twice as many steps are left for what comes
// after.
constexpr std::int64_t kStepsToLeave = 400'000;

Known Scalar(DType dtype, std::optional<std::int64_t> value) {
  Known known;
  known.type.dtype = dtype;
  known.type.shape = Shape();
  if (value) known.value = std::make_shared<Value>(std::vector<std::int64_t>{*value});
  known.foldable = value.has_value();
  return known;
}

std::optional<std::int64_t> ScalarOf(const Known& known) {
  if (known.value == nullptr || known.value->size() != 1) return std::nullopt;
  return IntegerAt(*known.value, 0);
}

// Body inputs: iteration, condition, state. Body outputs: condition, state, one element of each
// scan output.
class Loop {
 public:
  explicit Loop(ControlNode& control)
      : control_(control), driver_(control.driver()), body_(control.Body("body")) {
    if (body_.inputs.size() < 2 || body_.outputs.size() + 1 < body_.inputs.size()) {
      throw Error("the body has {} inputs and {} outputs", body_.inputs.size(),
                  body_.outputs.size());
    }
    states_ = body_.inputs.size() - 2;
    scans_ = body_.outputs.size() - 1 - states_;
    if (control.NumInputs() != states_ + 2) {
      throw Error("{} initial values for a body with {}", control.NumInputs(), states_);
    }
    for (std::size_t i = 0; i < states_; ++i) initial_.push_back(control.Input(i + 2));
    for (const Node& node : body_.nodes) {
      if (node.op != "Identity" || node.inputs.empty() || node.outputs.empty()) continue;
      identity_of_.emplace(node.outputs[0], node.inputs[0]);
    }
  }

  void Run() {
    const InferenceDriver::Mark mark = driver_.Here();
    const std::vector<Known> any = RunBody(AnyState(), std::nullopt, 1);
    const bool stable = Stable(any), alike = control_.Resolved(mark) && stable;
    FindTrips(any, *driver_.result().subgraphs[mark.subgraphs].graph);
    if (trips_ == 0) {
      driver_.Rollback(mark);
      Finish(initial_, ScansOf(any));
    } else if (alike && ChoosesByIteration(mark)) {
      FollowIterations(any, stable);
    } else if (alike || (trips_ > kMaxUnrolled && stable)) {
      // Not followed again: loops in loops would take twice the time per level.
      control_.Repeat(mark, trips_);
      Finish(StatesOf(any), ScansOf(any));
    } else {
      driver_.Rollback(mark);
      FollowIterations(any, stable);
    }
    if (at_most_) {
      control_.MarkUpperBound(
          mark, fmt::format("may stop before its {} iterations: their number is computed at run "
                            "time; bind it with {}",
                            trips_, SuggestTrips(control_.name(), trips_)));
    }
  }

 private:
  // Whether the body has an If whose condition holds in some iterations and not in others, and
  // their values tell in which: a first or last one that differs. Takes the nodes since `mark` back
  // if so.
  bool ChoosesByIteration(InferenceDriver::Mark mark) {
    const auto open = [&] {
      const std::vector<CountedNode>& nodes = driver_.result().nodes;
      return std::count_if(nodes.begin() + static_cast<std::ptrdiff_t>(mark.nodes), nodes.end(),
                           [](const CountedNode& node) {
                             return node.def != nullptr && node.def->control == ControlFlow::kIf &&
                                    node.upper_bound;
                           });
    };
    const auto always = open();
    const Count nodes(static_cast<std::int64_t>(body_.nodes.size()) + 1);
    if (always == 0 || trips_ > kMaxUnrolled || !driver_.CanFollow(nodes * trips_)) return false;
    const InferenceDriver::Mark behind = driver_.Here();
    RunBody(initial_, 0, 1);
    const bool chooses = open() - always < always;
    driver_.Rollback(chooses ? mark : behind);
    return chooses;
  }

  // Whether the body hands state `i` on as it got it.
  bool IsInvariant(std::size_t i) const {
    TensorId id = body_.outputs[i + 1];
    // No chain is longer than the body, unless it is a circle, which is reported elsewhere.
    for (std::size_t moves = 0; moves <= body_.nodes.size(); ++moves) {
      if (id == body_.inputs[i + 2]) return true;
      const auto from = identity_of_.find(id);
      if (from == identity_of_.end()) return false;
      id = from->second;
    }
    return false;
  }

  // What holds in every iteration.
  std::vector<Known> AnyState() const {
    std::vector<Known> state;
    for (std::size_t i = 0; i < states_; ++i) {
      state.push_back(IsInvariant(i) ? initial_[i] : TypeOnly(initial_[i]));
    }
    return state;
  }

  std::vector<Known> RunBody(const std::vector<Known>& state, std::optional<std::int64_t> iteration,
                             Count times) {
    std::vector<Known> inputs = {Scalar(DType::kInt64, iteration), Scalar(DType::kBool, 1)};
    inputs.insert(inputs.end(), state.begin(), state.end());
    return control_.Run(body_, inputs, times);
  }

  std::vector<Known> StatesOf(const std::vector<Known>& outputs) const {
    const auto first = outputs.begin() + 1;
    return {first, first + static_cast<std::ptrdiff_t>(states_)};
  }
  std::vector<Known> ScansOf(const std::vector<Known>& outputs) const {
    return {outputs.begin() + 1 + static_cast<std::ptrdiff_t>(states_), outputs.end()};
  }

  bool Stable(const std::vector<Known>& outputs) const {
    for (std::size_t i = 0; i < states_; ++i) {
      if (!SameType(outputs[i + 1].type, initial_[i].type)) return false;
    }
    return true;
  }

  // Sets trips_ and at_most_, from the limit and the condition. `body` has been inferred with what
  // holds in every iteration.
  void FindTrips(const std::vector<Known>& any, const Graph& body) {
    std::optional<std::int64_t> limit;
    if (control_.HasInput(0)) limit = ScalarOf(control_.Input(0));
    const std::optional<std::int64_t> start =
        control_.HasInput(1) ? ScalarOf(control_.Input(1)) : std::optional<std::int64_t>(1);
    if ((start && *start == 0) || (limit && *limit <= 0)) return Set(0, false);
    const bool endless = !control_.HasInput(0) || (limit && *limit >= kNoLimit);
    if (endless) limit.reset();
    const std::optional<std::int64_t> next = ScalarOf(any[0]);
    // What ends it for certain, and whether nothing ends it before.
    std::optional<std::int64_t> most = limit;
    bool certain = start && (endless || limit) && !control_.Input(0).upper_bound &&
                   !control_.Input(1).upper_bound && !any[0].upper_bound;
    if (!next) {
      std::optional<TripCount> counted = CountTrips(body, initial_);
      if (!counted || counted->at_most) {
        if (const auto followed = CountByValues(most.value_or(kMaxUnrolled))) {
          counted = TripCount{*followed, false};
        }
      }
      certain = certain && counted && !counted->at_most;
      if (counted) most = std::min(counted->trips, most.value_or(counted->trips));
    } else if (*next == 0) {
      most = 1;
    }
    if (certain && most) return Set(*most, false);
    if (const auto chosen = driver_.Trips(control_.name())) {
      return Set(std::min(*chosen, most.value_or(*chosen)), false);
    }
    if (most) return Set(*most, true);
    if (next && start && endless) throw Error("the loop never ends");
    throw Unresolved("how often it runs is computed at run time: bind it, for example: " +
                     SuggestTrips(control_.name()));
  }

  void Set(std::int64_t trips, bool at_most) {
    trips_ = trips;
    at_most_ = at_most;
  }

  // Follows the values of the state until the condition is false; nullopt when it is not known, or
  // following takes a good part of the steps that are left.
  std::optional<std::int64_t> CountByValues(std::int64_t limit) {
    const InferenceDriver::Mark mark = driver_.Here();
    std::vector<Known> state = initial_;
    for (std::int64_t i = 0; i < std::min(limit, kMaxUnrolled); ++i) {
      if (!driver_.CanFollow(kStepsToLeave)) return std::nullopt;
      const std::vector<Known> outputs = RunBody(state, i, 1);
      driver_.Rollback(mark);
      const std::optional<std::int64_t> next = ScalarOf(outputs[0]);
      if (!next) return std::nullopt;
      if (*next == 0) return i + 1;
      state = StatesOf(outputs);
    }
    if (limit <= kMaxUnrolled) return limit;
    return std::nullopt;
  }

  // Iterations that differ: each by itself, or as a series where they are too many.
  void FollowIterations(const std::vector<Known>& any, bool stable) {
    std::vector<Known> scans = ScansOf(any);
    const Iteration iteration = [&](const std::vector<Known>& state, std::int64_t trip) {
      const std::vector<Known> outputs = RunBody(state, trip, 1);
      scans = ScansOf(outputs);
      return StatesOf(outputs);
    };
    const auto nodes = static_cast<std::int64_t>(body_.nodes.size());
    if (trips_ <= kMaxUnrolled && driver_.CanFollow(Count(nodes) * trips_)) {
      return Finish(FollowEach(driver_, iteration, initial_, trips_), scans);
    }
    if (const auto last = SumInClosedForm(driver_, iteration, initial_, trips_)) {
      return Finish(*last, scans);
    }
    if (!stable) {
      throw Unresolved("its state changes shape in every one of " + std::to_string(trips_) +
                       " iterations");
    }
    // What is the same in all of them, then; the rest says that it is unknown.
    const std::vector<Known> outputs = RunBody(AnyState(), std::nullopt, trips_);
    Finish(StatesOf(outputs), ScansOf(outputs));
  }

  void Finish(const std::vector<Known>& state, const std::vector<Known>& scans) {
    for (std::size_t i = 0; i < states_; ++i) {
      Known last = trips_ == 0 ? initial_[i] : state[i];
      control_.SetOutput(i, at_most_ ? TypeOnly(last) : last);
    }
    for (std::size_t i = 0; i < scans_; ++i) {
      Known all = Stacked(scans[i], trips_, 0);
      all.upper_bound |= at_most_;
      control_.SetOutput(states_ + i, all);
    }
  }

  ControlNode& control_;
  InferenceDriver& driver_;
  const Graph& body_;
  std::size_t states_ = 0, scans_ = 0;
  std::unordered_map<TensorId, TensorId> identity_of_;  // what a tensor of the body is a copy of
  std::vector<Known> initial_;
  std::int64_t trips_ = 0;
  bool at_most_ = false;
};

}  // namespace

void RunLoop(ControlNode& control) { Loop(control).Run(); }

}  // namespace dlcost
