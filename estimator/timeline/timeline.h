#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "estimator/core/units.h"

namespace dlcost {

// What a task is, for traces and for sums.
enum class TaskKind { kKernel, kCommunication, kCopy, kHost };

// What tasks run on: a stream, a copy engine, the cores of a loader.
struct Resource {
  std::string name;
  int lanes = 1;  // tasks at a time
};

struct Task {
  std::string name;
  TaskKind kind = TaskKind::kKernel;
  std::size_t resource = 0;
  Seconds duration;
  std::vector<std::size_t> after;  // tasks that must end before this one starts
  // Where several tasks could start, the one with the lowest number does; equal ones in the order
  // in which they were added.
  int priority = 0;
};

// Why a task did not start earlier.
struct Waiting {
  enum class For { kNothing, kTask, kResource } reason = For::kNothing;
  std::size_t task = 0;  // that ended last: a predecessor, or the one before on the resource
};

struct PlacedTask {
  Seconds start, end;
  int lane = 0;
  Waiting waiting;
};

// Tasks with the times at which a list scheduler places them: as soon as its predecessors have
// ended and a lane of its resource is free, a task starts. The same input gives the same times.
class Timeline {
 public:
  std::size_t AddResource(std::string name, int lanes = 1);
  // Returns the task's number, for the `after` of later tasks.
  std::size_t Add(Task task);
  // A task takes so much longer, from the next Schedule on.
  void Lengthen(std::size_t task, Seconds by) { tasks_[task].duration += by; }
  // Places every task. Throws Error where tasks wait for each other in a circle, naming one.
  void Schedule();

  const std::vector<Resource>& resources() const { return resources_; }
  const std::vector<Task>& tasks() const { return tasks_; }
  const std::vector<PlacedTask>& placed() const { return placed_; }
  // From the start to the end of the last task.
  Seconds Span() const;

 private:
  std::vector<Resource> resources_;
  std::vector<Task> tasks_;
  std::vector<PlacedTask> placed_;
};

// What a resource with one lane did.
struct ResourceUse {
  Seconds busy, idle;
  // Idle time by what the resource waited for: the name of the task that ended last before the next
  // one could start ("end of the step" behind the last), longest first.
  struct Gap {
    std::string cause;
    Seconds time;
  };
  std::vector<Gap> gaps;
};
ResourceUse UseOf(const Timeline& timeline, std::size_t resource);

// Time in which tasks of `resource` run and no task of `other` does: communication that compute
// does not hide.
Seconds Exposed(const Timeline& timeline, std::size_t resource, std::size_t other);

// How long each task of `resource` runs beside tasks of `other`: (task, time) where it does at all.
std::vector<std::pair<std::size_t, Seconds>> Beside(const Timeline& timeline, std::size_t resource,
                                                    std::size_t other);

// The timeline as a Trace Event Format file ("chrome trace"), which Perfetto and `dlcost measured`
// open: a thread per lane, times in microseconds.
std::string ChromeTrace(const Timeline& timeline, const std::string& process);

}  // namespace dlcost
