#include "estimator/report/timeline.h"

#include <string_view>
#include <unordered_map>

namespace dlcost {
namespace {

struct Storage {
  Bytes size;
  std::size_t first = 0;
  std::size_t last = 0;
};

Bytes SizeOfOperand(const Operand& operand) {
  if (!operand.shape) return Bytes(0);
  return SizeOf(operand.dtype, operand.shape->Elements());
}

// Which tensors occupy memory, and from when to when.
class Lifetimes {
 public:
  explicit Lifetimes(const Report& report) {
    for (const NodeRow& row : report.nodes) {
      for (const Operand& output : row.outputs) made_.emplace(output.name, row.status);
    }
    for (std::size_t n = 0; n < report.nodes.size(); ++n) Add(report.nodes[n], n);
    for (const Operand& output : report.model.outputs) {
      const auto found = index_.find(output.name);
      if (found != index_.end()) storages_[found->second].last = report.nodes.size();
    }
  }

  const std::vector<Storage>& storages() const { return storages_; }

 private:
  void Add(const NodeRow& row, std::size_t n) {
    for (const Operand& input : row.inputs) {
      if (input.name.empty() || input.weight) continue;
      if (made_.count(input.name) == 0) Store(input, 0);  // an input of the model
      const auto found = index_.find(input.name);
      if (found != index_.end()) storages_[found->second].last = n;
    }
    if (row.status == NodeStatus::kMetadata) return;
    const bool view = row.status == NodeStatus::kView && !row.inputs.empty();
    const auto shared = view ? index_.find(row.inputs[0].name) : index_.end();
    for (const Operand& output : row.outputs) {
      if (output.name.empty()) continue;
      if (shared != index_.end()) {
        index_.emplace(output.name, shared->second);
      } else {
        Store(output, n);
      }
    }
  }

  void Store(const Operand& operand, std::size_t n) {
    if (index_.emplace(operand.name, storages_.size()).second) {
      storages_.push_back({SizeOfOperand(operand), n, n});
    }
  }

  std::unordered_map<std::string_view, NodeStatus> made_;
  std::unordered_map<std::string_view, std::size_t> index_;  // tensor -> storage
  std::vector<Storage> storages_;
};

}  // namespace

std::vector<MemoryStep> MemoryTimeline(const Report& report) {
  const Lifetimes lifetimes(report);
  std::vector<Bytes> starts(report.nodes.size() + 1), ends(report.nodes.size() + 2);
  for (const Storage& storage : lifetimes.storages()) {
    starts[storage.first] += storage.size;
    ends[storage.last + 1] += storage.size;
  }
  std::vector<MemoryStep> steps;
  Bytes live;
  for (std::size_t n = 0; n < report.nodes.size(); ++n) {
    live += starts[n];
    live -= ends[n];
    if (report.nodes[n].status != NodeStatus::kMetadata) steps.push_back({n, live});
  }
  return steps;
}

}  // namespace dlcost
