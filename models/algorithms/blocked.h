#pragma once

#include "estimator/hardware/core_machine.h"
#include "models/algorithms/execution.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// Products on the cores of a processor, in loops that are blocked for its registers and caches
// (Goto and van de Geijn, TOMS 2008; Van Zee and van de Geijn, BLIS, TOMS 2015; how its blocks
// follow from registers and caches: Low et al., TOMS 2016). Innermost is a micro-kernel whose tile
// of the output stays in registers while it walks a block of k; code made for the shape cuts the
// last tiles instead of padding them (oneDNN), so that only whole registers and groups of k pad.

// The innermost loops for one type on one kind of unit.
struct MicroKernel {
  Pipe pipe = Pipe::kVector;
  DType type = DType::kFloat32;
  double bytes = 4;           // of one operand element
  int rows = 1;               // of the tile in registers
  int registers = 1;          // that a row of the tile takes
  int lanes = 1;              // outputs of one register
  int group = 1;              // steps of k that one instruction multiplies and adds up
  double per_clock = 1;       // instructions, each one row by one register, per clock
  double loads = 2;           // registers that arrive from the L1 per clock
  int loads_per_operand = 1;  // registers of the second operand for one of the tile, per group

  Count columns() const { return Count(registers) * lanes; }
  // Clocks for a tile of so many rows and registers, one group of k: as its instructions or its
  // loads take longer.
  double Clocks(double tile_rows, double tile_registers) const;
};

// `flops_per_clock` is the peak of one core for operands of `bytes` each, at the clock it holds
// for. On vector units the tile has the extents that reuse loaded registers most: v registers
// across and (all - v - 1) / v rows, one register for the broadcast row. A matrix unit has eight
// tile registers: two by two outputs, two of each operand (Intel, AMX).
MicroKernel MicroKernelFor(const Cores& cores, Pipe pipe, DType type, double bytes,
                           double flops_per_clock);

// Blocks of the loops around it: kc of k by a micro-kernel's columns fill half an L1, mc rows of it
// half an L2, nc columns of it half of the shared cache.
struct CacheBlocks {
  Count kc, mc, nc;
};
CacheBlocks BlocksFor(const Cores& cores, const MicroKernel& kernel);

// How a product is shared out, and what that takes of the core that has most.
struct BlockedPlacement {
  Count rows, columns;  // of the block that a core computes, cut at the ends of m and n
  Count passes;         // such blocks one after the other on a core
  Count busy;           // cores with a block
  double cycles = 0;    // of its units, all passes
  double l2_bytes = 0;  // from its L2, all passes
  double l3_bytes = 0;  // from the shared cache, all passes
};
// `first` is how many elements the first operand has: of a convolution the image, not its columns.
BlockedPlacement PlaceBlocked(const GemmNest& nest, Count first, const MicroKernel& kernel,
                              const Cores& cores);

// One product. The second operand of a product of two activations is packed first, weights were
// when the model was loaded.
Execution BlockedGemm(const GemmNest& nest, const MicroKernel& kernel, const Cores& cores);

// A convolution as its loops stand, over channels in blocks of a register's lanes (oneDNN,
// nChw16c): no column is written, each tap's channels pad to whole groups.
Execution BlockedConv(const ConvNest& nest, const MicroKernel& kernel, const Cores& cores);

// Scores and probabilities through memory, each head's two products blocked.
Execution BlockedAttention(const AttentionNest& nest, const MicroKernel& kernel,
                           const Cores& cores);

// All inputs in one product, then one product per step over the hidden state.
Execution BlockedRecurrent(const RecurrentNest& nest, const MicroKernel& kernel,
                           const Cores& cores);

}  // namespace dlcost
