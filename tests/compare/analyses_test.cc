#include "estimator/compare/analyses.h"

#include <gmock/gmock.h>

#include "estimator/compare/compare.h"
#include "estimator/compare/slice_table.h"

namespace dlcost {
namespace {

MeasuredPart Part(const std::string& name, KernelAlgorithm algorithm, KernelFamily family,
                  std::optional<double> flops, std::optional<double> bytes, double time) {
  MeasuredPart part;
  part.name = name;
  part.told.algorithm = algorithm;
  part.told.family = family;
  part.launches = 1;
  part.vector_flops = flops;
  part.dram_bytes = bytes;
  part.time = Seconds(time);
  return part;
}

CompareRow RowOfParts(const std::string& node, const std::string& op,
                      std::vector<MeasuredPart> parts) {
  CompareRow row;
  row.node = node;
  row.op = op;
  row.measured.launches = static_cast<double>(parts.size());
  PartSum flops, bytes;
  double time = 0;
  for (const MeasuredPart& part : parts) {
    flops.Add(part.vector_flops);
    bytes.Add(part.dram_bytes);
    time += part.time->value();
  }
  row.measured_flops = flops.value;
  row.measured.dram_bytes = bytes.value;
  row.measured.time = Seconds(time);
  row.measured.parts = std::move(parts);
  return row;
}

// Two convolutions of 2 and 6 s that share a transform's kernel, and a pooling that counts no
// FLOPs.
std::vector<CompareRow> ThreeLayers() {
  using enum KernelFamily;
  std::vector<CompareRow> rows = {
      RowOfParts(
          "conv1", "Conv",
          {Part("transform", KernelAlgorithm::kWinogradFilterTransform, kTransform, 10, 100, 0.5),
           Part("main_a", KernelAlgorithm::kWinograd, kConvolution, 90, 300, 1.5)}),
      RowOfParts(
          "conv2", "Conv",
          {Part("transform", KernelAlgorithm::kWinogradFilterTransform, kTransform, 30, 100, 1.5),
           Part("main_b", KernelAlgorithm::kWinograd, kConvolution, 270, 500, 4.5)}),
      RowOfParts("pool", "MaxPool",
                 {Part("pool", KernelAlgorithm::kNone, kPooling, std::nullopt, 200, 2)})};
  rows[0].measured.occupancy.Add(0.25, 1, 2.0);
  rows[1].measured.occupancy.Add(0.75, 1, 6.0);
  rows[0].memory_bytes = Bytes(1000);
  rows[1].memory_bytes = Bytes(2000);
  return rows;
}

const SliceRow& Find(const std::vector<SliceRow>& slices, const std::string& key) {
  for (const SliceRow& slice : slices) {
    if (slice.key == key) return slice;
  }
  throw std::runtime_error("no slice " + key);
}

TEST(Analyses, LayersAreTheRows) {
  const Analyses analyses = AnalysesOf(ThreeLayers());
  ASSERT_EQ(analyses.by_layer.size(), 3u);
  const SliceRow& conv1 = analyses.by_layer[0];
  EXPECT_EQ(conv1.key, "conv1");
  EXPECT_EQ(conv1.family, "Conv");
  EXPECT_EQ(conv1.flop_rate(), 50);
  EXPECT_EQ(conv1.byte_rate(), 200);
  EXPECT_EQ(conv1.intensity(), 0.25);
  EXPECT_EQ(conv1.share, 0.2);
  EXPECT_EQ(conv1.occupancy, 0.25);
  EXPECT_EQ(conv1.memory, Bytes(1000));
  EXPECT_EQ(analyses.by_layer[2].flop_rate(), std::nullopt);
  EXPECT_EQ(analyses.by_layer[2].memory, std::nullopt);
}

TEST(Analyses, TypesOfOperatorsSumTheirLayers) {
  const Analyses analyses = AnalysesOf(ThreeLayers());
  ASSERT_EQ(analyses.by_op.size(), 2u);
  const SliceRow& conv = analyses.by_op[0];  // the most time first
  EXPECT_EQ(conv.key, "Conv");
  EXPECT_EQ(conv.operators, 2u);
  EXPECT_EQ(conv.launches, 4);
  EXPECT_EQ(conv.time.value, 8);
  EXPECT_EQ(conv.flops.value, 400);
  EXPECT_EQ(conv.bytes.value, 1000);
  EXPECT_EQ(conv.share, 0.8);
  EXPECT_EQ(conv.occupancy, (0.25 * 2 + 0.75 * 6) / 8);
  EXPECT_EQ(conv.memory, Bytes(3000));
}

TEST(Analyses, KernelsOfSeveralLayers) {
  const Analyses analyses = AnalysesOf(ThreeLayers());
  const SliceRow& transform = Find(analyses.by_kernel, "transform");
  EXPECT_EQ(transform.operators, 2u);
  EXPECT_EQ(transform.flops.value, 40);
  EXPECT_EQ(transform.time.value, 2);
  EXPECT_EQ(transform.flop_rate(), 20);
  const SliceRow& winograd = Find(analyses.by_algorithm, "Winograd");
  EXPECT_EQ(winograd.flops.value, 360);
  EXPECT_EQ(winograd.intensity(), 0.45);
  EXPECT_EQ(Find(analyses.by_algorithm, "pooling").launches, 1);
}

// Rates of a part would be rates of nothing.
TEST(Analyses, SumsWithoutAPartAreLowerBounds) {
  std::vector<CompareRow> rows = ThreeLayers();
  rows[1].measured_flops.reset();
  const Analyses analyses = AnalysesOf(rows);
  const SliceRow& conv = analyses.by_op[0];
  EXPECT_EQ(conv.flops.value, 100);
  EXPECT_FALSE(conv.flops.whole);
  EXPECT_EQ(conv.flop_rate(), std::nullopt);
  EXPECT_EQ(conv.byte_rate(), 125);
  const CompareCells cells = CellsOf(ViewsOf(analyses)[1], 0);
  EXPECT_THAT(cells.rows[0], testing::Contains("\u2265 100"));
}

// A matrix pipe whose instructions nobody counted leaves FLOPs out.
TEST(Analyses, TheMatrixPipeHidesWork) {
  std::vector<CompareRow> rows = ThreeLayers();
  rows[0].measured.tensor = true;
  rows[0].measured.parts[1].told.tensor = true;
  Analyses analyses = AnalysesOf(rows);
  EXPECT_FALSE(analyses.by_layer[0].flops.whole);
  EXPECT_FALSE(Find(analyses.by_kernel, "main_a").flops.whole);
  rows[0].measured.tensor_flops = 512;
  rows[0].measured.parts[1].tensor_flops = 512;
  analyses = AnalysesOf(rows);
  EXPECT_TRUE(analyses.by_layer[0].flops.whole);
  EXPECT_EQ(Find(analyses.by_kernel, "main_a").flops.value, 602);
}

TEST(Analyses, LayersOfOneNameStayApart) {
  std::vector<CompareRow> rows = ThreeLayers();
  rows[1].node = rows[0].node;
  const Analyses analyses = AnalysesOf(rows);
  ASSERT_EQ(analyses.by_layer.size(), 3u);
  EXPECT_EQ(analyses.by_layer[1].key, "conv1");
  EXPECT_EQ(analyses.by_layer[1].time.value, 6);
}

}  // namespace
}  // namespace dlcost
