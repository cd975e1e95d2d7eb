#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace dlcost {

// What the user says about control flow that the file leaves open, by node; "" means all nodes.
struct ControlChoices {
  std::map<std::string, std::int64_t> trips;  // --trips NODE=N: iterations of Loop, SequenceMap
  std::map<std::string, bool> branches;       // --branch NODE=then: true, NODE=else: false
};

// Reads "N" or "NODE=N"; "then", "else" or "NODE=then". Throws Error for anything else.
void AddTrips(ControlChoices& choices, const std::string& text);
void AddBranch(ControlChoices& choices, const std::string& text);

// --trips 'NODE=N', as a shell takes it.
std::string SuggestTrips(const std::string& node, std::int64_t trips = 16);

}  // namespace dlcost
