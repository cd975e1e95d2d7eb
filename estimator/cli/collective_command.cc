#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "estimator/cli/commands.h"
#include "estimator/cli/job_options.h"
#include "estimator/cli/output.h"
#include "estimator/collective/collective.h"
#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/core/spelling.h"
#include "estimator/hardware/quantity_text.h"
#include "estimator/infer/sizes.h"
#include "estimator/report/format.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

struct Options {
  std::string op = "all_reduce";
  std::string system;
  std::string bandwidth;
  std::string devices;
  int stride = 1;
  std::string bytes = "1MB:1GB";
  std::string algorithm, protocol;
  std::string format = "text";
  std::string output;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost collective all_reduce --system dgx-h100 --devices 64 --bytes 1MB:4GB\n"
    "  dlcost collective all_to_all --system dgx-a100 --devices 8 --bytes 64MiB --format json\n"
    "  dlcost collective all_reduce --system dgx-a100 --devices 8 --stride 8 --bytes 100MB\n"
    "  dlcost collective all_reduce --bandwidth 100GB/s --devices 4 --bytes 93930496\n"
    "--bandwidth instead of --system is the arithmetic of a ring alone: bytes over bandwidth.\n";

constexpr int kMostSizes = 200;
constexpr std::int64_t kMostDevices = 1 << 24;

Bytes ParseBytes(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  try {
    return Bytes(RoundToInteger(ParseQuantity(plain ? text + " B" : text, Dimension::kByteSize)));
  } catch (const Error& error) {
    throw error.At("--bytes");
  }
}

// "64MB", "1MB,8MB", "1MB:4GB" (times 2), "1MB:4GB:x4".
std::vector<Bytes> ParseSizes(const std::string& text) {
  std::vector<Bytes> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t colon = part.find(':');
    if (colon == std::string::npos) {
      sizes.push_back(ParseBytes(part));
    } else {
      const std::size_t second = part.find(':', colon + 1);
      const Bytes first = ParseBytes(part.substr(0, colon));
      const Bytes last = ParseBytes(part.substr(colon + 1, second - colon - 1));
      std::int64_t factor = 2;
      if (second != std::string::npos) {
        const std::string step = part.substr(second + 1);
        if (step.size() < 2 || step.size() > 7 || step[0] != 'x' ||
            step.find_first_not_of("0123456789", 1) != std::string::npos ||
            (factor = std::stoll(step.substr(1))) < 2) {
          throw Error("--bytes {}: a range ends in :xN, as in 1MB:4GB:x4", Printable(text));
        }
      }
      if (last < first) throw Error("--bytes {}: the range runs backwards", Printable(text));
      for (Bytes size = first; size <= last; size = size * factor) sizes.push_back(size);
    }
    if (sizes.size() > kMostSizes) {
      throw Error("--bytes {}: more than {} sizes", Printable(text), kMostSizes);
    }
    begin = end + 1;
  }
  return sizes;
}

ForcedCollective ForcedOf(const Options& options) {
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

struct Row {
  CollectiveCall call;
  CollectiveRun run;

  double AlgorithmBandwidth() const { return call.bytes.AsDouble() / run.time().value(); }
};

std::string RowsText(const std::vector<Row>& rows, const std::string& where,
                     std::size_t max_width) {
  const CollectiveCall& first = rows.front().call;
  std::string text = fmt::format(
      "{} of {} devices{} on {}\n\n", Name(first.op), first.group.size,
      first.group.stride > 1 ? fmt::format(", each {} behind the other", first.group.stride) : "",
      where);
  Table table({"buffer", "sent in a ring", "time", "latency", "algorithm GB/s", "bus GB/s",
               "runs as", "link that limits"},
              {false, false, false, false, false, false, true, true});
  for (const Row& row : rows) {
    const double bandwidth = row.AlgorithmBandwidth();
    table.Add({ReadableBytes(row.call.bytes), ReadableBytes(RingBytes(row.call)),
               ReadableTime(row.run.time()), ReadableTime(row.run.latency),
               fmt::format("{:.2f}", bandwidth / 1e9),
               fmt::format("{:.2f}", bandwidth * BusFactor(row.call) / 1e9),
               row.run.algorithm +
                   (where.ends_with("/s") ? "" : fmt::format(" {}", Name(row.run.protocol))),
               row.run.link});
  }
  table.MayDrop({"sent in a ring", "latency", "algorithm GB/s", "link that limits"});
  return text + table.Fit(max_width, "--format json has them");
}

std::string RowsJson(const std::vector<Row>& rows, const std::string& where) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Row& row : rows) {
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
  return Json({{"schema", "dlcost.collective/1"}, {"system", where}, {"rows", std::move(list)}})
             .dump(2) +
         "\n";
}

