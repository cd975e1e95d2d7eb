#pragma once

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/report/fields/vocabulary.h"
#include "estimator/report/report.h"

// Fields that rows of several kinds have: sums, operands, how certain they are.

namespace dlcost {

void Fields(auto& v, fields::IsA<Operand> auto& operand) {
  v.Field("name", operand.name);
  v.Field("dtype", operand.dtype);
  v.Field("shape", operand.shape);
  v.If(operand.weight, "weight", operand.weight);
}

namespace fields {

void Counts(auto& v, auto& sums) {
  v.Field("macs", sums.macs);
  v.Field("flops", sums.flops);
}

void Traffic(auto& v, auto& sums) {
  v.Field("bytes_read", sums.bytes_read);
  v.Field("bytes_written", sums.bytes_written);
}

// Of kernels. Earlier releases told the sum alone.
void BothWays(auto& v, auto& sums) {
  v.Later("bytes_read", sums.bytes_read);
  v.Later("bytes_written", sums.bytes_written);
  Bytes bytes = sums.bytes();
  v.Field("bytes", bytes);
  Keep(sums.bytes_read, bytes - sums.bytes_written);
}

void Times(auto& v, auto& sums) {
  v.If(v.timed(), "compute_s", sums.compute);
  v.If(v.timed(), "memory_s", sums.memory);
  v.If(v.timed(), "bound_s", sums.bound);
  v.If(v.timed(), "expected_s", sums.expected);
}

void DoubtWord(auto& v, const Doubt& doubt) {
  v.If(!doubt.Exact(), "certainty", Told{[&] { return Word(doubt); }});
}

// Operations by class.
struct ByClass {
  static constexpr std::string_view kSample = "mac";  // one of its names
  std::array<Count, kOpClassCount> counts = {};

  void Each(auto take) const {
    for (std::size_t c = 0; c < kOpClassCount; ++c) {
      if (counts[c] != Count(0)) take(Name(static_cast<OpClass>(c)), counts[c]);
    }
  }
  void Append(std::string_view name, auto fill) {
    for (std::size_t c = 0; c < kOpClassCount; ++c) {
      if (Name(static_cast<OpClass>(c)) == name) return fill(counts[c]);
    }
    throw Error("no class of operations '{}'", Printable(std::string(name)));
  }
};

// The same by the data type that they are done in.
template <typename Of>
struct ByType {
  explicit ByType(Of& of) : work(of) {}
  static constexpr std::string_view kSample = "fp32";
  Of& work;

  void Each(auto take) const {
    for (const Work::Entry& entry : work.entries()) {
      ByClass classes{entry.counts};
      take(Name(entry.dtype), Map(classes));
    }
  }
  void Append(std::string_view name, auto fill) {
    const std::optional<DType> dtype = ParseDType(name);
    if (!dtype) throw Error("no data type '{}'", Printable(std::string(name)));
    ByClass classes;
    Map map(classes);
    fill(map);
    for (std::size_t c = 0; c < kOpClassCount; ++c) {
      work.Add(static_cast<OpClass>(c), *dtype, classes.counts[c]);
    }
  }
};

void WorkOf(auto& v, auto& sums) {
  ByClass classes;
  for (const Work::Entry& entry : sums.work.entries()) {
    for (std::size_t c = 0; c < kOpClassCount; ++c) classes.counts[c] += entry.counts[c];
  }
  v.Field("work", Told{Map(classes)});
  ByType types(sums.work);
  v.Later("work_by_type", Map(types));
}

// An attribute that a file has twice is told once, as it was last.
template <typename Pairs>
struct Attributes {
  static constexpr std::string_view kSample = "axis";
  Pairs& pairs;

  explicit Attributes(Pairs& of) : pairs(of) {}
  void Each(auto take) const {
    const auto same = [](const std::string& name) {
      return [&name](const auto& pair) { return pair.first == name; };
    };
    for (auto at = pairs.begin(); at != pairs.end(); ++at) {
      if (std::find_if(pairs.begin(), at, same(at->first)) != at) continue;
      take(at->first, std::find_if(pairs.rbegin(), pairs.rend(), same(at->first))->second);
    }
  }
  void Append(std::string_view name, auto fill) {
    pairs.emplace_back(std::string(name), "");
    fill(pairs.back().second);
  }
};

void Coverage(auto& v, auto& coverage) {
  for (const NodeStatus status : {NodeStatus::kCounted, NodeStatus::kView, NodeStatus::kMetadata,
                                  NodeStatus::kBounded, NodeStatus::kUnknown}) {
    const auto found = coverage.find(status);
    std::int64_t nodes = found == coverage.end() ? 0 : found->second;
    v.Field(Name(status), nodes);
    if constexpr (!std::is_const_v<std::remove_reference_t<decltype(coverage)>>) {
      if (nodes != 0) coverage[status] = nodes;
    }
  }
}

}  // namespace fields
}  // namespace dlcost
