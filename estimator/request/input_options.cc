#include "estimator/request/input_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/report/format.h"

namespace dlcost {
namespace {

class Chain {
 public:
  Chain(const InputOptions& options, const System* system, int devices)
      : options_(options), system_(system), devices_(devices) {
    if (devices < 1) throw Error("--devices {}: 1 or more", devices);
    if (!options.item_bytes) {
      throw Error("how large is an item on the device? --item 150528B (224 x 224 x 3)");
    }
    item_ = *options.item_bytes;
    stored_ = options.stored_bytes.value_or(item_);
    if (!(item_ >= 1) || !(stored_ >= 1))
      throw Error("--item, --stored: an item has 1 byte or more");
    Storage();
    Cores("decode", "--decode", options.decode_items_per_s);
    Cores("augment", "--augment", options.augment_items_per_s);
    HostLink();
    RequireUsed();
  }

  std::vector<InputStage> Take() { return std::move(stages_); }

 private:
  void Add(const char* name, double rate, std::string how) {
    stages_.push_back({name, rate, std::move(how)});
  }

  void Storage() {
    double read = 0;
    if (options_.storage_bytes_per_s) {
      read = *options_.storage_bytes_per_s;
    } else if (system_ && system_->storage && system_->storage->read) {
      read = system_->storage->read->value();
    }
    if (read > 0) {
      Add("storage", read / stored_,
          fmt::format("{} / {:.0f} B", ReadableRate(read, "B"), stored_));
    }
  }

  // Decoding and augmentation share the cores: each has those that keep both at the same rate.
  void Cores(const char* name, const char* option, std::optional<double> rate) {
    if (!rate) return;
    if (!(*rate > 0)) throw Error("{}: items per second, such as 1050", option);
    int cores = options_.cores;
    if (cores == 0 && system_ && system_->cores) cores = *system_->cores;
    if (cores < 1) throw Error("{} needs --cores, or a --system whose file names them", option);
    double work = 0;  // core seconds of an item, of both
    for (const std::optional<double> stage :
         {options_.decode_items_per_s, options_.augment_items_per_s}) {
      if (stage) work += 1 / *stage;
    }
    const double share = 1 / *rate / work;
    Add(name, cores * share * *rate,
        fmt::format("{:.3g} of {} cores x {:g}/s", cores * share, cores, *rate));
  }

  void HostLink() {
    double rate = 0;
    if (options_.host_link_bytes_per_s) {
      rate = *options_.host_link_bytes_per_s;
    } else if (system_ && system_->host_link) {
      rate = system_->host_link->value();
    }
    if (rate <= 0) return;
    Add("host to device", devices_ * rate / item_,
        fmt::format("{}{} / {:.0f} B", devices_ > 1 ? fmt::format("{} x ", devices_) : "",
                    ReadableRate(rate, "B"), item_));
  }

  // What no stage takes would change nothing.
  void RequireUsed() const {
    const bool stores = std::any_of(stages_.begin(), stages_.end(), [](const InputStage& stage) {
      return stage.name == "storage";
    });
    if (options_.stored_bytes && !stores) {
      throw Error("--stored is what storage reads of an item: add --storage, such as 10GB/s");
    }
    if (options_.cores > 0 && !options_.decode_items_per_s && !options_.augment_items_per_s) {
      throw Error("--cores decode and augment items: add --decode or --augment");
    }
  }

  const InputOptions& options_;
  const System* system_;
  int devices_;
  double item_ = 0, stored_ = 0;
  std::vector<InputStage> stages_;
};

}  // namespace

std::vector<InputStage> StagesOf(const InputOptions& options, const System* system, int devices) {
  return Chain(options, system, devices).Take();
}

}  // namespace dlcost