int Run(const Options& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  if (options.system.empty() == options.bandwidth.empty()) {
    throw Error("on what? --system NAME (`dlcost systems` lists them) or --bandwidth 100GB/s");
  }
  CollectiveCall call;
  call.op = ParseCollectiveOp(options.op);
  call.group.stride = options.stride;
  if (options.stride < 1) throw Error("--stride {}: it is 1 or more", options.stride);
  const ForcedCollective forced = ForcedOf(options);
  std::optional<System> system;
  std::optional<ByteRate> rate;
  if (options.system.empty()) {
    rate = ByteRate(ParseQuantity(options.bandwidth, Dimension::kByteRate));
  } else {
    system = OpenSystems().Find(options.system);
  }
  std::vector<std::int64_t> sizes = {system ? system->node_devices : 2};
  if (!options.devices.empty()) sizes = ParseSizeList("--devices", options.devices).Sizes();
  std::string text;
  std::vector<Row> all;
  const std::string where = system ? system->id : "links of " + options.bandwidth;
  for (const std::int64_t size : sizes) {
    if (size < 2 || size > kMostDevices) {
      throw Error("--devices {}: a collective has 2 to {}", size, kMostDevices);
    }
    call.group.size = static_cast<int>(size);
    std::vector<Row> rows;
    for (const Bytes bytes : ParseSizes(options.bytes)) {
      call.bytes = bytes;
      if (rate) {
        rows.push_back({call, {"ring", {}, Seconds(), RingBytes(call) / *rate, "-"}});
      } else {
        rows.push_back({call, BestCollective(*system, call, forced)});
      }
    }
    text += (text.empty() ? "" : "\n") + RowsText(rows, where, WidthOf(options.output));
    all.insert(all.end(), rows.begin(), rows.end());
  }
  WriteRendered(options.output, options.format,
                options.format == "json" ? RowsJson(all, where) : text);
  return 0;
}

}  // namespace

void AddCollectiveCommand(Commands& commands) {
  auto options = std::make_shared<Options>();
  CLI::App* app = commands.app.add_subcommand("collective",
                                              "how long devices of a system take to exchange data");
  app->footer(kExamples);
  app->add_option("op", options->op,
                  "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast or send")
      ->type_name("OP")
      ->capture_default_str();
  AddSystemOption(*app, options->system);
  app->add_option("--bandwidth", options->bandwidth, "of a bare link, instead of a system")
      ->type_name("RATE");
  app->add_option("--devices", options->devices, "how many: 8, 2,4,8 or 8:1024:x2; else a node's")
      ->type_name("N");
  app->add_option("--stride", options->stride, "from one device of the group to the next")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--bytes", options->bytes, "of the buffer: 64MB, 1MB,8MB, 1MB:4GB, 1KiB:1GiB:x4")
      ->type_name("SIZES")
      ->capture_default_str();
  app->add_option("--algorithm", options->algorithm, "only this algorithm")->type_name("NAME");
  app->add_option("--protocol", options->protocol, "only LL, LL128 or Simple")->type_name("NAME");
  AddOutputOptions(*app, options->format, options->output);
  app->callback([&commands, options] { commands.run = [options] { return Run(*options); }; });
}

}  // namespace dlcost
