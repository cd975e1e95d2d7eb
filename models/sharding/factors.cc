#include "models/sharding/factors.h"

#include <algorithm>
#include <utility>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

// A model of a hundred thousand nodes takes less; one of axes that are joined with themselves over
// and over never ends.
constexpr std::int64_t kMostSteps = 40'000'000;

}  // namespace

void Factors::CountStep() const {
  if (++steps_ > kMostSteps) throw Error("axes are joined in too many ways to split any of them");
}

Axis Factors::New(std::int64_t size) {
  if (size == 1) return {};
  factors_.push_back({.size = size});
  return {static_cast<FactorId>(factors_.size() - 1)};
}

FactorId Factors::Find(FactorId id) const {
  const auto same = [&](FactorId of) -> FactorId& {
    return factors_[static_cast<std::size_t>(of)].same_as;
  };
  FactorId root = id;
  while (same(root) >= 0) root = same(root);
  // Whoever was passed points there from now on.
  while (id != root) id = std::exchange(same(id), root);
  return root;
}

// `use` is given the factors that nothing divides further, and sums, from major to minor.
template <typename Use>
void Factors::ForEachTerm(const Axis& axis, const Use& use) const {
  for (const FactorId id : axis) {
    CountStep();
    const FactorId root = Find(id);
    const Factor& factor = factors_[static_cast<std::size_t>(root)];
    if (factor.product.empty()) {
      use(root, factor);
    } else {
      ForEachTerm(factor.product, use);
    }
  }
}

Axis Factors::Terms(const Axis& axis) const {
  Axis terms;
  ForEachTerm(axis, [&](FactorId id, const Factor&) { terms.push_back(id); });
  return terms;
}

void Factors::AddLeaves(const Axis& axis, std::vector<FactorId>& leaves) const {
  ForEachTerm(axis, [&](FactorId id, const Factor& factor) {
    for (const Axis& part : factor.sum) AddLeaves(part, leaves);
    const bool leaf = factor.sum.empty();
    if (leaf && std::find(leaves.begin(), leaves.end(), id) == leaves.end()) leaves.push_back(id);
  });
}

std::vector<FactorId> Factors::Leaves(const Axis& axis) const {
  std::vector<FactorId> leaves;
  AddLeaves(axis, leaves);
  return leaves;
}

std::int64_t Factors::SizeOf(const Axis& axis) const {
  std::int64_t size = 1;
  for (const FactorId id : axis) size *= at(id).size;
  return size;
}

void Factors::Block(const Axis& axis) {
  for (const FactorId leaf : Leaves(axis)) at(leaf).blocked = true;
}

// A sum divides where each of its parts does, by the same rest.
bool Factors::DivideFactor(FactorId id, std::int64_t major) {
  const FactorId found = Find(id);
  const std::int64_t size = at(found).size;
  if (major < 1 || size % major != 0) return false;
  const std::int64_t rest = size / major;
  const std::vector<Axis> parts = at(found).sum;
  if (parts.empty()) {
    const Axis first = New(major), second = New(rest);
    const bool blocked = at(found).blocked;
    at(found).product = {first[0], second[0]};
    at(first[0]).blocked = at(second[0]).blocked = blocked;
    return true;
  }
  for (const Axis& part : parts) {
    if (SizeOf(part) % rest != 0) return false;
  }
  std::vector<Axis> majors;
  const Axis minor = New(rest);
  for (const Axis& part : parts) {
    const auto [first, second] = Divide(part, SizeOf(part) / rest);
    majors.push_back(first);
    Tie(second, minor);
  }
  const Axis sum = New(major);
  Concatenate(sum, majors);
  at(found).sum.clear();
  at(found).product = {sum[0], minor[0]};
  return true;
}

std::pair<Axis, Axis> Factors::Divide(const Axis& axis, std::int64_t major) {
  Axis terms = Terms(axis), first;
  std::int64_t left = major;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::int64_t size = at(terms[i]).size;
    if (left == 1)
      return {first, Axis(terms.begin() + static_cast<std::ptrdiff_t>(i), terms.end())};
    if (left % size == 0) {
      first.push_back(terms[i]);
      left /= size;
      continue;
    }
    if (size % left != 0 || !DivideFactor(terms[i], left)) break;
    const Axis both = at(terms[i]).product;
    first.push_back(both[0]);
    Axis rest = {both[1]};
    rest.insert(rest.end(), terms.begin() + static_cast<std::ptrdiff_t>(i) + 1, terms.end());
    return {first, rest};
  }
  if (left == 1) return {first, {}};
  Block(axis);
  const std::int64_t size = SizeOf(axis);
  Axis own = New(major), rest = New(major > 0 ? std::max<std::int64_t>(1, size / major) : 1);
  Block(own);
  Block(rest);
  return {own, rest};
}

