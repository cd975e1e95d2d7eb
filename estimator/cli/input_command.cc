#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "estimator/cli/commands.h"
#include "estimator/cli/job.h"
#include "estimator/core/error.h"
#include "estimator/hardware/quantity_text.h"
#include "estimator/report/format.h"
#include "estimator/report/table.h"
#include "estimator/timeline/input_chain.h"

namespace dlcost {
namespace {

struct Options {
  std::string system;
  std::string item, stored, storage, host_link;
  std::string decode, augment;  // items/s of one core
  int cores = 0;
  int devices = 1;
  std::string compute, work;
  std::string format = "text";
  std::string output;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost input --item 150528B --storage 10GB/s --host-link 32GB/s --compute 1050\n"
    "  dlcost input --item 150528B --stored 116667B --storage 10GB/s --host-link 32GB/s --compute "
    "151TFLOP/s --work 20e9\n"
    "  dlcost input --system dgx-a100 --item 602112B --stored 110kB --storage 20GB/s --decode 250 "
    "--augment 800 --compute 2500 --devices 8\n"
    "Rates of --decode and --augment are those of one core, of --compute those of one device.\n";

double ParseRate(const std::string& option, const std::string& text) {
  const std::optional<LeadingNumber> rate = ParseLeadingNumber(text);
  if (!rate || !rate->rest.empty()) {
    throw Error("{} '{}': items per second, such as 1050", option, Printable(text));
  }
  return rate->value;
}

double ParseWith(const std::string& option, const std::string& text, Dimension dimension) {
  try {
    return ParseQuantity(text, dimension);
  } catch (const Error& error) {
    throw error.At(option);
  }
}

class Chain {
 public:
  explicit Chain(const Options& options) : options_(options) {
    if (!options.system.empty()) system_ = OpenSystems().Find(options.system);
    if (options.devices < 1) throw Error("--devices {}: 1 or more", options.devices);
    if (options.item.empty()) {
      throw Error("how large is an item on the device? --item 150528B (224 x 224 x 3)");
    }
    item_ = ParseWith("--item", options.item, Dimension::kByteSize);
    stored_ = options.stored.empty() ? item_
                                     : ParseWith("--stored", options.stored, Dimension::kByteSize);
    if (item_ < 1 || stored_ < 1) throw Error("--item, --stored: an item has 1 byte or more");
    Storage();
    Cores("decode", "--decode", options.decode);
    Cores("augment", "--augment", options.augment);
    HostLink();
    Compute();
    if (stages_.empty()) {
      throw Error("no stage given: --storage, --decode, --augment, --host-link or --compute");
    }
  }

  const std::vector<InputStage>& stages() const { return stages_; }

 private:
  void Add(const char* name, double rate, std::string how) {
    stages_.push_back({name, rate, std::move(how)});
  }

  void Storage() {
    double read = 0;
    if (!options_.storage.empty()) {
      read = ParseWith("--storage", options_.storage, Dimension::kByteRate);
    } else if (system_ && system_->storage && system_->storage->read) {
      read = system_->storage->read->value();
    }
    if (read > 0) {
      Add("storage", read / stored_,
          fmt::format("{} / {:.0f} B", ReadableRate(read, "B"), stored_));
    }
  }

  // Decoding and augmentation share the cores: each has those that keep both at the same rate.
  void Cores(const char* name, const char* option, const std::string& text) {
    if (text.empty()) return;
    int cores = options_.cores;
    if (cores == 0 && system_ && system_->cores) cores = *system_->cores;
    if (cores < 1) throw Error("{} needs --cores, or a --system whose file names them", option);
    double work = 0;  // core seconds of an item, of both
    for (const std::string& stage : {options_.decode, options_.augment}) {
      if (!stage.empty()) work += 1 / ParseRate(option, stage);
    }
    const double rate = ParseRate(option, text);
    const double share = 1 / rate / work;
    Add(name, cores * share * rate,
        fmt::format("{:.3g} of {} cores x {:g}/s", cores * share, cores, rate));
  }

