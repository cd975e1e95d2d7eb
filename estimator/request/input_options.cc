#include "estimator/request/input_options.h"

#include <fmt/format.h>

#include "estimator/core/error.h"
#include "estimator/report/format.h"
#include "estimator/request/leading_number.h"

namespace dlcost {
namespace {

class Chain {
 public:
  Chain(const InputOptions& options, const System* system, int devices)
      : options_(options), system_(system), devices_(devices) {
    if (devices < 1) throw Error("--devices {}: 1 or more", devices);
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
  }

  std::vector<InputStage> Take() { return std::move(stages_); }

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
      if (!stage.empty()) work += 1 / ParseItemRate(option, stage);
    }
    const double rate = ParseItemRate(option, text);
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
    Add("host to device", devices_ * rate / item_,
        fmt::format("{}{} / {:.0f} B", devices_ > 1 ? fmt::format("{} x ", devices_) : "",
                    ReadableRate(rate, "B"), item_));
  }

  const InputOptions& options_;
  const System* system_;
  int devices_;
  double item_ = 0, stored_ = 0;
  std::vector<InputStage> stages_;
};

}  // namespace

double ParseItemRate(const std::string& option, const std::string& text) {
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

std::vector<InputStage> StagesOf(const InputOptions& options, const System* system, int devices) {
  return Chain(options, system, devices).Take();
}

}  // namespace dlcost
