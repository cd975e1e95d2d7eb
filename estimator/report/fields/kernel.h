#pragma once

#include <algorithm>

#include "estimator/core/integer.h"
#include "estimator/report/fields/sums.h"
#include "estimator/report/fields/vocabulary.h"
#include "estimator/report/kernel_views.h"
#include "estimator/report/report.h"

namespace dlcost::fields {

// A line of what is executed, with its stage.
template <typename OfStage, typename OfTerm>
struct StageTerm {
  OfStage& stage;
  OfTerm& term;
};

template <typename OfStage, typename OfTerm>
void Fields(auto& v, const StageTerm<OfStage, OfTerm>& of) {
  v.Field("stage", of.stage.name);
  v.Field("what", of.term.what);
  v.Field("kind", of.term.kind);
  v.Field("pipe", of.term.pipe);
  v.Field("dtype", of.term.type);
  v.Field("fma", of.term.instructions.fma);
  v.Field("add", of.term.instructions.add);
  v.Field("mul", of.term.instructions.mul);
  v.Field("special", of.term.instructions.special);
}

// Of all stages. Read back, neighbours with stages of one name are one stage.
template <typename Of>
struct Terms {
  Of& execution;

  explicit Terms(Of& of) : execution(of) {}
  void Each(auto take) const {
    for (const Stage& stage : execution.stages) {
      for (const Term& term : stage.terms) take(StageTerm<const Stage, const Term>{stage, term});
    }
  }
  void Append(auto fill) {
    Stage stage;
    Term term;
    const StageTerm<Stage, Term> both{stage, term};
    fill(both);
    auto& stages = execution.stages;
    if (stages.empty() || stages.back().name != stage.name) stages.push_back(std::move(stage));
    stages.back().terms.push_back(std::move(term));
  }
};

// What is executed, and what that moves besides operands.
void Executed(auto& v, auto& execution) {
  Terms terms(execution);
  v.If(true, "executed", List(terms));
  Bytes read = execution.ExtraRead(), written = execution.ExtraWritten();
  v.If(true, "extra_read_bytes", read);
  v.If(true, "extra_written_bytes", written);
  v.If(true, "workspace_bytes", execution.workspace);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(execution)>>) {
    if (execution.stages.empty()) execution.stages.emplace_back();
    execution.stages.front().extra_read = read;  // of all stages
    execution.stages.front().extra_written = written;
  }
}

// The matrix product that a kernel is, with a device in which tiles.
struct Product {
  GemmNest nest;
  bool known = false, tiled = false;
  std::array<Count, 3> tile;  // m, n, k
  Count split_k = 1, blocks;
  double waves = 0;

  Product(const KernelRow& kernel, Count units) {
    const std::optional<GemmNest> product = ProductOf(kernel);
    known = product.has_value();
    if (known) nest = *product;
    const TileGrid* grid = kernel.execution == nullptr ? nullptr : kernel.execution->Grid();
    tiled = grid != nullptr;
    if (!tiled) return;
    tile = {grid->tile_m, grid->tile_n, grid->tile_k};
    split_k = grid->split_k;
    blocks = grid->Blocks();
    waves = blocks.AsDouble() / units.AsDouble();
  }
};

void Fields(auto& v, IsA<Product> auto& product, const KernelRow& kernel) {
  v.Field("batch", product.nest.batch);
  v.Field("m", product.nest.m);
  v.Field("n", product.nest.n);
  v.Field("k", product.nest.k);
  v.If(product.tiled, "tile", product.tile);
  v.If(product.tiled, "split_k", product.split_k);
  v.If(product.tiled, "blocks", product.blocks);
  v.If(product.tiled, "waves", product.waves);
  v.If(product.tiled, "padding", Told{[&] { return kernel.execution->PaddingShare(); }});
}

// Of its grid, a report tells the tiles and how many they are; of its device, how many run at once.
inline void KeepProduct(const KernelRow&, const Product&, const Report&) {}
inline void KeepProduct(KernelRow& kernel, const Product& product, Report& report) {
  if (!product.known) return;
  kernel.nest = product.nest;
  const auto& [m, n, k] = product.tile;
  const bool tiled = std::min({m, n, k, product.split_k, product.blocks}) > Count(0);
  if (kernel.execution == nullptr || !tiled || product.waves <= 0) return;
  auto execution = std::make_shared<Execution>(*kernel.execution);
  execution->stages.front().grid = TileGrid{.batch = product.blocks / product.split_k,
                                            .m = m,
                                            .n = n,
                                            .k = k,
                                            .tile_m = m,
                                            .tile_n = n,
                                            .tile_k = k,
                                            .split_k = product.split_k};
  kernel.execution = std::move(execution);
  if (!report.device) return;
  const double units = product.blocks.AsDouble() / product.waves;
  report.device->units = std::max(Count(1), Count(RoundToInteger(units)));
}

// `v.Node` tells a node by its name.
void Kernel(auto& v, IsA<KernelRow> auto& kernel, auto& report) {
  v.Field("id", kernel.id);
  v.Later("op", kernel.op);
  v.Node("main", kernel.main);
  v.Field("nodes", kernel.nodes);
  v.Field("algorithm", kernel.algorithm);
  v.Later("launches", kernel.launches, Count(1));
  Counts(v, kernel.sums);
  v.Field("executed_flops", kernel.executed);
  v.Later("least_flops", kernel.least, kernel.sums.flops);
  BothWays(v, kernel.sums);
  v.Later("executed_bytes", Told{[&] { return kernel.executed_bytes(); }});
  v.Field("intensity", Told{kernel.sums.intensity()});
  v.Field("limiter", kernel.limiter);
  v.If(!kernel.waits_for.empty(), "limited_by", kernel.waits_for);
  v.If(kernel.repeat > Count(1), "repeat", kernel.repeat);
  Times(v, kernel.sums);
  v.If(kernel.expected_low && kernel.expected_high, "expected_range_s",
       Range(kernel.expected_low, kernel.expected_high));
  v.Later("label", kernel.label);
  v.If(!kernel.runner_up.empty(), "runner_up", kernel.runner_up);
  v.If(kernel.math != DType::kUndefined, "math", kernel.math);
  Product product(kernel, report.device ? report.device->units : Count(1));
  v.If(product.known, "gemm", Object{[&](auto& in) {
         product.known = true;
         Fields(in, product, kernel);
       }});
  v.Together(kernel.execution != nullptr, "executed", [&] {
    WithShared(kernel.execution, [&](auto& execution) { Executed(v, execution); });
  });
  DoubtWord(v, kernel.doubt);
  Keep(kernel.sums.nodes, static_cast<std::int64_t>(kernel.nodes.size()));
  KeepProduct(kernel, product, report);
}

}  // namespace dlcost::fields
