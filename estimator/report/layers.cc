#include "estimator/report/layers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "estimator/core/whole_number.h"

namespace dlcost {
namespace {

// Equal texts and tuples have equal numbers: trees are compared by one number each.
template <typename Key>
class Numbers {
 public:
  int Of(const Key& key) {
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<Key, int> numbers_;
};

struct Part {
  std::vector<std::string> names;  // of everything that it stands for
  std::string story;
  bool kernel = false;  // not a module, though that may have come to stand for one
  GroupRow row;
  int shape = 0;  // equal for what may be one layer
  std::vector<std::unique_ptr<Part>> parts;
  std::unordered_map<std::string, Part*> by_name;
};

void Add(GroupRow& into, const GroupRow& row) {
  Accumulate(into.sums, row.sums);
  Accumulate(into.doubt, row.doubt);
  into.kernel_flops += row.kernel_flops;
  for (const auto& [term, time] : row.waits_for) into.waits_for[term] += time;
}

// Adds what `other` stands for to `part`, which has the same shape.
void MergeParts(Part& part, Part& other) {
  Add(part.row, other.row);
  for (std::size_t i = 0; i < part.parts.size(); ++i) MergeParts(*part.parts[i], *other.parts[i]);
}

// "0..11", "block1..3", "k, q, v", "a, b, c, ...".
std::string NameOf(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  const std::string& first = names.front();
  if (std::all_of(names.begin(), names.end(), [&](const auto& name) { return name == first; })) {
    return first;
  }
  const std::size_t digits = first.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  bool counts = true;
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < names.size() && counts; ++i) {
    const std::string& name = names[i];
    const bool same = name.size() > digits && name.compare(0, digits, first, 0, digits) == 0;
    const auto number = same ? WholeNumber(std::string_view(name).substr(digits)) : std::nullopt;
    counts = number && (i == 0 || *number == expected);
    expected = number.value_or(0) + 1;
  }
  if (counts) return fmt::format("{}..{}", first, names.back().substr(digits));
  const std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, names.size())));
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > kMost ? ", ..." : "");
}

// Adds a kernel to the row of several.
void Add(GroupRow& into, const KernelRow& kernel) {
  Accumulate(into.sums, kernel.sums);
  Accumulate(into.doubt, kernel.doubt);
  into.kernel_flops += kernel.sums.flops;
  if (kernel.sums.expected) into.waits_for[kernel.LimitedBy()] += *kernel.sums.expected;
}

