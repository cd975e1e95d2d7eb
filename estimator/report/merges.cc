#include "estimator/report/merges.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "estimator/core/error.h"
#include "estimator/report/format.h"
#include "estimator/roofline/run.h"

namespace dlcost {
namespace {

constexpr double kWorthwhile = 0.05;  // of the time of the products

// The tensor behind views: what a reshaped operand is made of.
class Sources {
 public:
  explicit Sources(const Report& report) {
    for (const NodeRow& node : report.nodes) {
      if (node.status != NodeStatus::kView || node.inputs.empty() || node.outputs.empty()) continue;
      source_[node.outputs[0].name] = Of(node.inputs[0].name);
    }
  }
  std::string Of(const std::string& name) const {
    const auto found = source_.find(name);
    return found == source_.end() ? name : found->second;
  }

 private:
  std::map<std::string, std::string> source_;
};

// What a kernel reads of the second operand: of weights that are stored in fewer bits, those.
Bytes SecondOf(const KernelRow& kernel, const GemmNest& nest) {
  const Count times = nest.batch * kernel.repeat;
  const Bytes first = SizeOf(kernel.math, nest.m * nest.k * times);
  const Bytes wide = SizeOf(kernel.math, nest.k * nest.n * times);
  const Bytes read = kernel.sums.bytes_read;
  return read > first ? std::min(wide, read - first) : wide;
}

// The product of a row alone, or one of its type and as often: operands read, the second of
// `second` bytes, result written. Libraries take other kernels where a bias is added.
Kernel ProductOf(const GemmNest& nest, const KernelRow& row, Bytes second) {
  const DType type = row.math;
  const Count repeat = row.repeat;
  Kernel kernel;
  kernel.biased = row.biased;
  kernel.nest = nest;
  kernel.nest_name = "product";
  kernel.math = type;
  kernel.repeat = repeat;
  kernel.work.Add(OpClass::kMac, type, MacsOf(nest) * repeat);
  kernel.needed = kernel.work;
  kernel.bytes_read = SizeOf(type, nest.m * nest.k * nest.batch * repeat) + second;
  kernel.bytes_written = SizeOf(type, nest.m * nest.n * nest.batch * repeat);
  return kernel;
}

// How many kernels each kernel has to wait for, one after the other: of two at the same depth, none
// reads what the other makes. Views and constants pass on the depth of what they read.
std::vector<std::size_t> Depths(const Report& report) {
  std::map<std::string_view, std::size_t> kernels;  // by the nodes in them
  for (std::size_t k = 0; k < report.kernels.size(); ++k) {
    for (const std::string& node : report.kernels[k].nodes) kernels.emplace(node, k);
  }
  std::vector<std::size_t> depths(report.kernels.size(), 0);
  std::map<std::string_view, std::size_t> made;  // depth at which a tensor is there
  for (const NodeRow& node : report.nodes) {
    std::size_t depth = 0;
    for (const Operand& input : node.inputs) {
      const auto at = made.find(input.name);
      if (!input.name.empty() && at != made.end()) depth = std::max(depth, at->second);
    }
    const auto kernel = kernels.find(node.name);
    if (kernel != kernels.end() && report.kernels[kernel->second].launches > Count(0)) {
      std::size_t& own = depths[kernel->second];
      own = std::max(own, depth);
      depth = own + 1;
    }
    for (const Operand& output : node.outputs) made[output.name] = depth;
  }
  return depths;
}

class Finder {
 public:
  Finder(const Report& report, const Device& device)
      : report_(report), runner_(&device, report.options.run), taken_(report.kernels.size()) {}

  std::vector<Merge> Run() {
    if (!runner_.timing()) return {};
    Stack();
    Batch();
    std::stable_sort(merges_.begin(), merges_.end(), [](const Merge& x, const Merge& y) {
      return x.saved().value() > y.saved().value();
    });
    return std::move(merges_);
  }

 private:
  // The product of a kernel that is launched; null for others.
  const GemmNest* NestOf(std::size_t k) const {
    const KernelRow& kernel = report_.kernels[k];
    const auto* nest = std::get_if<GemmNest>(&kernel.nest);
    return nest && kernel.launches > Count(0) ? nest : nullptr;
  }