void Factors::Unite(FactorId a, FactorId b) {
  a = Find(a);
  b = Find(b);
  if (a == b) return;
  const bool blocked = at(a).blocked || at(b).blocked;
  if (!at(a).sum.empty()) std::swap(a, b);
  if (!at(a).sum.empty()) {  // both are sums
    const std::vector<Axis> one = at(a).sum, other = at(b).sum;
    const bool alike =
        std::equal(one.begin(), one.end(), other.begin(), other.end(),
                   [&](const Axis& x, const Axis& y) { return SizeOf(x) == SizeOf(y); });
    if (!alike) {
      Block({a});
      Block({b});
      return;
    }
    for (std::size_t i = 0; i < one.size(); ++i) Tie(one[i], other[i]);
    return;
  }
  factors_[static_cast<std::size_t>(a)].same_as = b;
  if (blocked) Block({b});
}

void Factors::Tie(const Axis& a, const Axis& b) {
  Axis left = Terms(a), right = Terms(b);
  std::size_t i = 0, j = 0;
  while (i < left.size() && j < right.size()) {
    // What was tied before may have been divided since.
    const Axis first = Terms({left[i]}), second = Terms({right[j]});
    if (first.size() > 1 || second.size() > 1) {
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      left.insert(left.begin() + static_cast<std::ptrdiff_t>(i), first.begin(), first.end());
      right.erase(right.begin() + static_cast<std::ptrdiff_t>(j));
      right.insert(right.begin() + static_cast<std::ptrdiff_t>(j), second.begin(), second.end());
      continue;
    }
    left[i] = first[0];
    right[j] = second[0];
    const std::int64_t one = at(left[i]).size, other = at(right[j]).size;
    if (one == other) {
      Unite(left[i++], right[j++]);
    } else if (!(one > other ? one % other == 0 && DivideFactor(left[i], other)
                             : other % one == 0 && DivideFactor(right[j], one))) {
      break;
    }
  }
  for (; i < left.size(); ++i) Block({left[i]});
  for (; j < right.size(); ++j) Block({right[j]});
}

void Factors::Concatenate(const Axis& axis, const std::vector<Axis>& parts) {
  const Axis terms = Terms(axis);
  const bool empty =
      std::any_of(parts.begin(), parts.end(), [&](const Axis& part) { return SizeOf(part) == 0; });
  if (terms.size() != 1 || parts.size() < 2 || empty) {
    if (parts.size() == 1) return Tie(axis, parts[0]);
    Block(axis);
    for (const Axis& part : parts) Block(part);
    return;
  }
  if (!at(terms[0]).sum.empty()) {
    const Axis other = {static_cast<FactorId>(factors_.size())};
    factors_.push_back({.size = at(terms[0]).size, .sum = parts});
    return Unite(other[0], terms[0]);
  }
  if (at(terms[0]).blocked) {
    for (const Axis& part : parts) Block(part);
  }
  at(terms[0]).sum = parts;
}

Factors::Part Factors::PartOf(const Axis& axis, const std::set<FactorId>& split,
                              std::int64_t ways) const {
  Part all;
  ForEachTerm(axis, [&](FactorId id, const Factor& factor) {
    if (factor.sum.empty()) {
      const bool divided = split.count(id) > 0;
      all.splits += divided ? 1 : 0;
      all.even = all.even && (!divided || factor.size % ways == 0);
      all.size *= divided ? factor.size / ways : factor.size;
      return;
    }
    std::int64_t size = 0;
    int least = 2, most = 0;
    for (const Axis& each : factor.sum) {
      const Part part = PartOf(each, split, ways);
      size += part.size;
      least = std::min(least, part.splits);
      most = std::max(most, part.splits);
      all.whole = all.whole && part.whole;
      all.even = all.even && part.even;
    }
    all.whole = all.whole && least == most;
    all.splits += most;
    all.size *= size;
  });
  return all;
}

}  // namespace dlcost
