#include "estimator/cli/job_options.h"

namespace dlcost {

void AddJobOptions(CLI::App& app, JobOptions& options) {
  AddModelOptions(app, options.model);
  AddDeviceOptions(app, options.device);
  AddCountOptions(app, options.count);
  AddSystemOption(app, options.system);
}

void AddSystemOption(CLI::App& app, std::string& system, const std::string& help) {
  app.add_option("--system", system, help)->type_name("NAME");
}

void AddSpreadOption(CLI::App& app, double& percent) {
  app.add_option("--spread", percent,
                 "standard deviation of the devices' speeds: a step is that of the slowest")
      ->type_name("PERCENT")
      ->capture_default_str();
}

void AddInputOptions(CLI::App& app, InputOptions& options) {
  app.add_option("--item", options.item, "size of an item on the device")->type_name("SIZE");
  app.add_option("--stored", options.stored, "its size in storage, where that differs")
      ->type_name("SIZE");
  app.add_option("--storage", options.storage, "what storage reads, for a node")->type_name("RATE");
  app.add_option("--decode", options.decode, "items/s that one core decodes")->type_name("RATE");
  app.add_option("--augment", options.augment, "items/s that one core augments")->type_name("RATE");
  app.add_option("--cores", options.cores, "of the host")->type_name("N");
  app.add_option("--host-link", options.host_link, "from host to one device")->type_name("RATE");
}

}  // namespace dlcost
