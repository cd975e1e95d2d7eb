#include "estimator/parallel/collective_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/report/format.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

constexpr std::int64_t kMostCollectiveDevices = 1 << 24;

ForcedCollective ForcedOf(const CollectiveRequest& options) {
  ForcedCollective forced;
  if (!options.algorithm.empty()) {
    RequireOneOf("--algorithm", options.algorithm, CollectiveAlgorithms());
    forced.algorithm = options.algorithm;
  }
  if (!options.protocol.empty()) {
    std::vector<std::string> names;
    for (const LinkProtocol protocol : kLinkProtocols) {
      names.emplace_back(Name(protocol));
      if (names.back() == options.protocol) forced.protocol = protocol;
    }
    RequireOneOf("--protocol", options.protocol, names);
  }
  return forced;
}

// Rows of one number of devices.
std::string RowsText(std::span<const CollectiveRow> rows, const CollectiveTable& all,
                     std::size_t max_width) {
  const CollectiveCall& first = rows.front().call;
  std::string text = fmt::format(
      "{} of {} devices{} on {}\n\n", Name(first.op), first.group.size,
      first.group.stride > 1 ? fmt::format(", each {} behind the other", first.group.stride) : "",
      all.where);
  Table table({"buffer", "sent in a ring", "time", "latency", "algorithm GB/s", "bus GB/s",
               "runs as", "link that limits"},
              {false, false, false, false, false, false, true, true});
  for (const CollectiveRow& row : rows) {
    const double bandwidth = row.AlgorithmBandwidth();
    table.Add({ReadableBytes(row.call.bytes), ReadableBytes(RingBytes(row.call)),
               ReadableTime(row.run.time()), ReadableTime(row.run.latency),
               fmt::format("{:.2f}", bandwidth / 1e9),
               fmt::format("{:.2f}", bandwidth * BusFactor(row.call) / 1e9),
               row.run.algorithm + (all.bare ? "" : fmt::format(" {}", Name(row.run.protocol))),
               row.run.link});
  }
  table.MayDrop({"sent in a ring", "latency", "algorithm GB/s", "link that limits"});
  return text + table.Fit(max_width, "--format json has them");
}

}  // namespace

CollectiveTable RunCollectives(const CollectiveRequest& request) {
  if ((request.system != nullptr) == request.bandwidth.has_value()) {
    throw Error("on what? --system NAME (`dlcost systems` lists them) or --bandwidth 100GB/s");
  }
  if (request.stride < 1 || request.stride > kMostCollectiveDevices) {
    throw Error("--stride {}: it is 1 or more", request.stride);
  }
  const ForcedCollective forced = ForcedOf(request);
  CollectiveTable table;
  table.bare = request.system == nullptr;
  table.where = table.bare ? "links of " + request.bandwidth_text : request.system->id;
  std::vector<std::int64_t> devices = request.devices;
  if (devices.empty()) devices = {table.bare ? 2 : request.system->node_devices};
  for (const std::int64_t size : devices) {
    if (size < 2 || size > kMostCollectiveDevices) {
      throw Error("--devices {}: a collective has 2 to {}", size, kMostCollectiveDevices);
    }
    for (const Bytes bytes : request.sizes) {
      CollectiveCall call{.op = request.op, .bytes = bytes, .group = {}};
      call.group = {static_cast<int>(size), static_cast<int>(request.stride)};
      table.rows.push_back(
          {call,
           table.bare
               ? CollectiveRun{"ring", {}, Seconds(), RingBytes(call) / *request.bandwidth, "-"}
               : BestCollective(*request.system, call, forced)});
    }
  }
  return table;
}

std::string CollectiveText(const CollectiveTable& table, std::size_t max_width) {
  std::string text;
  for (std::size_t begin = 0; begin < table.rows.size();) {
    std::size_t end = begin;
    const auto size = [&](std::size_t row) { return table.rows[row].call.group.size; };
    while (end < table.rows.size() && size(end) == size(begin)) ++end;
    text += (text.empty() ? "" : "\n") +
            RowsText(std::span(table.rows).subspan(begin, end - begin), table, max_width);
    begin = end;
  }
  return text;
}

std::string CollectiveJson(const CollectiveTable& table) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const CollectiveRow& row : table.rows) {
    list.push_back({{"op", std::string(Name(row.call.op))},
                    {"devices", row.call.group.size},
                    {"stride", row.call.group.stride},
                    {"bytes", row.call.bytes.value()},
                    {"ring_bytes", RingBytes(row.call).value()},
                    {"time_s", row.run.time().value()},
                    {"latency_s", row.run.latency.value()},
                    {"transfer_s", row.run.transfer.value()},
                    {"algorithm_bandwidth", row.AlgorithmBandwidth()},
                    {"bus_bandwidth", row.AlgorithmBandwidth() * BusFactor(row.call)},
                    {"algorithm", row.run.algorithm},
                    {"protocol", std::string(Name(row.run.protocol))},
                    {"link", row.run.link}});
  }
  return Json({{"schema", kCollectiveSchema}, {"system", table.where}, {"rows", std::move(list)}})
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace dlcost
