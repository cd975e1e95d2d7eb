#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/core/units.h"
#include "estimator/hardware/core_machine.h"
#include "estimator/hardware/number_format.h"
#include "estimator/hardware/systolic_machine.h"

namespace dlcost {

using Hertz = Measure<struct HertzTag>;
using Watts = Measure<struct WattTag>;

enum class DeviceKind { kGpu, kCpu, kTpu, kNpu };
std::string_view Name(DeviceKind kind);  // "gpu", "cpu", "tpu", "npu"

// What executes arithmetic. kVector: CUDA cores, stream processors, SIMD lanes of a CPU core.
// kTensor: matrix units (tensor core, matrix core, AMX, MXU, MME).
enum class UnitKind { kVector, kTensor };
std::string_view Name(UnitKind unit);  // "vector", "tensor"

// A dense peak of the whole device. A multiply-add counts as two operations; integer rates (TOP/s)
// use the same type.
struct Rate {
  UnitKind unit;
  NumberFormat input;       // of the factors
  NumberFormat accumulate;  // of the sum
  FlopRate peak;
};

// Operations per clock cycle of one unit (SM, CU, core): an independent statement, mostly from
// programming guides, that checks the peaks (units x operations x clock).
struct UnitRate {
  UnitKind unit;
  NumberFormat input;
  NumberFormat accumulate;
  double per_clock;
};

// One level of the memory hierarchy, summed over the device.
struct MemoryLevel {
  std::string name;                   // "device memory", "L2", "Infinity Cache", "L3", "VMEM"
  std::string type;                   // "HBM2e", "DDR5-4800 x8"; empty for caches
  std::optional<Bytes> size;          // absent: not public
  std::optional<ByteRate> bandwidth;  // rated by the vendor, reads and writes together
  std::optional<ByteRate> sustained;  // measured by a streaming benchmark
};

// Limits of one unit (SM, CU, core); absent where not public or without meaning.
struct UnitLimits {
  std::optional<int> threads;          // resident threads
  std::optional<int> blocks;           // resident thread blocks
  std::optional<Bytes> registers;      // register file
  std::optional<Bytes> shared_memory;  // the most that blocks of one unit can use
  std::optional<Bytes> l1;             // L1 and shared memory together
};

// A connection to the host or to other devices.
struct Link {
  std::string name;                       // "PCIe 4.0 x16", "NVLink4"
  std::optional<int> links;               // lanes or links that `bidirectional` adds up
  std::optional<ByteRate> bidirectional;  // both directions added, all links
};

// Where one value comes from, for people: `dlcost gpus a100` prints these.
struct Fact {
  std::string path;       // "memory.bandwidth", "rates.tensor.fp16"
  std::string text;       // as written: "2039 GB/s"
  std::string source;     // the document, or "derived from ..."
  std::string elsewhere;  // what other documents say
  std::string note;
  std::string differs;  // why units x operations x clock gives something else
};

// A device as its file in hw_specs/ describes it. Absent means "not public", never zero.
struct Device {
  std::string id;  // the file's stem: "a100-sxm4-80gb"
  std::string name;
  std::vector<std::string> aliases;
  std::string vendor;
  DeviceKind kind = DeviceKind::kGpu;
  std::string architecture;                       // "Ampere"
  std::optional<std::string> compute_capability;  // NVIDIA: "8.0"
  std::optional<std::string> target;              // compiler target: "sm_80", "gfx942"
  std::optional<int> year;                        // of launch
  std::string form;                               // "SXM4", "PCIe dual-slot", "socket"
  std::string scope;  // what "one device" is where that is not obvious: "one die of two"

  std::string confidence;  // "high": vendor documents agree; "medium": partly derived; "low"

  std::optional<int> units;         // SMs, CUs, cores, ...
  std::string unit_name;            // "SM", "CU", "core", "TensorCore"
  std::string vector_name;          // what its vector lanes are called: "CUDA cores", "AVX-512"
  std::string tensor_name;          // what its matrix units are called; empty when it has none
  std::optional<int> lanes;         // fp32 lanes per unit
  std::optional<int> tensor_units;  // matrix units in the whole device

  std::optional<Hertz> base_clock;
  std::optional<Hertz> boost_clock;   // the vector peaks hold at this clock
  std::optional<Hertz> tensor_clock;  // where the vendor's tensor peaks use another clock
  std::optional<Hertz> max_clock;     // that kernels run at where boards go beyond the vendor's

  std::vector<Rate> rates;
  std::vector<UnitRate> unit_rates;
  MemoryLevel memory;  // device memory
  // On-chip levels that keep data between kernels, the one nearest to memory first; CPU cores'
  // private caches and software-managed memories included.
  std::vector<MemoryLevel> caches;
  UnitLimits per_unit;
  std::optional<SystolicMachine> systolic;  // matrix products run on systolic arrays
  std::optional<CoreMachine> cores;         // a processor's: kernels are blocked for its caches
  std::vector<Link> links;
  std::optional<Watts> power;
  std::optional<int> process;  // nm, by the name of the manufacturing process ("4N" counts as 5)
  std::vector<NumberFormat> sparsity;  // formats whose tensor rate doubles with 2:4 sparsity
  // Best matrix product that a benchmark reached, by input format: a hint, not a specification.
  std::map<NumberFormat, FlopRate> measured_matmul;
  // Named constants of the time model ("launch", in SI units), free to grow. See docs/timing.md.
  std::map<std::string, double> timing;
  // Ids of the devices whose measured rows gave them; none: they are those of the neighbours,
  // files of the nearest architectures, the first that gives a constant.
  std::vector<std::string> calibrated_on;
  std::vector<std::string> timing_neighbours;

  std::vector<std::string> notes;
  std::vector<Fact> facts;         // in the order of the schema
  std::vector<std::string> files;  // that the device was read from, the device's own first

  // The listed peak, or nullptr where the documents list none.
  const Rate* FindRate(UnitKind unit, NumberFormat input, NumberFormat accumulate) const;
  // The first (preferred) accumulate type listed for the input.
  const Rate* FindRate(UnitKind unit, NumberFormat input) const;
  const Fact* FindFact(std::string_view path) const;
  std::optional<double> Timing(const std::string& name) const;
  // Bytes that can still be on the chip when a kernel starts: all of `caches`. Registers, L1 and
  // shared memory of GPUs do not outlive a kernel. Zero when no size is public.
  Bytes WarmCapacity() const;
};

}  // namespace dlcost
