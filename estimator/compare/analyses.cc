#include "estimator/compare/analyses.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "estimator/compare/compare.h"
#include "estimator/compare/tally.h"

namespace dlcost {
namespace {

std::optional<double> SumRatio(const PartSum& above, const PartSum& below) {
  if (!above.value || !below.value || !above.whole || !below.whole || *below.value <= 0)
    return std::nullopt;
  return *above.value / *below.value;
}

std::optional<double> TimeValue(const std::optional<Seconds>& time) {
  return time ? std::optional(time->value()) : std::nullopt;
}

// Slices by key, in the order in which keys first came.
class Slices {
 public:
  SliceRow& At(const std::string& key, const std::string& family, std::size_t row) {
    const auto [at, added] = known_.emplace(key, slices_.size());
    if (added) {
      slices_.push_back({.key = key, .family = family});
      means_.emplace_back();
    }
    SliceRow& slice = slices_[at->second];
    slice.operators += rows_.emplace(at->second, row).second ? 1 : 0;
    last_ = at->second;
    return slice;
  }
  // Of the slice that was asked for last.
  void AddOccupancy(const WeightedMean& occupancy) { means_[last_].Add(occupancy); }

  std::vector<SliceRow> Rows(bool sort) && {
    double all = 0;
    bool timed = false;
    for (std::size_t s = 0; s < slices_.size(); ++s) {
      slices_[s].occupancy = means_[s].Value();
      all += slices_[s].time.value.value_or(0);
      timed |= slices_[s].time.value.has_value();
    }
    for (SliceRow& slice : slices_) {
      if (timed && all > 0 && slice.time.value) slice.share = *slice.time.value / all;
    }
    const auto weight = [](const SliceRow& slice) {
      return std::tuple(slice.time.value.value_or(0), slice.flops.value.value_or(0),
                        slice.launches);
    };
    if (sort) {
      std::stable_sort(slices_.begin(), slices_.end(),
                       [&](const SliceRow& a, const SliceRow& b) { return weight(a) > weight(b); });
    }
    return std::move(slices_);
  }

 private:
  std::map<std::string, std::size_t> known_;
  std::set<std::pair<std::size_t, std::size_t>> rows_;  // slice and row
  std::vector<SliceRow> slices_;
  std::vector<WeightedMean> means_;  // of their occupancies
  std::size_t last_ = 0;
};

// Whole rows.
void AddRow(Slices& slices, const std::string& key, const std::string& family,
            const CompareRow& row, std::size_t index) {
  const Measured& measured = row.measured;
  SliceRow& slice = slices.At(key, family, index);
  slice.launches += measured.launches;
  slice.flops.Add(row.measured_flops);
  // The matrix pipe worked, and no counter tells how much.
  if (measured.tensor && !measured.tensor_flops) slice.flops.whole = false;
  slice.bytes.Add(measured.dram_bytes);
  slice.time.Add(TimeValue(measured.time));
  Sum(slice.layer_time, TimeValue(row.layer_time));
  Sum(slice.library_time, TimeValue(row.library_time));
  Sum(slice.memory, row.memory_bytes);
  Sum(slice.allocated, measured.allocated);
  slices.AddOccupancy(measured.occupancy);
}

template <typename KeyOf>
std::vector<SliceRow> SliceParts(const std::vector<CompareRow>& rows, const KeyOf& key_of) {
  Slices slices;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (const MeasuredPart& part : rows[r].measured.parts) {
      SliceRow& slice = slices.At(key_of(part), std::string(Name(part.told.family)), r);
      slice.launches += part.launches;
      slice.flops.Add(part.flops());
      if (part.told.tensor && !part.tensor_flops) slice.flops.whole = false;
      slice.bytes.Add(part.dram_bytes);
      slice.time.Add(TimeValue(part.time));
      slices.AddOccupancy(part.occupancy);
    }
  }
  return std::move(slices).Rows(true);
}

}  // namespace

void PartSum::Add(const std::optional<double>& part) {
  if (part) {
    value = value.value_or(0) + *part;
  } else {
    whole = false;
  }
}

std::optional<double> SliceRow::flop_rate() const { return SumRatio(flops, time); }
std::optional<double> SliceRow::byte_rate() const { return SumRatio(bytes, time); }
std::optional<double> SliceRow::intensity() const { return SumRatio(flops, bytes); }

Analyses AnalysesOf(const std::vector<CompareRow>& rows) {
  Slices layers, ops;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    // Layers of one name are layers of their own.
    AddRow(layers, rows[r].node + '\n' + std::to_string(r), rows[r].op, rows[r], r);
    AddRow(ops, rows[r].op, "", rows[r], r);
  }
  Analyses analyses;
  analyses.by_layer = std::move(layers).Rows(false);
  for (std::size_t r = 0; r < rows.size(); ++r) analyses.by_layer[r].key = rows[r].node;
  analyses.by_op = std::move(ops).Rows(true);
  analyses.by_kernel = SliceParts(rows, [](const MeasuredPart& part) { return part.name; });
  analyses.by_algorithm = SliceParts(rows, [](const MeasuredPart& part) {
    const std::string_view algorithm = Name(part.told.algorithm);
    return std::string(algorithm.empty() ? Name(part.told.family) : algorithm);
  });
  return analyses;
}

std::vector<SliceView> ViewsOf(const Analyses& analyses) {
  return {{"layer", "by_layer", "By layer", &analyses.by_layer},
          {"op", "by_op", "By type of operator", &analyses.by_op},
          {"kernel", "by_kernel", "By kernel", &analyses.by_kernel},
          {"algorithm", "by_algorithm", "By algorithm", &analyses.by_algorithm}};
}

}  // namespace dlcost
