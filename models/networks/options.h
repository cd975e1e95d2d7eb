#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/core/dtype.h"
#include "models/networks/networks.h"

namespace dlcost::networks {

// The options of one network with the user's values over the defaults.
class Options {
 public:
  // Throws Error when `given` names an option that `info` does not have.
  Options(const NetworkInfo& info, const NetworkOptions& given);

  // An integer in [1, 2^20], large enough for any network and small enough for every product.
  std::int64_t Size(const std::string& name) const;
  // One of `choices`.
  std::string Choice(const std::string& name, const std::vector<std::string>& choices) const;
  // The option "dtype": f32, f16 or bf16.
  DType Type() const;
  // `standard`, or the first operator set whose convolutions, pools and LSTM take bf16.
  int Opset(int standard) const;

 private:
  const std::string& Text(const std::string& name) const { return values_.at(name); }

  std::string network_;
  NetworkOptions values_;
};

}  // namespace dlcost::networks