  void Stack() {
    const Sources sources(report_);
    // Shared operand, type, extents of that operand, and how often they run.
    using Key = std::tuple<std::string, DType, std::int64_t, std::int64_t, std::int64_t>;
    std::map<Key, std::vector<std::size_t>> groups;
    for (std::size_t k = 0; k < report_.kernels.size(); ++k) {
      const KernelRow& kernel = report_.kernels[k];
      const GemmNest* const nest = NestOf(k);
      if (!nest || nest->batch != Count(1)) continue;
      const Operands& inputs = report_.nodes[kernel.main].inputs;
      const auto a = static_cast<std::size_t>(nest->a_input);
      const auto b = static_cast<std::size_t>(nest->b_input);
      if (a >= inputs.size() || b >= inputs.size() || !inputs[b].weight || inputs[a].weight)
        continue;
      groups[{sources.Of(inputs[a].name), kernel.math, nest->m.value(), nest->k.value(),
              kernel.repeat.value()}]
          .push_back(k);
    }
    for (const auto& [key, kernels] : groups) {
      GemmNest stacked = *NestOf(kernels.front());
      for (std::size_t i = 1; i < kernels.size(); ++i)
        stacked.n = stacked.n + NestOf(kernels[i])->n;
      Add(kernels, stacked, std::get<0>(key));
    }
  }

  void Batch() {
    const std::vector<std::size_t> depths = Depths(report_);
    using Key =
        std::tuple<std::size_t, DType, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
    std::map<Key, std::vector<std::size_t>> groups;
    for (std::size_t k = 0; k < report_.kernels.size(); ++k) {
      const KernelRow& kernel = report_.kernels[k];
      const GemmNest* const nest = NestOf(k);
      if (!nest || taken_[k]) continue;
      groups[{depths[k], kernel.math, nest->m.value(), nest->n.value(), nest->k.value(),
              kernel.repeat.value()}]
          .push_back(k);
    }
    for (const auto& [key, kernels] : groups) {
      GemmNest batched = *NestOf(kernels.front());
      for (std::size_t i = 1; i < kernels.size(); ++i)
        batched.batch = batched.batch + NestOf(kernels[i])->batch;
      batched.b_is_weight = false;  // each product has its own
      Add(kernels, batched, "");
    }
  }

  void Add(const std::vector<std::size_t>& kernels, const GemmNest& merged, std::string operand) {
    if (kernels.size() < 2) return;
    Merge merge{.nodes = {},
                .operand = std::move(operand),
                .batch = merged.batch,
                .m = merged.m,
                .n = merged.n,
                .k = merged.k,
                .apart = Seconds(0),
                .merged = Seconds(0)};
    Bytes all(0);
    for (const std::size_t k : kernels) {
      const KernelRow& kernel = report_.kernels[k];
      merge.nodes.push_back(report_.nodes[kernel.main].name);
      const Bytes second = SecondOf(kernel, *NestOf(k));
      all += second;
      const KernelRun run = runner_.Run(ProductOf(*NestOf(k), kernel, second));
      if (!run.expected) return;
      merge.apart += Seconds(run.expected->time.expected);
    }
    const KernelRow& first = report_.kernels[kernels.front()];
    const KernelRun run = runner_.Run(ProductOf(merged, first, all));
    if (!run.expected) return;
    merge.merged = Seconds(run.expected->time.expected);
    if (merge.saved().value() <= kWorthwhile * merge.apart.value()) return;
    for (const std::size_t k : kernels) taken_[k] = true;
    merges_.push_back(std::move(merge));
  }

