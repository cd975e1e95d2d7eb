#include <gmock/gmock.h>

#include "estimator/core/error.h"
#include "tests/profiles/fixture.h"

// The fixtures are made by hand after the tables of the profiler's user guide.
namespace dlcost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NvprofText, SummaryNamesItsGroupOnce) {
  const Measurement m = ReadFixture("nvprof_text_summary.log");
  EXPECT_EQ(m.format, "nvprof-text");
  ASSERT_EQ(m.kernels.size(), 4u);
  EXPECT_EQ(m.kernels[0].name, "void gemm<float, int=4>(float*, float*)");
  EXPECT_EQ(m.kernels[0].launches, 8);
  EXPECT_DOUBLE_EQ(m.kernels[0].duration->value(), 150e-6);
  EXPECT_EQ(m.kernels[1].kind, MeasuredKind::kCopy);
  EXPECT_EQ(m.kernels[2].kind, MeasuredKind::kApi);
  EXPECT_EQ(m.kernels[3].kind, MeasuredKind::kApi);
  EXPECT_EQ(m.kernels[3].launches, 376);
}

TEST(NvprofText, OldSummaryWithUnifiedMemoryAndApiCallsBehind) {
  const Measurement m = ReadFixture("nvprof_text_cuda8.log");
  ASSERT_EQ(m.kernels.size(), 5u);
  EXPECT_EQ(m.kernels[0].kind, MeasuredKind::kKernel);
  EXPECT_EQ(m.kernels[2].name, "[Unified Memory Host To Device]");
  EXPECT_EQ(m.kernels[2].kind, MeasuredKind::kCopy);
  EXPECT_EQ(m.kernels[2].device, "GeForce GTX 1080 Ti (0)");
  EXPECT_DOUBLE_EQ(m.kernels[2].duration->value(), 4.144e-6);
  EXPECT_DOUBLE_EQ(m.kernels[3].duration->value(), 228.065e-6);
  EXPECT_EQ(m.kernels[4].name, "cudaLaunch");
  EXPECT_EQ(m.kernels[4].kind, MeasuredKind::kApi);
}

TEST(NvprofText, TraceWithRowsThatHaveNoDuration) {
  const Measurement m = ReadFixture("nvprof_text_trace.log");
  ASSERT_EQ(m.kernels.size(), 5u);
  EXPECT_FALSE(m.kernels[1].duration);
  EXPECT_EQ(m.kernels[1].device, "");
  EXPECT_EQ(m.kernels[2].kind, MeasuredKind::kCopy);
  EXPECT_EQ(m.kernels[3].name, "void conv<int=32>(float*, float*)");
  EXPECT_EQ(m.kernels[3].correlation, 94);
  EXPECT_EQ(m.kernels[3].device, "GeForce GTX 108");
  EXPECT_EQ(m.kernels[3].stream, "7");
  EXPECT_THAT(m.kernels[3].grid.value(), ElementsAre(20, 10, 1));
  EXPECT_THAT(m.kernels[3].block.value(), ElementsAre(32, 32, 1));
  EXPECT_DOUBLE_EQ(m.kernels[3].duration->value(), 252.5e-6);
  EXPECT_DOUBLE_EQ(m.kernels[4].start->value(), 1.24341);
  EXPECT_THAT(m.notes, ElementsAre("1 row of unified memory without a duration in the file"));
}

TEST(NvprofText, MetricsAndEventsBelongToTheKernelAbove) {
  const Measurement m = ReadFixture("nvprof_text_metrics.log");
  ASSERT_EQ(m.kernels.size(), 2u);  // events and metrics of the first are one row
  const MeasuredKernel& reduce = m.kernels[0];
  EXPECT_EQ(reduce.name, "reduce(int, float*)");
  EXPECT_EQ(reduce.device, "GeForce GTX 1070 (0)");
  EXPECT_EQ(reduce.launches, 10);
  EXPECT_EQ(CounterOf(reduce, Metric::kFlopsF32), 8192);
  EXPECT_DOUBLE_EQ(CounterOf(reduce, Metric::kLoadEfficiency), 0.2292);
  EXPECT_DOUBLE_EQ(CounterOf(reduce, Metric::kDramUtilization), 3 * 0.1);
  EXPECT_DOUBLE_EQ(CounterOf(reduce, Metric::kDramReadRate), 2.0 * (1 << 30));
  EXPECT_EQ(m.kernels[1].name, "void scale<float>(float*)");
  EXPECT_THAT(m.unknown_counters, ElementsAre("warps_launched", "inst_per_warp"));
}

TEST(NvprofText, CallsOfTheHost) {
  const Measurement m = ReadText(
      "==3== NVPROF is profiling process 3, command: ./mm\n==3== Profiling result:\n"
      "   Start  Duration  Name\n"
      "108.38ms  6.2130us  cuDeviceGetCount\n"
      "241.49ms  68.521ms  cudaLaunch (void mm<int=32>(float*) [94])\n");
  ASSERT_EQ(m.kernels.size(), 2u);
  EXPECT_EQ(m.kernels[0].kind, MeasuredKind::kApi);
  EXPECT_DOUBLE_EQ(m.kernels[1].duration->value(), 68.521e-3);
}

