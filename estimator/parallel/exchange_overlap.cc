#include "estimator/parallel/exchange_overlap.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"

namespace dlcost {
namespace {

// The axis that an exchange belongs to. Devices that split operators are next to each other, those
// that split the sequence as far from each other as those are many.
enum class Kind { kTensor, kContext, kExperts };
std::optional<Kind> KindOf(const StepKernel& kernel, const ExchangePlan& plan) {
  if (!kernel.exchange || kernel.exchange->parameter) return std::nullopt;
  if (kernel.exchange->op == CollectiveOp::kAllToAll) return Kind::kExperts;
  const bool neighbours = plan.tensor > 1 && kernel.exchange->stride == 1;
  return plan.context > 1 && !neighbours ? Kind::kContext : Kind::kTensor;
}

class Overlapping {
 public:
  Overlapping(const StepProfile& profile, const ExchangeOverlap& overlap, const ExchangePlan& plan)
      : profile_(profile), overlap_(overlap), plan_(plan) {}

  StepProfile Run() {
    BesideProducts();
    if (overlap_.experts && plan_.micro_batches > 1) BesideAnother();
    return std::move(profile_);
  }

 private:
  bool Overlaps(Kind kind) const {
    return (kind == Kind::kTensor && overlap_.tensor) ||
           (kind == Kind::kContext && overlap_.context);
  }

  // The product that reads what is gathered: the next; that makes what is summed: the last.
  std::optional<std::size_t> ProductOf(std::size_t exchange) const {
    const std::vector<StepKernel>& kernels = profile_.kernels;
    const bool behind = kernels[exchange].exchange->op == CollectiveOp::kAllGather;
    for (std::size_t k = exchange; behind ? ++k < kernels.size() : k-- > 0;) {
      if (kernels[k].product) return k;
    }
    return std::nullopt;
  }

  void BesideProducts() {
    std::map<std::size_t, std::vector<std::size_t>> exchanges;  // by product
    for (std::size_t k = 0; k < profile_.kernels.size(); ++k) {
      const std::optional<Kind> kind = KindOf(profile_.kernels[k], plan_);
      if (!kind || !Overlaps(*kind)) continue;
      if (const std::optional<std::size_t> product = ProductOf(k)) exchanges[*product].push_back(k);
    }
    for (const auto& [product, of] : exchanges) {
      StepKernel& computes = profile_.kernels[product];
      Seconds room = computes.time;
      for (const std::size_t k : of) {
        StepKernel& exchange = profile_.kernels[k];
        const double pieces = exchange.exchange->devices;
        const double share = (pieces - 1) / pieces;
        room = std::min(room, computes.time * share);
        const Seconds hidden = std::min(exchange.time * share, room);
        room = room - hidden;
        exchange.time = exchange.time - hidden;
        computes.time += hidden * Held(exchange);
      }
    }
  }

  void BesideAnother() {
    Seconds exchanged, computed;
    for (const StepKernel& kernel : profile_.kernels) {
      if (KindOf(kernel, plan_) == Kind::kExperts) {
        exchanged += kernel.time;
      } else if (kernel.phase != Phase::kOptimizer) {
        computed += kernel.time;
      }
    }
    if (exchanged == Seconds()) return;
    const auto others = static_cast<double>(plan_.micro_batches - 1);
    const double hidden = std::min(1.0, computed / exchanged) * others / (others + 1);
    for (StepKernel& kernel : profile_.kernels) {
      if (KindOf(kernel, plan_) != Kind::kExperts) continue;
      // What computes meanwhile is anywhere: what it loses stays with the exchange.
      kernel.time = kernel.time * (1 - hidden + hidden * Held(kernel));
    }
  }

  // The part of the processors that an exchange's kernel holds.
  double Held(const StepKernel& exchange) const {
    return HeldShare(exchange.exchange->channels, profile_.processors);
  }

  StepProfile profile_;
  const ExchangeOverlap& overlap_;
  const ExchangePlan& plan_;
};

}  // namespace

ExchangeOverlap ParseExchangeOverlap(const std::string& text) {
  static const std::vector<std::string> kKinds = {"tp", "cp", "ep", "dp"};
  ExchangeOverlap overlap;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string kind = text.substr(begin, end - begin);
    begin = end + 1;
    if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) {
      throw Error("--overlap '{}': exchanges of tp, cp, ep and dp, as in --overlap cp,dp{}",
                  Printable(kind), DidYouMean(kind, kKinds));
    }
    bool& one = kind == "tp"   ? overlap.tensor
                : kind == "cp" ? overlap.context
                : kind == "ep" ? overlap.experts
                               : overlap.replicas;
    if (one) throw Error("--overlap: {} is given twice", kind);
    one = true;
  }
  return overlap;
}

StepProfile WithOverlap(const StepProfile& profile, const ExchangeOverlap& overlap,
                        const ExchangePlan& plan) {
  return Overlapping(profile, overlap, plan).Run();
}

}  // namespace dlcost
