#include "estimator/hardware/device_schema.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/core/spelling.h"
#include "estimator/hardware/section_reader.h"

namespace dlcost {
namespace {

NumberFormat DefaultAccumulate(UnitKind unit, NumberFormat input) {
  if (IsInteger(input)) return NumberFormat::kInt32;
  if (input == NumberFormat::kFp64) return NumberFormat::kFp64;
  return unit == UnitKind::kTensor ? NumberFormat::kFp32 : input;
}

// Reads sections in the order of the schema, which is the order of the facts.
class DeviceReader : SectionReader {
 public:
  DeviceReader(const Entry& root, std::string id) : SectionReader(root) {
    device_.id = std::move(id);
  }

  Device Read() {
    if (root_.kind != Entry::Kind::kMap) {
      throw Error("{}: expected a device, as 'key: value' lines", root_.Where());
    }
    Section(root_, "",
            {
                {"name", Text(&Device::name)},
                {"aliases", TextsInto(device_.aliases)},
                {"vendor", Text(&Device::vendor)},
                {"kind", [this](const Entry& e, const std::string&) { Kind(e); }},
                {"architecture", Text(&Device::architecture)},
                {"compute_capability", Text(&Device::compute_capability)},
                {"target", Text(&Device::target)},
                {"year", Year(&device_.year)},
                {"form", Text(&Device::form)},
                {"scope", Text(&Device::scope)},
                {"confidence",
                 [this](const Entry& e, const std::string&) {
                   device_.confidence = WantOneOf(e, {"high", "medium", "low"});
                 }},
                {"units", [this](const Entry& e, const std::string& p) { Units(e, p); }},
                {"clocks", [this](const Entry& e, const std::string& p) { Clocks(e, p); }},
                {"rates", [this](const Entry& e, const std::string& p) { Rates(e, p); }},
                {"per_clock", [this](const Entry& e, const std::string& p) { PerClock(e, p); }},
                {"sparsity_doubles", [this](const Entry& e, const std::string&) { Sparsity(e); }},
                {"memory", [this](const Entry& e,
                                  const std::string& p) { Level(e, p, device_.memory, true); }},
                {"caches", [this](const Entry& e, const std::string& p) { Caches(e, p); }},
                {"per_unit", [this](const Entry& e, const std::string& p) { PerUnit(e, p); }},
                {"systolic", [this](const Entry& e, const std::string& p) { Systolic(e, p); }},
                {"cores", [this](const Entry& e, const std::string& p) { CoresSection(e, p); }},
                {"links", [this](const Entry& e, const std::string& p) { Links(e, p); }},
                {"process_nm", Number(&device_.process)},
                {"power", Measured(&device_.power, Dimension::kPower)},
                {"measured", [this](const Entry& e, const std::string& p) { MeasuredPeaks(e, p); }},
                {"timing", [this](const Entry& e, const std::string& p) { Timing(e, p); }},
                {"calibration",
                 [this](const Entry& e, const std::string& p) {
                   Section(e, p,
                           {{"measured", TextsInto(device_.calibrated_on)},
                            {"neighbours", TextsInto(device_.timing_neighbours)},
                            // Merged below the measured constants when the files were read.
                            {"assumed", [](const Entry&, const std::string&) {}}});
                 }},
                {"notes", TextsInto(device_.notes)},
                {"sources", [](const Entry&, const std::string&) {}},
            });
    device_.memory.name = "device memory";
    Require(!device_.name.empty(), "name", "name: My Chip");
    Require(root_.Find("kind") != nullptr, "kind", "kind: gpu");
    Require(!device_.rates.empty(), "rates", "rates: {vector: {fp32: 19.5 TFLOP/s}}");
    Require(device_.memory.bandwidth.has_value(), "memory.bandwidth",
            "memory: {bandwidth: 2039 GB/s}");
    device_.facts = std::move(facts_);
    return std::move(device_);
  }

 private:
  Setter Text(std::string Device::*field) {
    return
        [this, field](const Entry& entry, const std::string&) { device_.*field = WantText(entry); };
  }
  Setter Text(std::optional<std::string> Device::*field) {
    return
        [this, field](const Entry& entry, const std::string&) { device_.*field = WantText(entry); };
  }
  void Kind(const Entry& entry) {
    const std::string& text = WantOneOf(entry, {"gpu", "cpu", "tpu", "npu"});
    for (const DeviceKind kind :
         {DeviceKind::kGpu, DeviceKind::kCpu, DeviceKind::kTpu, DeviceKind::kNpu}) {
      if (Name(kind) == text) device_.kind = kind;
    }
  }

  void Units(const Entry& entry, const std::string& path) {
    Section(entry, path,
            {{"count", Number(&device_.units)},
             {"name", Text(&Device::unit_name)},
             {"fp32_lanes", Number(&device_.lanes)},
             {"vector_name", Text(&Device::vector_name)},
             {"tensor_name", Text(&Device::tensor_name)},
             {"tensor_units", Number(&device_.tensor_units)}});
  }

