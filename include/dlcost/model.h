#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlcost::api {

// Sizes, and whatever else the file leaves open. Each member is an option of the command line
// (docs/dimensions.md) and is written as there.
struct Bindings {
  std::optional<std::int64_t> batch;
  // The largest batch with which the device's memory suffices, instead; of Count and Explain alone.
  bool largest_batch = false;
  std::map<std::string, std::int64_t> dims;                 // "sequence", or "x[3]": an axis
  std::map<std::string, std::vector<std::int64_t>> shapes;  // of inputs, by name
  std::map<std::string, std::vector<std::int64_t>> values;  // integers that inputs hold
  std::vector<std::string> at;        // what only the run knows: "/NonZero=2x57", "/Range=25%"
  std::vector<std::string> trips;     // iterations of loops: "8", "loop=8"
  std::vector<std::string> branches;  // of conditions: "then", "node=else"
  std::vector<std::string> custom_operators;  // YAML files (docs/custom-operators.md)
  bool assume_typical = false;                // estimate what only the run knows, and say so
};

// The structure of an ONNX model: its weights are never read. Copies share it, nothing changes it,
// and any number of threads may count it at the same time.
class Model {
 public:
  // Throws Error for a file that is missing, unreadable or no ONNX model.
  static Model Read(const std::string& path);
  // The same from memory; `name` stands for the file in reports and messages.
  static Model FromBytes(std::string_view bytes, const std::string& name);

  const std::string& path() const;
  const std::string& producer() const;
  std::map<std::string, int> opset() const;    // version by domain; "" is ONNX's own
  std::vector<std::string> open_dims() const;  // what Bindings::dims may or must name
  std::size_t nodes() const;                   // of the main graph

  struct State;
  const State& state() const { return *state_; }  // for the implementation

 private:
  explicit Model(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace dlcost::api
