#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlcost::api {

// Many devices and what joins them (docs/systems.md).
class System {
 public:
  std::string id;    // "dgx-h100"
  std::string name;  // "NVIDIA DGX H100"
  std::vector<std::string> aliases;
  std::string vendor;
  std::optional<int> year;
  std::string device_id;
  int node_devices = 0;  // of a node
  int most_devices = 0;  // that its links join

  // Everything that is known, with its sources: schema dlcost.system/1 (docs/schema).
  std::string Json() const;
  std::string Text() const;

  struct State;
  const State& state() const { return *state_; }  // for the implementation
  explicit System(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// An id, an alias (case ignored), or the path of a YAML file. Throws Error for an unknown name,
// with the nearest one.
System FindSystem(const std::string& name);

// All systems, ordered by id.
std::vector<System> Systems();

}  // namespace dlcost::api