  void Clocks(const Entry& entry, const std::string& path) {
    Section(entry, path,
            {{"base", Measured(&device_.base_clock, Dimension::kFrequency)},
             {"boost", Measured(&device_.boost_clock, Dimension::kFrequency)},
             {"tensor", Measured(&device_.tensor_clock, Dimension::kFrequency)},
             {"max", Measured(&device_.max_clock, Dimension::kFrequency)}});
  }

  static NumberFormat Format(const Entry& entry, const std::string& name) {
    if (const auto format = ParseNumberFormat(name)) return *format;
    std::vector<std::string> names;
    for (int i = 0; i < kNumberFormatCount; ++i) {
      names.emplace_back(Name(static_cast<NumberFormat>(i)));
    }
    throw Error("{}: unknown number format '{}'{}", entry.Where(), Printable(name),
                DidYouMean(name, names));
  }

  // Calls `use` for every "fp16: ..." or "fp16/fp32: ..." (input/accumulate) of vector and tensor.
  template <typename Use>
  void ByFormat(const Entry& entry, const std::string& path, const Use& use) {
    const auto read = [&](UnitKind unit) {
      return [&, unit](const Entry& section, const std::string& section_path) {
        WantMap(section);
        for (const Entry& child : section.children) {
          const std::size_t slash = child.key.find('/');
          const NumberFormat input = Format(child, child.key.substr(0, slash));
          const NumberFormat accumulate = slash == std::string::npos
                                              ? DefaultAccumulate(unit, input)
                                              : Format(child, child.key.substr(slash + 1));
          use(child, section_path + "." + child.key, unit, input, accumulate);
        }
      };
    };
    Section(entry, path,
            {{"vector", read(UnitKind::kVector)}, {"tensor", read(UnitKind::kTensor)}});
  }

  void Rates(const Entry& entry, const std::string& path) {
    ByFormat(entry, path,
             [&](const Entry& e, const std::string& p, UnitKind unit, NumberFormat input,
                 NumberFormat accumulate) {
               const FlopRate peak(Quantity(e, p, Dimension::kOperationRate));
               if (device_.FindRate(unit, input, accumulate)) {
                 throw Error("{}: the rate of {} is given twice", e.Where(), Printable(e.key));
               }
               device_.rates.push_back({unit, input, accumulate, peak});
             });
  }

  void PerClock(const Entry& entry, const std::string& path) {
    ByFormat(entry, path,
             [&](const Entry& e, const std::string& p, UnitKind unit, NumberFormat input,
                 NumberFormat accumulate) {
               device_.unit_rates.push_back(
                   {unit, input, accumulate, Quantity(e, p, Dimension::kPerClock)});
             });
  }

  void Sparsity(const Entry& entry) {
    WantList(entry);
    for (const Entry& format : entry.children) {
      device_.sparsity.push_back(Format(format, WantText(format)));
    }
  }

  void Level(const Entry& entry, const std::string& path, MemoryLevel& level, bool typed) {
    Keys keys = {{"size", Size(&level.size)},
                 {"bandwidth", Measured(&level.bandwidth, Dimension::kByteRate)},
                 {"sustained", Measured(&level.sustained, Dimension::kByteRate)}};
    if (typed) {
      keys.emplace(keys.begin(), "type", [&](const Entry& e, const std::string& p) {
        level.type = WantText(e);
        AddFact(e, p);
      });
    }
    Section(entry, path, keys);
  }

  void Caches(const Entry& entry, const std::string& path) {
    WantMap(entry);
    for (const Entry& child : entry.children) {
      MemoryLevel level;
      level.name = child.key;
      Level(child, path + "." + child.key, level, false);
      device_.caches.push_back(std::move(level));
    }
  }

  void PerUnit(const Entry& entry, const std::string& path) {
    UnitLimits& limits = device_.per_unit;
    Section(entry, path,
            {{"threads", Number(&limits.threads)},
             {"blocks", Number(&limits.blocks)},
             {"registers", Size(&limits.registers)},
             {"shared_memory", Size(&limits.shared_memory)},
             {"l1", Size(&limits.l1)}});
  }

