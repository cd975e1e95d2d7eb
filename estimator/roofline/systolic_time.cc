#include "estimator/roofline/systolic_time.h"

#include <algorithm>
#include <cmath>

#include "models/algorithms/systolic.h"

namespace dlcost {
namespace {

constexpr double kBytesPerBlockOutput = 8;

double Macs(const TileGrid& grid) {
  return grid.batch.AsDouble() * grid.m.AsDouble() * grid.n.AsDouble() * grid.k.AsDouble();
}

// How often the stage's product runs: steps of a recurrence, rounds of a loop.
double ProductRuns(const Stage& stage) {
  double products = 0;
  for (const Term& term : stage.terms) {
    if (term.kind == TermKind::kProducts) products += term.instructions.fma.AsDouble();
  }
  const double macs = Macs(*stage.grid);
  return macs > 0 ? products / macs : 0;
}

}  // namespace

double BytesReadAgain(const TileGrid& grid, double element_bytes, double operand_bytes,
                      double on_chip) {
  const double second =
      grid.batch.AsDouble() * grid.k.AsDouble() * grid.n.AsDouble() * element_bytes;
  // Of a convolution the image, not its unfolded columns.
  const double first = std::max(
      0.0, std::min(grid.batch.AsDouble() * grid.m.AsDouble() * grid.k.AsDouble() * element_bytes,
                    operand_bytes - second));
  const double room = on_chip / 2, batch = std::max(1.0, grid.batch.AsDouble());
  if (room <= 0 || std::min(first, second) / batch <= room) return 0;
  const double block = std::sqrt(room / kBytesPerBlockOutput);
  const double down = std::ceil(grid.m.AsDouble() / block);
  const double across = std::ceil(grid.n.AsDouble() / block);
  return first * (across - 1) + second * (down - 1);
}

SystolicTime ExpectedSystolic(const SystolicMachine& machine, const Execution* execution,
                              const SystolicRates& rates, const SystolicLoad& load) {
  SystolicTime time;
  time.bytes = load.bytes;
  double operations = load.vector_operations;
  if (execution != nullptr) {
    time.bytes += (execution->ExtraRead() + execution->ExtraWritten()).AsDouble();
    for (const Stage& stage : execution->stages) {
      if (!stage.grid) continue;
      const TileGrid& grid = *stage.grid;
      const GemmNest nest{.batch = grid.batch, .m = grid.m, .n = grid.n, .k = grid.k};
      const double runs = ProductRuns(stage);
      time.cycles += runs * PlaceProduct(nest, machine).cycles.AsDouble();
      time.bytes += BytesReadAgain(grid, load.element_bytes, load.bytes_read, rates.on_chip);
      // Each result leaves its accumulator through the vector units.
      operations += runs * grid.batch.AsDouble() * grid.m.AsDouble() * grid.n.AsDouble();
    }
  }
  if (rates.peak > 0) {
    // Clocks per second of each array: what the peak of this type says, not the chip's clock.
    const double clock = rates.peak / 2 / machine.rows / machine.columns / machine.arrays;
    time.array = time.cycles / clock / machine.array_share;
  }
  time.vector = operations / machine.vector_rate;
  time.memory = time.bytes / (rates.memory * machine.memory_share);
  time.kernels = load.kernels * machine.kernel_time;
  time.seconds = std::max(time.array + time.vector, time.memory) + time.kernels;
  return time;
}

}  // namespace dlcost