// "MatMul x2, Softmax": what the kernel is made of, in its order, without what moves nothing.
std::string OperatorsOf(const KernelRow& kernel,
                        const std::unordered_map<std::string_view, const NodeRow*>& nodes) {
  std::vector<std::pair<std::string, int>> counts;
  for (const std::string& name : kernel.nodes) {
    const auto found = nodes.find(name);
    if (found == nodes.end() || found->second->status == NodeStatus::kView) continue;
    if (found->second->status == NodeStatus::kMetadata) continue;
    const std::string& op = found->second->op;
    const auto known = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& one) { return one.first == op; });
    if (known == counts.end()) {
      counts.emplace_back(op, 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> texts;
  for (const auto& [op, count] : counts) {
    texts.push_back(count == 1 ? op : fmt::format("{} x{}", op, count));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

class LayerTree {
 public:
  LayerTree(const Report& report, std::size_t depth) : report_(report), depth_(depth) {}

  std::vector<Layer> Run() {
    Part root;
    for (const KernelRow& kernel : report_.kernels) {
      if (kernel.launches != Count(0)) Place(root, kernel);
    }
    Fold(root);
    for (const auto& part : root.parts) Tell(*part, 0);
    return std::move(layers_);
  }

 private:
  void Place(Part& root, const KernelRow& kernel) {
    Part* module = &root;
    for (const std::string& name : PathParts(report_.nodes[kernel.main].scope)) {
      Part*& found = module->by_name[name];
      if (found == nullptr) {
        found = module->parts.emplace_back(std::make_unique<Part>()).get();
        found->names = {name};
      }
      module = found;
    }
    Part& leaf = *module->parts.emplace_back(std::make_unique<Part>());
    leaf.names = {kernel.op};
    leaf.kernel = true;
    leaf.story = kernel.label;
    Add(leaf.row, kernel);
    leaf.shape = kernels_.Of({kernel.label, kernel.sums.flops.value(), kernel.sums.bytes().value(),
                              kernel.launches.value()});
  }

  // Sums the part up, from the bottom, and joins equal neighbours.
  void Fold(Part& part) {
    std::vector<std::unique_ptr<Part>> kept;
    std::unordered_map<int, Part*> by_shape;
    std::vector<int> shape;
    for (auto& child : part.parts) {
      Fold(*child);
      Add(part.row, child->row);
      const auto [found, fresh] = by_shape.emplace(child->shape, child.get());
      if (fresh) {
        kept.push_back(std::move(child));
      } else {
        MergeParts(*found->second, *child);
        auto& names = found->second->names;
        names.insert(names.end(), child->names.begin(), child->names.end());
      }
    }
    part.parts = std::move(kept);
    if (part.parts.empty()) return;  // a kernel
    for (const auto& child : part.parts) {
      shape.push_back(child->shape);
      shape.push_back(names_.Of(child->names));
    }
    Shorten(part);
    shape.push_back(-1);  // never that of a kernel
    part.shape = -1 - modules_.Of(shape);
  }

  // A module that holds one thing alone stands for it.
  static void Shorten(Part& part) {
    if (part.parts.size() != 1 || part.names.empty()) return;
    Part& child = *part.parts.front();
    if (child.names.size() != 1) return;
    part.story = child.story;
    if (!child.kernel) part.names.front() += "/" + child.names.front();
    std::vector<std::unique_ptr<Part>> below = std::move(child.parts);
    part.parts = std::move(below);
  }

  void Tell(const Part& part, std::size_t depth) {
    std::string prefix;
    const Part* shown = &part;
    // encoder, which holds nothing but its 12 blocks, is one line with them.
    while (shown->parts.size() == 1 && shown->names.size() == 1) {
      prefix += shown->names.front() + "/";
      shown = shown->parts.front().get();
    }
    layers_.push_back({.name = prefix + NameOf(shown->names),
                       .story = shown->story,
                       .depth = depth,
                       .times = static_cast<std::int64_t>(shown->names.size()),
                       .row = part.row});
    if (depth_ != 0 && depth + 1 >= depth_) return;
    for (const auto& child : shown->parts) Tell(*child, depth + 1);
  }

  const Report& report_;
  std::size_t depth_;
  Numbers<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>> kernels_;
  Numbers<std::vector<std::string>> names_;
  Numbers<std::vector<int>> modules_;
  std::vector<Layer> layers_;
};

}  // namespace

std::vector<std::string> PathParts(const std::string& scope) {
  constexpr std::size_t kMost = 64;  // the last one holds the rest
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < scope.size();) {
    std::size_t end = std::min(scope.find_first_of("/.", begin), scope.size());
    if (parts.size() + 1 == kMost) end = scope.size();
    if (end > begin) parts.push_back(scope.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<Story> StoriesOf(const Report& report) {
  std::unordered_map<std::string_view, const NodeRow*> nodes;
  for (const NodeRow& node : report.nodes) nodes.emplace(node.name, &node);
  std::vector<Story> stories;
  std::unordered_map<std::string_view, std::size_t> known;
  for (const KernelRow& kernel : report.kernels) {
    if (kernel.launches == Count(0)) continue;
    const auto [found, fresh] = known.emplace(kernel.label, stories.size());
    if (fresh) {
      Story& story = stories.emplace_back();
      story.row.name = kernel.label;
      story.operators = OperatorsOf(kernel, nodes);
    }
    ++stories[found->second].kernels;
    Add(stories[found->second].row, kernel);
  }
  const bool timed = report.device.has_value();
  std::stable_sort(stories.begin(), stories.end(), [&](const Story& a, const Story& b) {
    return CostsMore(a.row.sums, b.row.sums, timed);
  });
  return stories;
}

std::vector<Layer> LayersOf(const Report& report, std::size_t depth) {
  return LayerTree(report, depth).Run();
}

}  // namespace dlcost