  void Systolic(const Entry& entry, const std::string& path) {
    SystolicMachine machine;
    const auto number = [&](int SystolicMachine::*field) {
      return [this, &machine, field](const Entry& e, const std::string& p) {
        machine.*field = static_cast<int>(Quantity(e, p, Dimension::kNumber));
      };
    };
    const auto constant = [&](double SystolicMachine::*field, Dimension dimension) {
      return [this, &machine, field, dimension](const Entry& e, const std::string& p) {
        machine.*field = Quantity(e, p, dimension);
      };
    };
    Section(entry, path,
            {{"rows", number(&SystolicMachine::rows)},
             {"columns", number(&SystolicMachine::columns)},
             {"arrays", number(&SystolicMachine::arrays)},
             {"stationary", [&](const Entry& e, const std::string& p) { Holds(e, p, machine); }},
             {"switch_cycles", number(&SystolicMachine::switch_cycles)},
             {"least_side", number(&SystolicMachine::least_side)},
             {"vector_rate", constant(&SystolicMachine::vector_rate, Dimension::kOperationRate)},
             {"array_share", constant(&SystolicMachine::array_share, Dimension::kShare)},
             {"memory_share", constant(&SystolicMachine::memory_share, Dimension::kShare)},
             {"kernel_time", constant(&SystolicMachine::kernel_time, Dimension::kTime)}});
    if (machine.rows < 1 || machine.columns < 1 || machine.arrays < 1 || machine.vector_rate <= 0) {
      throw Error("{}: '{}' needs rows, columns, arrays and vector_rate", entry.Where(), path);
    }
    if (std::max({machine.rows, machine.columns, machine.arrays, machine.switch_cycles}) > 65536 ||
        machine.least_side > std::min(machine.rows, machine.columns)) {
      throw Error("{}: '{}' describes no array that exists", entry.Where(), path);
    }
    for (const double share : {machine.array_share, machine.memory_share}) {
      if (share <= 0 || share > 1) {
        throw Error("{}: shares in '{}' lie between 0 and 100 %", entry.Where(), path);
      }
    }
    device_.systolic = machine;
  }

  void CoresSection(const Entry& entry, const std::string& path) {
    CoreMachine machine;
    const auto number = [&](int CoreMachine::*field) {
      return [this, &machine, field](const Entry& e, const std::string& p) {
        machine.*field = Truncate<int>(Quantity(e, p, Dimension::kNumber));
      };
    };
    const auto constant = [&](double CoreMachine::*field, Dimension dimension) {
      return [this, &machine, field, dimension](const Entry& e, const std::string& p) {
        machine.*field = Quantity(e, p, dimension);
      };
    };
    Section(entry, path,
            {{"vector_bytes", number(&CoreMachine::vector_bytes)},
             {"registers", number(&CoreMachine::registers)},
             {"tile_rows", number(&CoreMachine::tile_rows)},
             {"l2_rate", constant(&CoreMachine::l2_rate, Dimension::kBytesPerClock)},
             {"l3_rate", constant(&CoreMachine::l3_rate, Dimension::kBytesPerClock)},
             {"memory_share", constant(&CoreMachine::memory_share, Dimension::kShare)},
             {"float_share", constant(&CoreMachine::float_share, Dimension::kShare)},
             {"kernel_time", constant(&CoreMachine::kernel_time, Dimension::kTime)}});
    if (machine.vector_bytes < 8 || machine.vector_bytes > 4096 || machine.registers < 8 ||
        machine.registers > 4096 || machine.tile_rows < 0 || machine.tile_rows > 4096) {
      throw Error("{}: '{}' needs vector_bytes and registers of cores that exist", entry.Where(),
                  path);
    }
    if (machine.l2_rate <= 0 || machine.l3_rate <= 0) {
      throw Error("{}: '{}' needs l2_rate and l3_rate", entry.Where(), path);
    }
    if (std::min(machine.memory_share, machine.float_share) <= 0 ||
        std::max(machine.memory_share, machine.float_share) > 1) {
      throw Error("{}: shares in '{}' lie between 0 and 100 %", entry.Where(), path);
    }
    device_.cores = machine;
  }

  void Holds(const Entry& entry, const std::string& path, SystolicMachine& machine) {
    const std::string& text = WantText(entry);
    AddFact(entry, path);
    if (text != "weights" && text != "outputs") {
      throw Error("{}: '{}' is none of weights, outputs", entry.Where(), Printable(text));
    }
    machine.stationary = text == "weights" ? Stationary::kWeights : Stationary::kOutputs;
  }

  void Links(const Entry& entry, const std::string& path) {
    WantMap(entry);
    for (const Entry& child : entry.children) {
      Link link;
      link.name = child.key;
      Section(child, path + "." + child.key,
              {{"links", Number(&link.links)},
               {"bidirectional", Measured(&link.bidirectional, Dimension::kByteRate)}});
      device_.links.push_back(std::move(link));
    }
  }

  void MeasuredPeaks(const Entry& entry, const std::string& path) {
    Section(entry, path, {{"matmul", [this](const Entry& section, const std::string& p) {
                             WantMap(section);
                             for (const Entry& child : section.children) {
                               device_.measured_matmul[Format(child, child.key)] = FlopRate(
                                   Quantity(child, p + "." + child.key, Dimension::kOperationRate));
                             }
                           }}});
  }

  void Timing(const Entry& entry, const std::string& path) {
    WantMap(entry);
    for (const Entry& child : entry.children) {
      device_.timing[child.key] = Quantity(child, path + "." + child.key, Dimension::kConstant);
    }
  }

  Device device_;
};

}  // namespace

Device ReadDevice(const Entry& root, const std::string& id) {
  return DeviceReader(root, id).Read();
}

}  // namespace dlcost
