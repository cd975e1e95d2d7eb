#include "dlcost/collective.h"

#include "estimator/api/state.h"
#include "estimator/parallel/collective_table.h"
#include "estimator/report/format.h"

namespace dlcost::api {

struct Collectives::State {
  CollectiveTable table;
};

Collectives::Collectives(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Collectives RunCollectives(const CollectiveRequest& request) {
  return Guarded([&] {
    dlcost::CollectiveRequest asked;
    asked.op = ParseCollectiveOp(request.op);
    if (request.system) asked.system = &request.system->state().system;
    if (request.bandwidth_bytes_per_s) {
      if (!(*request.bandwidth_bytes_per_s > 0)) {
        throw dlcost::Error("--bandwidth {}: above 0", *request.bandwidth_bytes_per_s);
      }
      asked.bandwidth = ByteRate(*request.bandwidth_bytes_per_s);
      asked.bandwidth_text = ReadableRate(*request.bandwidth_bytes_per_s, "B");
    }
    asked.devices = request.devices;
    asked.stride = request.stride;
    for (const std::int64_t bytes : request.bytes) {
      if (bytes < 1) throw dlcost::Error("--bytes {}: 1 or more", bytes);
      asked.sizes.emplace_back(bytes);
    }
    asked.algorithm = request.algorithm;
    asked.protocol = request.protocol;
    return Collectives(std::make_shared<const Collectives::State>(
        Collectives::State{dlcost::RunCollectives(asked)}));
  });
}

std::vector<CollectiveRun> Collectives::runs() const {
  std::vector<CollectiveRun> runs;
  for (const CollectiveRow& row : state_->table.rows) {
    CollectiveRun& run = runs.emplace_back();
    run.devices = row.call.group.size;
    run.bytes = row.call.bytes.value();
    run.ring_bytes = RingBytes(row.call).value();
    run.time_s = row.run.time().value();
    run.latency_s = row.run.latency.value();
    run.transfer_s = row.run.transfer.value();
    run.algorithm_bandwidth_bytes_per_s = row.AlgorithmBandwidth();
    run.bus_bandwidth_bytes_per_s = row.AlgorithmBandwidth() * BusFactor(row.call);
    run.algorithm = row.run.algorithm;
    run.protocol = Name(row.run.protocol);
    run.link = row.run.link;
  }
  return runs;
}

std::string Collectives::Text() const {
  return Guarded([&] { return CollectiveText(state_->table); });
}
std::string Collectives::Json() const {
  return Guarded([&] { return CollectiveJson(state_->table); });
}

}  // namespace dlcost::api
