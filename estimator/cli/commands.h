#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace dlcost {

// The subcommand that was chosen leaves here what to do; the value it returns is the exit code
// (docs: 0 done, 1 a check failed, 2 wrong input).
struct Commands {
  CLI::App& app;
  std::function<int()> run;
  std::vector<std::string> words = {};  // the command line, the subcommand first
  bool quiet = false;                   // nothing says how far it is
};

// `dlcost calibrate`: fits the time model's constants to measured latencies.
void AddCalibrateCommand(Commands& commands);
// `dlcost train model.onnx -o step.onnx`: a training step as an ONNX file.
void AddTrainCommand(Commands& commands);
// `dlcost explain`: the expected time of one kernel, step by step.
void AddExplainCommand(Commands& commands);

// One file per subcommand. Each adds its options to the app and sets `run` from its callback.
void AddOpsCommand(Commands& commands);         // `dlcost ops [NAME]`
void AddReportCommand(Commands& commands);      // `dlcost model.onnx ...`, the default
void AddGpusCommand(Commands& commands);        // `dlcost gpus [NAME]`
void AddRuntimesCommand(Commands& commands);    // `dlcost runtimes [NAME]`
void AddSystemsCommand(Commands& commands);     // `dlcost systems [NAME]`
void AddCollectiveCommand(Commands& commands);  // `dlcost collective all_reduce --system NAME`
void AddScaleCommand(Commands& commands);       // `dlcost scale model.onnx --system NAME`
void AddInputCommand(Commands& commands);       // `dlcost input --item 150528B ...`
void AddParallelCommand(Commands& commands);    // `dlcost parallel model.onnx --parallel dp=4,pp=2`
void AddNetworkCommand(Commands& commands);     // `dlcost network resnet50 -o resnet50.onnx`
void AddDiffCommand(Commands& commands);        // `dlcost diff old.onnx new.onnx`
void AddCompareCommand(Commands& commands);     // `dlcost compare model.onnx --measured FILE`
void AddMeasuredCommand(Commands& commands);    // `dlcost measured ncu.csv --gpu a100`
void AddFitCommand(Commands& commands);         // `dlcost fit runs.csv --x layers --y flops`
void AddCheckCommand(Commands& commands);       // `dlcost check new.onnx --baseline baseline.json`
void AddHtmlCommand(Commands& commands);        // `dlcost html model.onnx --gpu a100 -o model.html`
void AddPlotCommand(Commands& commands);        // `dlcost plot roofline model.onnx -o roofline.svg`
void AddFormulaCommand(Commands& commands);     // `dlcost formula model.onnx`
void AddSweepCommand(Commands& commands);       // `dlcost sweep model.onnx --batch 1:1024:x2`

}  // namespace dlcost