  void HostLink() {
    double rate = 0;
    if (!options_.host_link.empty()) {
      rate = ParseWith("--host-link", options_.host_link, Dimension::kByteRate);
    } else if (system_ && system_->host_link) {
      rate = system_->host_link->value();
    }
    if (rate <= 0) return;
    Add("host to device", options_.devices * rate / item_,
        fmt::format("{}{} / {:.0f} B",
                    options_.devices > 1 ? fmt::format("{} x ", options_.devices) : "",
                    ReadableRate(rate, "B"), item_));
  }

  void Compute() {
    if (options_.compute.empty()) {
      if (!options_.work.empty()) throw Error("--work needs --compute, as in 21TFLOP/s");
      return;
    }
    if (options_.work.empty()) {
      const double rate = ParseRate("--compute", options_.compute);
      Add("compute", options_.devices * rate, fmt::format("{} x {:g}/s", options_.devices, rate));
      return;
    }
    const double rate = ParseWith("--compute", options_.compute, Dimension::kOperationRate);
    const double work = ParseRate("--work", options_.work);
    Add("compute", options_.devices * rate / work,
        fmt::format("{} x {} / {:g} FLOP", options_.devices, ReadableRate(rate, "FLOP"), work));
  }

  const Options& options_;
  std::optional<System> system_;
  double item_ = 0, stored_ = 0;
  std::vector<InputStage> stages_;
};

int Run(const Options& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  const Chain chain(options);
  const InputStage& slowest = *SlowestStage(chain.stages());
  if (options.format == "json") {
    using Json = nlohmann::ordered_json;
    Json stages = Json::array();
    for (const InputStage& stage : chain.stages()) {
      stages.push_back({{"stage", stage.name}, {"items_per_s", stage.rate}, {"how", stage.how}});
    }
    const Json json = {{"schema", "dlcost.input/1"},
                       {"stages", std::move(stages)},
                       {"bound_by", slowest.name},
                       {"items_per_s", slowest.rate}};
    WriteOutput(options.output, json.dump(2) + "\n");
    return 0;
  }
  Table table({"stage", "items/s", "over the slowest", "arithmetic"}, {true, false, false, true});
  for (const InputStage& stage : chain.stages()) {
    table.Add({stage.name, fmt::format("{:.0f}", stage.rate),
               fmt::format("{:.2f}", stage.rate / slowest.rate), stage.how});
  }
  WriteOutput(options.output, table.Render() + fmt::format("\n{} bounds: {:.0f} items/s\n",
                                                           slowest.name, slowest.rate));
  return 0;
}

}  // namespace

void AddInputCommand(Commands& commands) {
  auto options = std::make_shared<Options>();
  CLI::App* app = commands.app.add_subcommand(
      "input", "which stage bounds a training: storage, decoding, copies or the devices");
  app->footer(kExamples);
  AddSystemOption(*app, options->system, "for cores, storage and host link");
  app->add_option("--item", options->item, "size of an item on the device")->type_name("SIZE");
  app->add_option("--stored", options->stored, "its size in storage, where that differs")
      ->type_name("SIZE");
  app->add_option("--storage", options->storage, "what storage reads")->type_name("RATE");
  app->add_option("--decode", options->decode, "items/s that one core decodes")->type_name("RATE");
  app->add_option("--augment", options->augment, "items/s that one core augments")
      ->type_name("RATE");
  app->add_option("--cores", options->cores, "of the host")->type_name("N");
  app->add_option("--host-link", options->host_link, "from host to one device")->type_name("RATE");
  app->add_option("--compute", options->compute, "items/s of one device, or FLOP/s with --work")
      ->type_name("RATE");
  app->add_option("--work", options->work, "FLOP to train on one item")->type_name("FLOP");
  app->add_option("--devices", options->devices, "that train")
      ->type_name("N")
      ->capture_default_str();
  AddOutputOptions(*app, options->format, options->output);
  app->callback([&commands, options] { commands.run = [options] { return Run(*options); }; });
}

}  // namespace dlcost
