#include <algorithm>
#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/job_options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/hardware/quantity_text.h"
#include "estimator/infer/sizes.h"
#include "estimator/parallel/collective_table.h"

namespace dlcost {
namespace {

struct CollectiveArguments {
  std::string op = "all_reduce";
  std::string system;
  std::string bandwidth;
  std::string devices;
  std::int64_t stride = 1;
  std::string bytes = "1MB:1GB";
  std::string algorithm, protocol;
  std::string format = "text";
  std::string output;
};

constexpr const char* kCollectiveExamples =
    "Examples:\n"
    "  dlcost collective all_reduce --system dgx-h100 --devices 64 --bytes 1MB:4GB\n"
    "  dlcost collective all_to_all --system dgx-a100 --devices 8 --bytes 64MiB --format json\n"
    "  dlcost collective all_reduce --system dgx-a100 --devices 8 --stride 8 --bytes 100MB\n"
    "  dlcost collective all_reduce --bandwidth 100GB/s --devices 4 --bytes 93930496\n"
    "--bandwidth instead of --system is the arithmetic of a ring alone: bytes over bandwidth.\n";

constexpr int kMostSizes = 200;

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

int RunCollectiveCommand(const CollectiveArguments& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  if (options.system.empty() == options.bandwidth.empty()) {
    throw Error("on what? --system NAME (`dlcost systems` lists them) or --bandwidth 100GB/s");
  }
  if (!options.bandwidth.empty()) {
    const auto refuse = [](bool given, const char* option) {
      if (given) throw Error("{} is for --system: --bandwidth is the arithmetic of a ring", option);
    };
    refuse(!options.algorithm.empty(), "--algorithm");
    refuse(!options.protocol.empty(), "--protocol");
    refuse(options.stride != CollectiveArguments().stride, "--stride");
  }
  CollectiveRequest request{.op = ParseCollectiveOp(options.op),
                            .stride = options.stride,
                            .sizes = ParseSizes(options.bytes),
                            .algorithm = options.algorithm,
                            .protocol = options.protocol};
  std::optional<System> system;
  if (options.system.empty()) {
    request.bandwidth = ByteRate(ParseQuantity(options.bandwidth, Dimension::kByteRate));
    request.bandwidth_text = options.bandwidth;
  } else {
    request.system = &system.emplace(OpenSystems().Find(options.system));
  }
  if (!options.devices.empty()) {
    request.devices = ParseSizeList("--devices", options.devices).Sizes();
  }
  const CollectiveTable table = RunCollectives(request);
  WriteRendered(options.output, options.format,
                options.format == "json" ? CollectiveJson(table)
                                         : CollectiveText(table, WidthOf(options.output)));
  return 0;
}

}  // namespace

void AddCollectiveCommand(Commands& commands) {
  auto options = std::make_shared<CollectiveArguments>();
  CLI::App* app = commands.app.add_subcommand("collective",
                                              "how long devices of a system take to exchange data");
  app->footer(kCollectiveExamples);
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
  app->callback([&commands, options] {
    commands.run = [options] { return RunCollectiveCommand(*options); };
  });
}

}  // namespace dlcost