  const Report& report_;
  const Runner runner_;
  std::vector<bool> taken_;  // kernels that are in a merge
  std::vector<Merge> merges_;
};

}  // namespace

std::vector<Merge> FindMerges(const Report& report, const Device& device) {
  if (report.options.detail < ReportDetail::kOperands) return {};
  return Finder(report, device).Run();
}

namespace {

// Texts and the numbers between them: "/encoder/", "11", "/MatMul".
std::vector<std::string> Pieces(const std::string& name) {
  std::vector<std::string> pieces(1);
  bool number = false;
  for (const char c : name) {
    if ((c >= '0' && c <= '9') != number) {
      number = !number;
      pieces.emplace_back();
    }
    pieces.back() += c;
  }
  return pieces;
}

// The name without its numbers.
std::string Stem(const std::string& name) {
  std::string stem;
  const std::vector<std::string> pieces = Pieces(name);
  for (std::size_t i = 0; i < pieces.size(); ++i) stem += i % 2 == 0 ? pieces[i] : "#";
  return stem;
}

// "/encoder/0..11/MatMul" for names of one stem that differ in one number; else the first of them.
std::string Together(const std::vector<std::string>& names) {
  std::vector<std::string> first = Pieces(names.front()), last = first;
  std::optional<std::size_t> other;
  const auto less = [](const std::string& x, const std::string& y) {
    return std::tuple(x.size(), x) < std::tuple(y.size(), y);  // as numbers
  };
  for (const std::string& name : names) {
    const std::vector<std::string> pieces = Pieces(name);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i] == first[i] && pieces[i] == last[i]) continue;
      if (other && *other != i) return names.front();
      other = i;
      first[i] = std::min(first[i], pieces[i], less);
      last[i] = std::max(last[i], pieces[i], less);
    }
  }
  if (other) first[*other] += ".." + last[*other];
  return fmt::format("{}", fmt::join(first, ""));
}

// Merges of layers that repeat.
using Alike = std::vector<const Merge*>;

std::vector<Alike> Repeated(const std::vector<Merge>& merges) {
  using Key = std::tuple<std::vector<std::string>, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, double, double>;
  std::map<Key, std::size_t> known;
  std::vector<Alike> groups;
  for (const Merge& merge : merges) {
    std::vector<std::string> stems;
    for (const std::string& node : merge.nodes) stems.push_back(Stem(node));
    const auto [found, fresh] =
        known.emplace(Key{std::move(stems), merge.batch.value(), merge.m.value(), merge.n.value(),
                          merge.k.value(), merge.apart.value(), merge.merged.value()},
                      groups.size());
    if (fresh) groups.emplace_back();
    groups[found->second].push_back(&merge);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Alike& x, const Alike& y) {
    const auto saved = [](const Alike& group) {
      return static_cast<double>(group.size()) * group.front()->saved().value();
    };
    return saved(x) > saved(y);
  });
  return groups;
}

// "q, k, v as one product 128x2304x768: 12 us instead of 30 us, 2.5 times"; names are cut.
std::string TextOf(const Alike& merges) {
  const Merge& merge = *merges.front();
  constexpr std::size_t kShown = 4;
  std::vector<std::string> names;
  for (std::size_t n = 0; n < std::min(kShown, merge.nodes.size()); ++n) {
    std::vector<std::string> repeated;
    for (const Merge* one : merges) repeated.push_back(one->nodes[n]);
    names.push_back(Printable(Together(repeated), 60));
  }
  const std::string more =
      merge.nodes.size() > kShown ? fmt::format(" and {} more", merge.nodes.size() - kShown) : "";
  const std::string batch = merge.batch > Count(1)
                                ? fmt::format("batch of {} products ", merge.batch.value())
                                : "product ";
  const std::string times = merges.size() > 1 ? fmt::format("; {} times", merges.size()) : "";
  return fmt::format("{}{} as one {}{}x{}x{}: {} instead of {}, {:.2f} times as fast{}",
                     fmt::join(names, ", "), more, batch, merge.m.value(), merge.n.value(),
                     merge.k.value(), ReadableTime(merge.merged), ReadableTime(merge.apart),
                     merge.apart / merge.merged, times);
}

}  // namespace

std::vector<std::string> MergeTexts(const std::vector<Merge>& merges) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> texts;
  Seconds saved(0);
  std::size_t more = 0;
  for (const Alike& group : Repeated(merges)) {
    if (texts.size() < kShown) {
      texts.push_back(TextOf(group));
      continue;
    }
    more += group.size();
    for (const Merge* merge : group) saved += merge->saved();
  }
  if (more > 0) {
    texts.push_back(
        fmt::format("and {} more, which save {} (--format json)", more, ReadableTime(saved)));
  }
  return texts;
}

}  // namespace dlcost