TEST(NvprofText, ColumnsOfMetricsPerLaunch) {
  const Measurement m = ReadText(
      "==6740== NVPROF is profiling process 6740, command: ./mm\n"
      "==6740== Profiling result:\n"
      "         Device         Context          Stream              Kernel  flop_count_sp  "
      "local_load\n"
      "GeForce GTX TIT               1               7  void mm<i(float*)            1000          "
      " 0\n"
      "GeForce GTX TIT               1               7  void mm<i(float*)            2000          "
      " 0\n");
  ASSERT_EQ(m.kernels.size(), 2u);
  EXPECT_EQ(m.kernels[1].name, "void mm<i(float*)");
  EXPECT_EQ(CounterOf(m.kernels[1], Metric::kFlopsF32), 2000);
  EXPECT_THAT(m.unknown_counters, ElementsAre("local_load"));
}

TEST(NvprofText, RowsThatWereCutOffNameFileAndLine) {
  const std::string text =
      "==1== Profiling result:\n"
      "            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n"
      " GPU activities:   75.00%  1.2000ms         8  150.00us\n";
  EXPECT_THAT(ErrorOf(text), HasSubstr("profile:3: the row has 4 columns, its header 7"));
}

// CUDA 5 to 8 wrote no types and no quotes around headers, and API calls as a table of their own.
TEST(Nvprof, OldSummariesHaveTwoTables) {
  const Measurement m = ReadText(
      "==9== NVPROF is profiling process 9, command: ./a\n==9== Profiling result:\n"
      "Time(%),Time,Calls,Avg,Min,Max,Name\n%,ms,,us,us,us,\n"
      "80.00,1.6,4,400.0,390,410,\"gemm(float*)\"\n20.00,0.4,2,200.0,190,210,\"[CUDA memset]\"\n\n"
      "==9== API calls:\nTime(%),Time,Calls,Avg,Min,Max,Name\n%,ms,,us,us,us,\n"
      "100.00,6,6,1000.0,1,2,\"cudaLaunch\"\n");
  ASSERT_EQ(m.kernels.size(), 3u);
  EXPECT_DOUBLE_EQ(m.kernels[0].duration->value(), 400e-6);
  EXPECT_EQ(m.kernels[1].kind, MeasuredKind::kCopy);
  EXPECT_EQ(m.kernels[2].kind, MeasuredKind::kApi);
}

TEST(Nvprof, UnifiedMemoryIsNoKernel) {
  const Measurement m = ReadFixture("nvprof_unified_memory.csv");
  ASSERT_EQ(m.kernels.size(), 4u);  // the table below only sums rows of the trace
  EXPECT_FALSE(m.kernels[0].duration);
  EXPECT_EQ(m.kernels[0].kind, MeasuredKind::kCopy);
  EXPECT_EQ(m.kernels[1].kind, MeasuredKind::kCopy);
  EXPECT_EQ(m.kernels[2].kind, MeasuredKind::kKernel);
  EXPECT_EQ(m.kernels[2].correlation, 108);
  EXPECT_DOUBLE_EQ(m.kernels[2].duration->value(), 549.4e-6);
  EXPECT_EQ(m.kernels[3].name, "[Unified Memory Memcpy HtoD]");
}

TEST(VTune, PackagesSumTheirMemoryControllers) {
  const Measurement m = ReadFixture("vtune_package.csv");
  EXPECT_EQ(m.format, "vtune");
  ASSERT_EQ(m.kernels.size(), 2u);
  EXPECT_EQ(m.kernels[0].name, "package_0");
  EXPECT_EQ(CounterOf(m.kernels[0], Metric::kDramRead), 64 * 3000);
  EXPECT_EQ(m.kernels[1].DramBytes(), 64 * 33);
  EXPECT_TRUE(m.sampled);
  EXPECT_THAT(m.unknown_counters, ElementsAre("Uncore Event Count:UNC_H_IMC_READS.NORMAL[UNIT0]"));
}

TEST(SummaryRows, AreLeftOutOfEveryTable) {
  const std::string plain = "name,time_us,flops\na,1,10\nb,2,20\nc,4,40\n";
  for (const std::string row : {"Total,7,70\n", "Sum,7,70\n", "Mean,2.333,23.33\n", "Total,,\n",
                                "Average:\n", "Sum,7,70\nMax,4,40\n"}) {
    const Measurement m = ReadText(plain + row);
    EXPECT_EQ(m.kernels.size(), 3u) << row;
    EXPECT_THAT(m.notes, ElementsAre(HasSubstr("under the table left out"))) << row;
  }
  // Operators are called Sum, Max and Mean.
  EXPECT_EQ(ReadText(plain + "Sum,3,70\n").kernels.size(), 4u);
  EXPECT_EQ(ReadText(plain + "Max,4,40\n").kernels.size(), 4u);
  EXPECT_EQ(ReadText(plain + "Sum,3,1\nTotal,10,71\n").kernels.size(), 4u);
  const std::string nvprof =
      "==1== NVPROF is profiling process 1\n\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Name\"\n"
      "%,ms,,us,\n60,6,2,3000,\"a(float*)\"\n40,4,1,4000,\"b(float*)\"\n";
  EXPECT_EQ(ReadText(nvprof + "Total,10,3,,\n").kernels.size(), 2u);
  EXPECT_EQ(ReadText(nvprof + "Total,10\n").kernels.size(), 2u);
  const std::string ncu =
      "\"ID\",\"Process ID\",\"Kernel Name\",\"dram__bytes_read.sum\"\n\"\",\"\",\"\",\"byte\"\n"
      "\"0\",\"7\",\"gemm\",\"1.5\"\n";
  EXPECT_EQ(ReadText(ncu + "Average,,,1.5\n").kernels.size(), 1u);
}

}  // namespace
}  // namespace dlcost
