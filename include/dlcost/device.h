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
  std::string Text() const;

  struct State;
  const State& state() const { return *state_; }  // for the implementation
  explicit Device(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// An id, an alias (case ignored), or the path of a YAML file. `changes` are what-if values as
// "memory.bandwidth=8TB/s". Throws Error for an unknown name, with the nearest one.
Device FindDevice(const std::string& name, const std::vector<std::string>& changes = {});

// Several of the database: "a100,h100" or "all". A change may name several values, as
// "memory.bandwidth=1TB/s,2TB/s" or "1TB/s:8TB/s:x2": every device comes once for each, and its id
// tells the value.
std::vector<Device> FindDevices(const std::string& names,
                                const std::vector<std::string>& changes = {});

// Which devices of the database, and in which order.
struct DeviceQuery {
  std::string vendor;       // case ignored; "": all
  std::string kind;         // gpu, cpu, tpu or npu; "": all
  std::string year;         // of the launch: "2022", "2020-2023", "2020-" or "-2018"; "": all
  std::string sort = "id";  // or year, memory, bandwidth, fp64, fp32, fp16, bf16, fp8, int8, power:
                            // these from high to low
};

// Throws Error for a vendor, kind or order that there is not.
std::vector<Device> Devices(const DeviceQuery& query = {});

}  // namespace dlcost::api
