#include "estimator/sweep/sampler.h"

#include "estimator/core/error.h"

namespace dlcost {

const Sampler::Sample& Sampler::At(const Point& point) {
  const auto [at, fresh] = samples_.try_emplace(point);
  if (!fresh) return at->second;
  ++counted_;
  try {
    at->second.tally = count_(point);
  } catch (const Error& error) {
    at->second.error = error.what();
  }
  return at->second;
}

const CountTally& Sampler::Require(const Point& point) {
  const Sample& sample = At(point);
  if (!sample.error.empty()) throw Error("{}", sample.error);
  return sample.tally;
}

const CountTally* Sampler::Like(const Point& point, std::size_t structure) {
  const Sample& sample = At(point);
  return sample.error.empty() && sample.tally.structure == structure ? &sample.tally : nullptr;
}

std::string Sampler::WhyNot(const Point& point) { return At(point).error; }

void Sampler::Trim(const Point& but) {
  for (auto at = samples_.begin(); at != samples_.end();) {
    at = at->first == but ? std::next(at) : samples_.erase(at);
  }
}

}  // namespace dlcost
