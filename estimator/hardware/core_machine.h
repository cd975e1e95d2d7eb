#pragma once

namespace dlcost {

struct Device;

// What the cores of a processor are to a program that blocks its loops for them: registers and
// caches, and what passes between those per clock.
struct CoreMachine {
  int vector_bytes = 0;  // of one vector register
  int registers = 0;     // vector registers that a program names
  int tile_rows = 0;     // of a matrix unit's tile register, 64 bytes each; 0: no matrix unit
  double l2_rate = 0;    // bytes per clock that a core's L2 delivers to it
  double l3_rate = 0;    // bytes per clock that the shared cache delivers to one core, all reading
  double memory_share = 1;  // of the rated bandwidth that all cores sustain together
  // Of the multiply-adds of floats in vectors at the base clock, what all cores sustain together.
  double float_share = 1;
  // Seconds for one core to start on a kernel; handing it to twice as many takes it once more.
  double kernel_time = 0;
  bool operator==(const CoreMachine&) const = default;
};

// The machine with what else a device's file says about its cores.
struct Cores {
  CoreMachine machine;
  int count = 1;
  double clock = 1e9;  // Hz, that all cores sustain in wide vectors
  // Share of the listed peaks that this clock leaves: those hold at the highest turbo.
  double clock_share = 1;
  double vector_per_clock = 0;  // multiply-adds of whole vector registers per clock and core
  double l1 = 0, l2 = 0;        // bytes of one core
  double l3 = 0;                // bytes of all cores; 0: none is listed

  // Lanes of a vector register for numbers of four bytes.
  int lanes() const { return machine.vector_bytes / 4; }
};

// Of a device with a `cores` section. Where a file lists no L1 or L2, cores have what the smallest
// of all in hw_specs/ have: 32 and 256 KiB.
Cores CoresOf(const Device& device);

}  // namespace dlcost
