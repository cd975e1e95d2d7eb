#include "dlcost/system.h"

#include "estimator/api/state.h"
#include "estimator/report/system_list.h"

namespace dlcost::api {

System::System(std::shared_ptr<const State> state) : state_(std::move(state)) {
  const dlcost::System& system = state_->system;
  id = system.id;
  name = system.name;
  aliases = system.aliases;
  vendor = system.vendor;
  year = system.year;
  device_id = system.device;
  node_devices = system.node_devices;
  most_devices = system.MostDevices();
}

std::string System::Json() const {
  return Guarded([&] { return SystemJson(state_->system); });
}
std::string System::Text() const {
  return Guarded([&] { return SystemText(state_->system); });
}

System FindSystem(const std::string& name) {
  return Guarded([&] {
    return System(std::make_shared<const System::State>(System::State{OpenSystems().Find(name)}));
  });
}

std::vector<System> Systems() {
  return Guarded([&] {
    std::vector<System> systems;
    for (dlcost::System& system : OpenSystems().All()) {
      systems.emplace_back(std::make_shared<const System::State>(System::State{std::move(system)}));
    }
    return systems;
  });
}

}  // namespace dlcost::api
