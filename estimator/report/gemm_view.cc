#include <fmt/format.h>

#include "estimator/report/format.h"
#include "estimator/report/kernel_views.h"
#include "estimator/report/runtime_text.h"
#include "estimator/report/table.h"
#include "models/algorithms/convolution.h"

namespace dlcost {
namespace {

std::string WholeText(Count count) { return std::to_string(count.value()); }

// The pipe of the stage that does most.
Pipe PipeOf(const Execution& execution) {
  return execution.On(Pipe::kTensor).fma > Count(0) ? Pipe::kTensor : Pipe::kVector;
}

void AddTiles(std::vector<std::string>& cells, const KernelRow& kernel, Count units) {
  const TileGrid* grid = kernel.execution == nullptr ? nullptr : kernel.execution->Grid();
  const std::string pipe =
      kernel.execution == nullptr ? "-" : std::string(Name(PipeOf(*kernel.execution)));
  if (grid == nullptr) {
    cells.insert(cells.end(), {kernel.algorithm, pipe, "-", "-", "-", "-"});
    return;
  }
  const double waves = grid->Blocks().AsDouble() / units.AsDouble();
  cells.insert(cells.end(),
               {kernel.algorithm, pipe, TileText(*grid), WholeText(grid->Blocks()),
                fmt::format("{:.2f}", waves), Percent(kernel.execution->PaddingShare())});
}

}  // namespace

std::string TileText(const TileGrid& grid) {
  std::string text = fmt::format("{}x{}x{}", grid.tile_m, grid.tile_n, grid.tile_k);
  if (grid.split_k > Count(1)) text += fmt::format(" split {}", grid.split_k);
  return text;
}

std::optional<GemmNest> ProductOf(const KernelRow& kernel) {
  if (const auto* gemm = std::get_if<GemmNest>(&kernel.nest)) return *gemm;
  if (const auto* conv = std::get_if<ConvNest>(&kernel.nest)) return AsGemm(*conv);
  return std::nullopt;
}

std::string RenderGemmView(const Report& report, std::size_t max_width) {
  std::vector<std::string> head = {"node", "batch", "m", "n", "k", "type"};
  std::vector<bool> left = {true, false, false, false, false, true};
  if (report.device) {
    for (const char* name : {"algorithm", "pipe", "tile", "blocks", "waves", "padding"}) {
      head.emplace_back(name);
      left.push_back(head.size() <= 9);
    }
  }
  Table table(head, left);
  bool any = false;
  for (const KernelRow& kernel : report.kernels) {
    const std::optional<GemmNest> gemm = ProductOf(kernel);
    if (!gemm || kernel.launches == Count(0)) continue;
    any = true;
    std::vector<std::string> cells = {Printable(report.nodes[kernel.main].name),
                                      WholeText(gemm->batch),
                                      WholeText(gemm->m),
                                      WholeText(gemm->n),
                                      WholeText(gemm->k),
                                      std::string(Name(kernel.math))};
    if (report.device) AddTiles(cells, kernel, report.device->units);
    table.Add(std::move(cells));
  }
  if (!any) return "no kernel is a matrix product\n";
  table.MayDrop({"padding", "algorithm", "pipe", "blocks"});
  return fmt::format("runtime {}\n\n", RuntimeText(report.options)) +
         table.Fit(max_width, "-o FILE or a pipe has them");
}

}  // namespace dlcost
