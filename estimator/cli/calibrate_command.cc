#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/output.h"
#include "estimator/request/calibration.h"

namespace dlcost {
namespace {

struct CalibrateArguments {
  CalibrationRequest asked;
  std::string output;
};

constexpr const char* kCalibrateExamples =
    "Examples:\n"
    "  dlcost calibrate --gpu ./my_chip.yaml --measured gemm.csv -o timing.yaml\n"
    "  dlcost calibrate --gpu v100-pcie-32gb,v100-sxm2-16gb --measured gemm.csv,conv.csv\n"
    "The output is a `timing:` section for the device's file in hw_specs/.\n";

int RunCalibrateCommand(const CalibrateArguments& options) {
  WriteOutput(options.output, TimingYaml(CalibrateDevices(options.asked)));
  return 0;
}

}  // namespace

void AddCalibrateCommand(Commands& commands) {
  CLI::App* app = commands.app.add_subcommand(
      "calibrate", "fit the time model's constants of a device to measured latencies");
  app->footer(kCalibrateExamples);
  auto options = std::make_shared<CalibrateArguments>();
  app->add_option("--gpu", options->asked.devices,
                  "Device, or devices of one architecture, to fit together")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option("--measured", options->asked.tables, "Tables of measured latencies (CSV)")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option("--source", options->asked.sources, "Only rows of these sources")
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option("--sample", options->asked.sample,
                  "Fit at most so many rows of each device, source, type and operator");
  app->add_flag("--common", options->asked.common,
                "Fit the constants that architectures share to all the devices at once; each keeps "
                "its own for the others");
  app->add_option("--prior", options->asked.fit.prior,
                  "How strongly constants are held at where they start")
      ->check(CLI::Range(0.0, 1.0));
  app->add_option("--keep", options->asked.fixed, "Constants that are not fitted")
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option("--set", options->asked.overrides,
                  "Start from another value: timing.launch.graph=3us")
      ->allow_extra_args(false);
  app->add_option("--fit-share", options->asked.fit_share,
                  "Share of the rows that is fitted; the rest scores the fit");
  app->add_option("--iterations", options->asked.fit.iterations, "Most steps of the fit")
      ->check(CLI::Range(1, 1000));
  app->add_option("-o,--output", options->output, "File to write; standard output if none");
  app->callback(
      [&commands, options] { commands.run = [options] { return RunCalibrateCommand(*options); }; });
}

}  // namespace dlcost
