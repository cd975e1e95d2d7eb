#include "estimator/parallel/scaling.h"

namespace dlcost {

void SetEfficiencies(Scaling& scaling, const ScalePoint& alone) {
  for (ScalePoint& point : scaling.points) {
    point.efficiency = point.Throughput() / (point.devices * alone.Throughput());
  }
}

std::optional<int> PaysUpTo(const Scaling& scaling, const ScalePoint& alone) {
  constexpr double kLeast = 0.5;
  std::optional<int> most;
  double throughput = alone.Throughput();
  int devices = alone.devices;
  for (const ScalePoint& point : scaling.points) {
    if (point.devices > devices) {
      const double gain = (point.Throughput() - throughput) / (point.devices - devices);
      if (gain < kLeast * alone.Throughput()) break;
    }
    most = devices = point.devices;
    throughput = point.Throughput();
  }
  return most;
}

}  // namespace dlcost
