#include "estimator/compare/join.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "estimator/compare/join_folded.h"
#include "estimator/compare/join_ordered.h"
#include "estimator/compare/node_names.h"
#include "estimator/compare/op_family.h"
#include "estimator/compare/runs.h"
#include "estimator/compare/slots.h"
#include "estimator/compare/tally.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

constexpr double kNameShare = 0.5;  // of the rows must carry a node's name to join by name

class Joiner {
 public:
  Joiner(const Report& report, const Measurement& measurement, const std::optional<Device>& device,
         std::optional<std::int64_t> runs)
      : report_(report),
        measurement_(measurement),
        device_(device),
        wanted_(runs),
        slots_(SlotsOf(report)),
        names_(report),
        tally_(report) {
    joined_.kernels.resize(report.kernels.size());
  }

  Joined Run() {
    SelectRows();
    CountNames();
    std::size_t named = 0, folded = 0;
    for (const MeasuredKernel& kernel : rows_) {
      named += names_.Of(kernel).has_value();
      folded += kernel.launches > 1 && !kernel.start;
    }
    // VTune's functions stand in the order of their time, and how often they ran is not told.
    const bool sums = measurement_.format == "vtune";
    if (!rows_.empty() &&
        static_cast<double>(named) >= kNameShare * static_cast<double>(rows_.size())) {
      JoinByName();
    } else if (folded > 0 || sums) {
      JoinSums(sums);
    } else {
      JoinOrdered(report_, slots_, names_, rows_, device_, wanted_, tally_, joined_);
    }
    if (tally_.foreign_types()) {
      joined_.notes.push_back(
          "FLOPs of types that the model does not compute in are left out: such "
          "instructions move constants and compute sizes");
    }
    return std::move(joined_);
  }

 private:
  // Kernels where there are any, else the framework's operators; never both, nor API calls.
  void SelectRows() {
    const auto& all = measurement_.kernels;
    const bool on_device = std::any_of(all.begin(), all.end(), [](const MeasuredKernel& k) {
      return k.kind == MeasuredKind::kKernel;
    });
    std::int64_t copies = 0, calls = 0;
    for (const MeasuredKernel& kernel : all) {
      if (kernel.kind == MeasuredKind::kCopy) {
        ++copies;
      } else if (kernel.kind == MeasuredKind::kApi ||
                 (on_device && kernel.kind == MeasuredKind::kOp)) {
        ++calls;
      } else {
        rows_.push_back(kernel);
      }
    }
    joined_.notes = measurement_.notes;
    if (!measurement_.unknown_counters.empty()) {
      joined_.notes.push_back("not read: " + UnknownCountersText(measurement_.unknown_counters));
    }
    if (copies > 0)
      joined_.notes.push_back(fmt::format("{} copies and fills of memory left out", copies));
    if (calls > 0)
      joined_.notes.push_back(fmt::format("{} host calls left out: only kernels count", calls));
  }

  // Names that rows carry, against the model's. Calls of PyTorch are no names of nodes.
  void CountNames() {
    std::map<std::string, bool> seen;
    std::set<std::string> ops;
    for (const NodeRow& node : report_.nodes) ops.insert(node.op);
    for (const MeasuredKernel& kernel : rows_) {
      if (IsForeign(kernel)) continue;
      const auto match = names_.Of(kernel);
      if (!match) {
        // A range that is named like a node is one of another model.
        for (const std::string& range : kernel.scope) {
          if (!NodeNames::IsSpelledAsNode(range)) continue;
          joined_.names.missing += seen.emplace(range, true).second;
        }
      }
      if (kernel.op.empty() || kernel.op == kernel.op_type) continue;
      if (!seen.emplace(kernel.op, true).second) continue;
      if (!match) {
        // Fused operators, of types that the model has none of, are the runtime's own.
        const bool of_model = kernel.op_type.empty() || ops.contains(kernel.op_type);
        joined_.names.missing += of_model && !names_.MayBeInserted(kernel.op);
        continue;
      }
      ++joined_.names.found;
      const std::string& op = report_.kernels[match->kernel].op;
      const bool own = match->how == "name" && report_.kernels[match->kernel].nodes.size() == 1;
      const bool other = FindOperator("", kernel.op_type) && kernel.op_type != op;
      joined_.names.other_type += own && other;
    }
  }

