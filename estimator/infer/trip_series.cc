#include "estimator/infer/trip_series.h"

#include "estimator/infer/control_flow.h"

namespace dlcost {
namespace {

constexpr std::size_t kDegree = 4;

std::vector<std::int64_t> CostNumbers(const std::vector<CountedNode>& nodes) {
  std::vector<std::int64_t> numbers;
  for (const CountedNode& node : nodes) {
    numbers.push_back(node.repeat.value());
    numbers.push_back(node.cost.valid_macs.value());
    for (const Work::Entry& entry : node.cost.work.entries()) {
      for (const Count& count : entry.counts) numbers.push_back(count.value());
    }
    for (const Access& access : node.cost.accesses) numbers.push_back(access.bytes.value());
  }
  return numbers;
}

// The same nodes with other numbers, in the order of CostNumbers.
std::vector<CountedNode> WithNumbers(std::vector<CountedNode> nodes,
                                     const std::vector<Count>& numbers) {
  std::size_t next = 0;
  for (CountedNode& node : nodes) {
    node.repeat = numbers[next++];
    node.cost.valid_macs = Macs(numbers[next++]);
    Work work;
    for (const Work::Entry& entry : node.cost.work.entries()) {
      for (int c = 0; c < kOpClassCount; ++c) {
        work.Add(static_cast<OpClass>(c), entry.dtype, numbers[next++]);
      }
    }
    node.cost.work = work;
    for (Access& access : node.cost.accesses) access.bytes = Bytes(numbers[next++]);
  }
  return nodes;
}

std::vector<std::int64_t> Dims(const std::vector<TensorType>& types) {
  std::vector<std::int64_t> dims;
  for (const TensorType& type : types) {
    if (type.shape) dims.insert(dims.end(), type.shape->begin(), type.shape->end());
  }
  return dims;
}

// Everything but the numbers is the same.
bool SameStructure(const std::vector<CountedNode>& a, const std::vector<CountedNode>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].status != b[i].status) return false;
    const auto &x = a[i].cost.work.entries(), &y = b[i].cost.work.entries();
    if (x.size() != y.size() || a[i].cost.accesses.size() != b[i].cost.accesses.size()) {
      return false;
    }
    for (std::size_t e = 0; e < x.size(); ++e) {
      if (x[e].dtype != y[e].dtype) return false;
    }
  }
  return true;
}

bool SameRanks(const std::vector<TensorType>& a, const std::vector<TensorType>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape.has_value() != b[i].shape.has_value()) return false;
    if (a[i].shape && a[i].shape->rank() != b[i].shape->rank()) return false;
    TensorType x = a[i], y = b[i];
    x.shape = y.shape = Shape();
    if (!SameType(x, y)) return false;
  }
  return true;
}

// Newton's forward differences at the first sample, up to kDegree; nullopt when higher ones do not
// vanish.
std::optional<std::vector<Count>> Differences(std::vector<std::int64_t> samples) {
  std::vector<Count> leading;
  for (std::size_t order = 0; !samples.empty(); ++order) {
    if (order <= kDegree) {
      leading.push_back(samples.front());
    } else if (samples.front() != 0) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
      samples[i] = (Count(samples[i + 1]) - Count(samples[i])).value();
    }
    samples.pop_back();
  }
  return leading;
}

// sum over k of leading[k] * C(n, k + shift): the value at n for shift 0, the sum of the values at
// 0 to n - 1 for shift 1.
Count Newton(const std::vector<Count>& leading, std::int64_t n, std::size_t shift) {
  std::size_t degree = leading.size();
  while (degree > 0 && leading[degree - 1] == Count(0)) --degree;
  Count sum = 0;
  Count binomial = 1;  // C(n, k)
  for (std::size_t k = 0; k < degree + shift; ++k) {
    if (k >= shift) sum += leading[k - shift] * binomial;
    if (k + 1 == degree + shift) break;
    const auto step = static_cast<std::int64_t>(k);
    binomial = binomial * (Count(n) - step) / Count(step + 1);
  }
  return sum;
}

}  // namespace

void TripSeries::Add(const std::vector<CountedNode>& nodes, std::size_t from,
                     std::vector<TensorType> types) {
  Trip trip;
  trip.nodes.assign(nodes.begin() + static_cast<std::ptrdiff_t>(from), nodes.end());
  trip.types = std::move(types);
  trip.costs = CostNumbers(trip.nodes);
  trip.dims = Dims(trip.types);
  trips_.push_back(std::move(trip));
}

std::optional<TripSeries::Total> TripSeries::Sum(std::int64_t trips) const {
  if (trips_.size() < kTrips) return std::nullopt;
  const Trip& last = trips_.back();
  for (const Trip& trip : trips_) {
    if (!SameStructure(trip.nodes, last.nodes) || !SameRanks(trip.types, last.types)) {
      return std::nullopt;
    }
  }
  std::vector<Count> sums;
  for (std::size_t i = 0; i < last.costs.size(); ++i) {
    const auto leading = DifferencesOf(&Trip::costs, i);
    if (!leading) return std::nullopt;
    sums.push_back(Newton(*leading, trips, 1));
  }
  for (std::size_t i = 0; i < last.dims.size(); ++i) {
    if (!DifferencesOf(&Trip::dims, i)) return std::nullopt;
  }
  return Total{WithNumbers(last.nodes, sums), TypesAt(trips - 1)};
}

std::vector<TensorType> TripSeries::TypesAt(std::int64_t trip) const {
  std::vector<TensorType> types = trips_.back().types;
  std::size_t next = 0;
  for (TensorType& type : types) {
    if (!type.shape) continue;
    for (std::size_t axis = 0; axis < type.shape->rank(); ++axis) {
      (*type.shape)[axis] = Newton(*DifferencesOf(&Trip::dims, next++), trip, 0).value();
    }
    type.shape->Elements();  // throws when the element count overflows
  }
  return types;
}

std::optional<std::vector<Count>> TripSeries::DifferencesOf(
    std::vector<std::int64_t> Trip::*numbers, std::size_t i) const {
  std::vector<std::int64_t> samples;
  for (const Trip& trip : trips_) samples.push_back((trip.*numbers)[i]);
  return Differences(std::move(samples));
}

}  // namespace dlcost
