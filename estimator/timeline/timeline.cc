#include "estimator/timeline/timeline.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

using Time = double;
// The lanes of a resource and the tasks that wait for one.
struct Queue {
  using Ready = std::pair<int, std::size_t>;  // priority, task
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  std::priority_queue<int, std::vector<int>, std::greater<>> free;  // lanes, the lowest first
  std::vector<std::size_t> last;                                    // task that ran last, by lane
  bool changed = false;                                             // since it was last looked at
};

constexpr std::size_t kNoTask = static_cast<std::size_t>(-1);

// The tasks that wait for each task, in order: those of task i from first[i] to first[i + 1].
struct Waiters {
  std::vector<std::size_t> first, tasks;

  explicit Waiters(const std::vector<Task>& all) : first(all.size() + 1) {
    for (const Task& task : all) {
      for (const std::size_t before : task.after) {
        if (before >= all.size()) throw Error("task '{}' waits for no task", task.name);
        ++first[before + 1];
      }
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    tasks.resize(first.back());
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const std::size_t before : all[i].after) tasks[next[before]++] = i;
    }
  }
};

}  // namespace

std::size_t Timeline::AddResource(std::string name, int lanes) {
  if (lanes < 1) throw Error("{}: a resource has one lane or more, not {}", name, lanes);
  resources_.push_back({std::move(name), lanes});
  return resources_.size() - 1;
}

std::size_t Timeline::Add(Task task) {
  tasks_.push_back(std::move(task));
  return tasks_.size() - 1;
}

void Timeline::Schedule() {
  placed_.assign(tasks_.size(), {});
  std::vector<Queue> queues(resources_.size());
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    for (int lane = 0; lane < resources_[r].lanes; ++lane) queues[r].free.push(lane);
    queues[r].last.assign(static_cast<std::size_t>(resources_[r].lanes), kNoTask);
  }
  const Waiters waiters(tasks_);
  std::vector<std::size_t> open(tasks_.size());
  std::vector<std::size_t> released_by(tasks_.size(), kNoTask);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    open[i] = tasks_[i].after.size();
    if (open[i] == 0) queues[tasks_[i].resource].ready.push({tasks_[i].priority, i});
  }
  using End = std::tuple<Time, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> running;
  std::size_t done = 0;
  Time now = 0;
  const auto start = [&](Queue& queue) {
    while (!queue.ready.empty() && !queue.free.empty()) {
      const std::size_t task = queue.ready.top().second;
      queue.ready.pop();
      const int lane = queue.free.top();
      queue.free.pop();
      std::size_t& last = queue.last[static_cast<std::size_t>(lane)];
      PlacedTask& placed = placed_[task];
      placed.lane = lane;
      placed.start = Seconds(now);
      placed.end = Seconds(now + tasks_[task].duration.value());
      const std::size_t released = released_by[task];
      const Time ready = released == kNoTask ? 0 : placed_[released].end.value();
      if (last != kNoTask && placed_[last].end.value() > ready) {
        placed.waiting = {Waiting::For::kResource, last};
      } else if (released != kNoTask) {
        placed.waiting = {Waiting::For::kTask, released};
      }
      last = task;
      running.push({placed.end.value(), task});
    }
  };
  for (Queue& queue : queues) start(queue);
  std::vector<std::size_t> changed;  // queues
  const auto change = [&](std::size_t resource) -> Queue& {
    Queue& queue = queues[resource];
    if (!std::exchange(queue.changed, true)) changed.push_back(resource);
    return queue;
  };
  while (!running.empty()) {
    now = std::get<0>(running.top());
    // All that ends now ends before anything starts, so that the order of equal ends is no matter.
    while (!running.empty() && std::get<0>(running.top()) == now) {
      const std::size_t task = std::get<1>(running.top());
      running.pop();
      ++done;
      change(tasks_[task].resource).free.push(placed_[task].lane);
      for (std::size_t w = waiters.first[task]; w < waiters.first[task + 1]; ++w) {
        const std::size_t waiter = waiters.tasks[w];
        released_by[waiter] = task;
        if (--open[waiter] == 0) {
          change(tasks_[waiter].resource).ready.push({tasks_[waiter].priority, waiter});
        }
      }
    }
    for (const std::size_t resource : changed) {
      queues[resource].changed = false;
      start(queues[resource]);
    }
    changed.clear();
  }
  if (done < tasks_.size()) {
    const auto stuck = std::find_if(open.begin(), open.end(), [](std::size_t n) { return n > 0; });
    throw Error("task '{}' waits for itself, by way of others",
                tasks_[static_cast<std::size_t>(stuck - open.begin())].name);
  }
}

Seconds Timeline::Span() const {
  Seconds end;
  for (const PlacedTask& task : placed_) end = std::max(end, task.end);
  return end;
}

}  // namespace dlcost
