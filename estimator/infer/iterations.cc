#include "estimator/infer/iterations.h"

#include <algorithm>
#include <list>
#include <string_view>
#include <unordered_map>

#include "estimator/infer/trip_series.h"

namespace dlcost {
namespace {

using Mark = InferenceDriver::Mark;

// What is known of all iterations is the least that is known of one.
NodeStatus Weaker(NodeStatus a, NodeStatus b) {
  constexpr NodeStatus kFromWeakest[] = {NodeStatus::kUnknown, NodeStatus::kBounded,
                                         NodeStatus::kCounted, NodeStatus::kView,
                                         NodeStatus::kMetadata};
  for (const NodeStatus status : kFromWeakest) {
    if (a == status || b == status) return status;
  }
  return a;
}

void AddAccess(std::vector<Access>& accesses, const Access& access, std::size_t expected) {
  const auto same = [&](const Access& known) {
    return known.is_output == access.is_output && known.operand == access.operand &&
           known.kind == access.kind;
  };
  if (expected < accesses.size() && same(accesses[expected])) {
    accesses[expected].bytes += access.bytes;
    return;
  }
  const auto found = std::find_if(accesses.begin(), accesses.end(), same);
  if (found != accesses.end()) {
    found->bytes += access.bytes;
  } else {
    accesses.push_back(access);
  }
}

// Adds an iteration of a node to its row.
void AddTo(CountedNode& row, const CountedNode& node, bool represents) {
  row.repeat += node.repeat;
  row.upper_bound |= node.upper_bound;
  if (row.why.empty()) row.why = node.why;
  row.status = row.cost.status = Weaker(row.status, node.status);
  row.cost.work.Add(node.cost.work);
  row.cost.valid_macs += node.cost.valid_macs;
  for (std::size_t i = 0; i < node.cost.accesses.size(); ++i) {
    AddAccess(row.cost.accesses, node.cost.accesses[i], i);
  }
  if (row.cost.note.empty()) row.cost.note = node.cost.note;
  if (!represents) return;
  row.node = node.node;
  row.graph = node.graph;
  row.cost.nest = node.cost.nest;
}

class Rows {
 public:
  Rows(InferenceDriver& driver, std::int64_t trips) : driver_(driver), trips_(trips) {}

  // Takes the nodes since `mark`, those of iteration `trip`, out of the result.
  void Take(Mark mark, std::int64_t trip) {
    std::vector<CountedNode>& nodes = driver_.result().nodes;
    const bool middle = trip == trips_ / 2, last = trip == trips_ - 1;
    bool keep = middle || last;
    auto at = rows_.begin();  // behind the row of the node before
    for (std::size_t n = mark.nodes; n < nodes.size(); ++n) {
      auto row = Find(nodes[n].name, at);
      if (row == rows_.end()) {
        row = rows_.insert(at, nodes[n]);
        index_.emplace(row->name, row);
        keep = true;
      } else {
        AddTo(*row, nodes[n], middle);
      }
      at = std::next(row);
    }
    if (last && !middle) {
      std::move(nodes.begin() + static_cast<std::ptrdiff_t>(mark.nodes), nodes.end(),
                std::back_inserter(driver_.result().last_iterations));
    }
    if (keep) {
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(mark.nodes), nodes.end());
    } else {
      driver_.Rollback(mark);
    }
  }

  void PutBack() {
    std::move(rows_.begin(), rows_.end(), std::back_inserter(driver_.result().nodes));
  }

 private:
  using Row = std::list<CountedNode>::iterator;

  Row Find(const std::string& name, Row expected) {
    if (expected != rows_.end() && expected->name == name) return expected;
    const auto found = index_.find(name);
    return found == index_.end() ? rows_.end() : found->second;
  }

  InferenceDriver& driver_;
  std::int64_t trips_;
  std::list<CountedNode> rows_;
  std::unordered_map<std::string_view, Row> index_;  // names of rows, which stay in place
};

std::vector<TensorType> TypesOf(const std::vector<Known>& state) {
  std::vector<TensorType> types;
  for (const Known& known : state) types.push_back(known.type);
  return types;
}

std::vector<Known> WithTypes(const std::vector<Known>& state, std::vector<TensorType> types) {
  std::vector<Known> typed;
  for (std::size_t i = 0; i < state.size(); ++i) {
    typed.push_back(TypeOnly(state[i]));
    typed.back().type = std::move(types[i]);
  }
  return typed;
}

}  // namespace

std::vector<Known> FollowEach(InferenceDriver& driver, const Iteration& iteration,
                              std::vector<Known> state, std::int64_t trips) {
  Rows rows(driver, trips);
  for (std::int64_t trip = 0; trip < trips; ++trip) {
    const Mark mark = driver.Here();
    state = iteration(state, trip);
    rows.Take(mark, trip);
  }
  rows.PutBack();
  return state;
}

std::optional<std::vector<Known>> SumInClosedForm(InferenceDriver& driver,
                                                  const Iteration& iteration,
                                                  const std::vector<Known>& initial,
                                                  std::int64_t trips) {
  const Mark mark = driver.Here();
  std::vector<CountedNode>& nodes = driver.result().nodes;
  TripSeries series;
  std::vector<Known> state = initial;
  for (std::size_t trip = 0; trip < TripSeries::kTrips; ++trip) {
    driver.Rollback(mark);
    state = iteration(state, static_cast<std::int64_t>(trip));
    series.Add(nodes, mark.nodes, TypesOf(state));
  }
  driver.Rollback(mark);
  const std::optional<TripSeries::Total> total = series.Sum(trips);
  if (!total) return std::nullopt;
  const auto follow = [&](std::int64_t trip) {
    iteration(WithTypes(state, series.TypesAt(trip - 1)), trip);
  };
  follow(trips - 1);
  std::move(nodes.begin() + static_cast<std::ptrdiff_t>(mark.nodes), nodes.end(),
            std::back_inserter(driver.result().last_iterations));
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(mark.nodes), nodes.end());
  follow(trips / 2);
  if (nodes.size() - mark.nodes != total->nodes.size()) {
    driver.Rollback(mark);
    return std::nullopt;
  }
  for (std::size_t i = 0; i < total->nodes.size(); ++i) {
    CountedNode& node = nodes[mark.nodes + i];
    const OpCost& sum = total->nodes[i].cost;
    node.repeat = total->nodes[i].repeat;
    node.cost.work = sum.work;
    node.cost.valid_macs = sum.valid_macs;
    node.cost.accesses = sum.accesses;
  }
  return WithTypes(state, total->types);
}

}  // namespace dlcost