  // How often the model ran in a file whose rows name nodes: what all their launches have in
  // common.
  std::int64_t RunsByName() {
    if (wanted_) return joined_.runs_from = "told by --runs", *wanted_;
    if (measurement_.runs > 0) return joined_.runs_from = "told by the file", measurement_.runs;
    std::map<std::pair<std::size_t, std::string>, std::int64_t> launches;
    for (const MeasuredKernel& kernel : rows_) {
      if (const auto match = names_.Of(kernel))
        launches[{match->kernel, kernel.name}] += kernel.launches;
    }
    std::int64_t common = 0;
    for (const auto& [key, count] : launches) common = std::gcd(common, count);
    if (common > 1) joined_.runs_from = fmt::format("{} divides the launches of all nodes", common);
    return std::max<std::int64_t>(common, 1);
  }

  void JoinByName() {
    joined_.runs = RunsByName();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const MeasuredKernel& kernel = rows_[r];
      const double launches =
          static_cast<double>(kernel.launches) / static_cast<double>(joined_.runs);
      if (const auto match = names_.Of(kernel)) {
        Measured& to = joined_.kernels[match->kernel];
        const KernelName told = ToldBy(kernel);
        const bool main = !IsProduct(to.main.family);
        tally_.Add(to, kernel, launches, main && IsProduct(told.family));
        if (main) to.main = told;
        to.joined_by = match->how;
        to.by_name = true;
        to.confidence = match->confidence;
      } else {
        std::string why = IsForeign(kernel) ? WhyUnmatched(kernel, ToldBy(kernel).family)
                                            : names_.WhyUnknown(kernel.op);
        joined_.unmatched.push_back(tally_.Unmatched(kernel, launches, std::move(why)));
      }
    }
  }

  static bool IsForeign(const MeasuredKernel& kernel) {
    const KernelFamily family = ToldBy(kernel).family;
    return family == KernelFamily::kCommunication || family == KernelFamily::kFill ||
           family == KernelFamily::kRandom || family == KernelFamily::kDropout;
  }

  void JoinSums(bool launches_told) {
    std::vector<FoldedRow> rows;
    for (const MeasuredKernel& kernel : rows_) {
      const KernelName told = ToldBy(kernel);
      const auto launches = static_cast<double>(kernel.launches);
      FoldedRow row;
      row.launches = launches_told ? 0 : kernel.launches;
      row.product = IsProduct(told.family);
      row.unknown = told.family == KernelFamily::kUnknown;
      row.foreign = IsForeign(kernel);
      row.marker = IsMarker(told.family);
      row.fewer = IsTransformed(told.algorithm);
      const auto flops = tally_.VectorFlops(kernel);
      if (flops && !told.tensor) row.flops = *flops * launches;
      if (kernel.duration) row.seconds = kernel.duration->value() * launches;
      rows.push_back(row);
    }
    RunCount count = InferRuns(rows, slots_);
    if (wanted_) {
      count = {*wanted_, "told by --runs"};
    } else if (measurement_.runs > 0) {
      count = {measurement_.runs, "told by the file"};
    }
    joined_.runs = count.runs;
    joined_.runs_from = count.from;
    joined_.runs_by_work = count.by_work;
    joined_.folded = true;
    double launches = 0, uneven = 0;
    for (const FoldedRow& row : rows) {
      if (!row.product && !row.marker) continue;
      launches += static_cast<double>(row.launches);
      if (row.launches % count.runs != 0) uneven += static_cast<double>(row.launches);
    }
    if (launches > 0) joined_.uneven = uneven / launches;
    joined_.repeats = RepeatsWithin(rows, count.runs);
    JoinFolded(report_, slots_, rows_, device_, count.runs, tally_, joined_);
    joined_.notes.push_back(
        "the file folds launches by kernel name: rows are sums over operators where these cannot "
        "be told apart; a trace (one row per launch) tells them apart");
  }

  const Report& report_;
  const Measurement& measurement_;
  const std::optional<Device>& device_;
  const std::optional<std::int64_t> wanted_;
  const std::vector<Slot> slots_;
  const NodeNames names_;
  Tally tally_;
  std::vector<MeasuredKernel> rows_;
  Joined joined_;
};

}  // namespace

Joined Join(const Report& report, const Measurement& measurement,
            const std::optional<Device>& device, std::optional<std::int64_t> runs) {
  return Joiner(report, measurement, device, runs).Run();
}

}  // namespace dlcost
