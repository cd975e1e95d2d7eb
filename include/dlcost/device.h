#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlcost::api {

// A device of the database (docs/hardware.md). What no document tells is absent, never zero.
class Device {
 public:
  std::string id;    // "a100-sxm4-80gb"
  std::string name;  // "NVIDIA A100 SXM4 80 GB"
  std::vector<std::string> aliases;
  std::string vendor, architecture;
  std::string kind;  // "gpu", "cpu", "tpu" or "npu"
  std::optional<int> year;
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> memory_bytes_per_s;
  std::optional<double> power_w;

  // Everything that is known, with its sources: schema dlcost.device/1 (docs/schema).
  std::string Json() const;

  struct State;
  const State& state() const { return *state_; }  // for the implementation
  explicit Device(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// An id, an alias (case ignored), or the path of a YAML file. `changes` are what-if values as
// "memory.bandwidth=8TB/s". Throws Error for an unknown name, with the nearest one.
Device FindDevice(const std::string& name, const std::vector<std::string>& changes = {});

// All devices, ordered by id.
std::vector<Device> Devices();

}  // namespace dlcost::api
