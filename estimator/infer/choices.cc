#include "estimator/infer/choices.h"

#include <utility>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/core/whole_number.h"
#include "estimator/infer/driver.h"

namespace dlcost {
namespace {

// "NODE=what" into both parts; names of nodes may hold anything, '=' too.
std::pair<std::string, std::string> SplitChoice(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

template <typename Value>
std::optional<Value> Find(const std::map<std::string, Value>& choices, const std::string& node) {
  const auto own = choices.find(node);
  if (own != choices.end()) return own->second;
  const auto all = choices.find("");
  return all == choices.end() ? std::nullopt : std::optional<Value>(all->second);
}

template <typename Value>
void Check(const std::map<std::string, Value>& choices, const std::set<std::string>& nodes,
           const char* option, const char* what) {
  for (const auto& [name, unused] : choices) {
    if (name.empty() || nodes.count(name) != 0) continue;
    throw Error("{} names '{}', but there is no such {}{}", option, Printable(name), what,
                DidYouMean(name, {nodes.begin(), nodes.end()}));
  }
}

}  // namespace

void AddTrips(ControlChoices& choices, const std::string& text) {
  const auto [node, number] = SplitChoice(text);
  const std::optional<std::int64_t> trips = WholeNumber(number);
  if (!trips || *trips < 0) throw Error("--trips '{}' is not N or NODE=N", Printable(text));
  choices.trips[node] = *trips;
}

void AddBranch(ControlChoices& choices, const std::string& text) {
  const auto [node, which] = SplitChoice(text);
  if (which != "then" && which != "else") {
    throw Error("--branch '{}' is not then, else or NODE=then", Printable(text));
  }
  choices.branches[node] = which == "then";
}

std::string SuggestTrips(const std::string& node, std::int64_t trips) {
  // A name that does not print as it is cannot be pasted; without one, the choice is for all.
  if (node.empty() || Printable(node) != node) return "--trips " + std::to_string(trips);
  std::string quoted;
  for (const char c : node) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "--trips '" + quoted + "=" + std::to_string(trips) + "'";
}

std::optional<std::int64_t> InferenceDriver::Trips(const std::string& node) {
  loops_.insert(node);
  const auto chosen = Find(options_.control.trips, node);
  if (chosen) Note({"--trips", node, std::to_string(*chosen)});
  return chosen;
}

std::optional<bool> InferenceDriver::Branch(const std::string& node) {
  branches_.insert(node);
  const auto chosen = Find(options_.control.branches, node);
  if (chosen) Note({"--branch", node, *chosen ? "then" : "else"});
  return chosen;
}

std::vector<std::string> InferenceDriver::UnusedChoices() const {
  std::vector<std::string> notes;
  if (loops_.empty() && options_.control.trips.contains("")) {
    notes.push_back(
        "--trips changes nothing: no loop of this model has an open number of iterations");
  }
  if (branches_.empty() && options_.control.branches.contains("")) {
    notes.push_back("--branch changes nothing: no If of this model has an open condition");
  }
  return notes;
}

void InferenceDriver::CheckChoices() const {
  Check(options_.control.trips, loops_, "--trips", "loop with an open number of iterations");
  Check(options_.control.branches, branches_, "--branch", "If with an open condition");
  run_values_.CheckUsed(*result_.model);
}

}  // namespace dlcost
