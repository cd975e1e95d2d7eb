#include "models/operators/work.h"

#include <algorithm>
#include <string>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"

namespace dlcost {
namespace {

constexpr std::array<std::string_view, kOpClassCount> kNames = {
    "mac", "add", "mul", "div", "sqrt", "exp", "log", "trig", "compare", "convert", "integer"};

std::size_t Index(OpClass op_class) { return static_cast<std::size_t>(op_class); }

// The real type that a complex one is made of.
DType RealPart(DType dtype) {
  return dtype == DType::kComplex128 ? DType::kFloat64 : DType::kFloat32;
}

}  // namespace

std::string_view Name(OpClass op_class) { return kNames[Index(op_class)]; }

std::span<Work::Entry> Work::OwnAll(std::size_t more) {
  if (more > 0 || entries_.use_count() > 1) {
    std::shared_ptr<Entry[]> own = std::make_shared<Entry[]>(size_ + more);
    std::copy_n(entries_.get(), size_, own.get());
    entries_ = std::move(own);
  }
  return {entries_.get(), size_ + more};
}

Work::Entry& Work::Own(DType dtype) {
  for (std::size_t i = 0; i < size_; ++i) {
    if (entries_[static_cast<std::ptrdiff_t>(i)].dtype == dtype) return OwnAll(0)[i];
  }
  Entry& added = OwnAll(1).back();
  added.dtype = dtype;
  ++size_;
  return added;
}

void Work::Add(OpClass op_class, DType dtype, Count count) {
  if (count == Count(0)) return;
  if (IsComplex(dtype)) {
    const DType real = RealPart(dtype);
    switch (op_class) {
      case OpClass::kMac:
        return Add(OpClass::kMac, real, count * 4);
      case OpClass::kAdd:
        return Add(OpClass::kAdd, real, count * 2);
      case OpClass::kMul:
        Add(OpClass::kMul, real, count * 4);
        return Add(OpClass::kAdd, real, count * 2);
      default:
        dtype = real;
    }
  }
  const bool typed =
      op_class == OpClass::kMac || op_class == OpClass::kCompare || op_class == OpClass::kConvert;
  if (!typed && !IsFloat(dtype)) op_class = OpClass::kInteger;
  Own(dtype).counts[Index(op_class)] += count;
}

void Work::Add(const Work& other) {
  if (empty()) {
    *this = other;
    return;
  }
  for (const Entry& entry : other.entries()) {
    Entry& own = Own(entry.dtype);
    for (std::size_t c = 0; c < kOpClassCount; ++c) own.counts[c] += entry.counts[c];
  }
}

void Work::Scale(Count factor) {
  if (factor == Count(0)) *this = Work();
  if (empty() || factor == Count(1)) return;
  for (Entry& entry : OwnAll(0)) {
    for (Count& count : entry.counts) count *= factor;
  }
}

Work Work::WithoutMacs() const {
  Work rest;
  for (const Entry& entry : entries()) {
    for (int c = 0; c < kOpClassCount; ++c) {
      const auto op_class = static_cast<OpClass>(c);
      if (op_class == OpClass::kMac) continue;
      rest.Add(op_class, entry.dtype, entry.counts[static_cast<std::size_t>(c)]);
    }
  }
  return rest;
}

Count Work::Of(OpClass op_class) const {
  Count sum;
  for (const Entry& entry : entries()) sum += entry.counts[Index(op_class)];
  return sum;
}

Count Work::Of(OpClass op_class, DType dtype) const {
  for (const Entry& entry : entries()) {
    if (entry.dtype == dtype) return entry.counts[Index(op_class)];
  }
  return 0;
}

bool operator==(const Work& a, const Work& b) {
  return a.entries_ == b.entries_ || std::ranges::equal(a.entries(), b.entries());
}

std::size_t Work::Hash() const {
  std::size_t hash = 0;
  // 2^64 divided by the golden ratio spreads what differs in low digits.
  const auto mix = [&](std::int64_t value) {
    hash = (hash ^ static_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  };
  for (const Entry& entry : entries()) {
    mix(static_cast<std::int64_t>(entry.dtype));
    for (const Count count : entry.counts) mix(count.value());
  }
  return hash;
}

void RecentWork::Share(Work& work) {
  if (work.empty()) return;
  Work& recent = recent_[work.Hash() % recent_.size()];
  if (recent == work) {
    work = recent;
  } else {
    recent = work;
  }
}

const std::vector<Convention>& Conventions() {
  //                 mac add mul div sqrt exp log trig compare convert integer
  static const std::vector<Convention> conventions = {
      {"dlcost",
       "a MAC is 2, other arithmetic and comparisons 1, exp, log and trig counted apart",
       {2, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0}},
      {"mac", "multiply-accumulates alone, 1 each", {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"torch",
       "torch.utils.flop_counter: matrix products and convolutions, a MAC is 2",
       {2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
  };
  return conventions;
}

const Convention& FindConvention(std::string_view name) {
  std::vector<std::string> names;
  for (const Convention& convention : Conventions()) {
    if (convention.name == name) return convention;
    names.emplace_back(convention.name);
  }
  throw Error("no counting convention '{}'{}; there are: {}", name, DidYouMean(name, names),
              fmt::join(names, ", "));
}

Flops CountFlops(const Work& work, const Convention& convention) {
  Count sum;
  for (const Work::Entry& entry : work.entries()) {
    for (std::size_t c = 0; c < kOpClassCount; ++c) {
      if (convention.weights[c] != 0) sum += entry.counts[c] * Count(convention.weights[c]);
    }
  }
  return Flops(sum);
}

}  // namespace dlcost
