#include <gmock/gmock.h>

#include "estimator/core/error.h"
#include "tests/profiles/fixture.h"

namespace dlcost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Nvprof, MetricsOfSeveralProcesses) {
  const Measurement m = ReadFixture("alexnet_p4_nvprof_metrics.csv");
  EXPECT_EQ(m.format, "nvprof");
  ASSERT_EQ(m.kernels.size(), 8u);
  EXPECT_EQ(m.kernels[2].VectorFlops(), 162168191);
  EXPECT_EQ(m.kernels[2].process, 4002);
  EXPECT_EQ(m.kernels[2].device, "Tesla P4 (0)");
  EXPECT_THAT(m.kernels[2].counters[0].sources, ElementsAre("flop_count_sp"));
  EXPECT_THAT(m.kernels[0].name, HasSubstr("implicit_convolve_sgemm<float, float, int=128"));
}

TEST(Nvprof, SummaryHasUnitsOfItsOwn) {
  const Measurement m = ReadFixture("nvprof_summary.csv");
  ASSERT_EQ(m.kernels.size(), 3u);
  EXPECT_EQ(m.kernels[0].launches, 8);
  EXPECT_DOUBLE_EQ(m.kernels[0].duration->value(), 71.965e-6);
  EXPECT_EQ(m.kernels[1].kind, MeasuredKind::kCopy);
  EXPECT_EQ(m.kernels[2].kind, MeasuredKind::kApi);
}

TEST(Nvprof, ApiTraceAndMetricTrace) {
  const Measurement api = ReadFixture("nvprof_api_trace.csv");
  ASSERT_EQ(api.kernels.size(), 2u);
  EXPECT_EQ(api.kernels[0].name, "cudaMalloc");
  EXPECT_EQ(api.kernels[0].correlation, 12);
  EXPECT_DOUBLE_EQ(api.kernels[1].duration->value(), 7.25e-6);
  const Measurement metrics = ReadFixture("nvprof_metric_trace.csv");
  ASSERT_EQ(metrics.kernels.size(), 2u);
  EXPECT_EQ(metrics.kernels[1].correlation, 305);
  EXPECT_EQ(CounterOf(metrics.kernels[1], Metric::kFlopsF32), 4194304);
  EXPECT_EQ(CounterOf(metrics.kernels[1], Metric::kDramRead), 2000 * 32);
}

TEST(Ncu, DetailsOfTwoProcessesWithRulesAndOutputBetween) {
  const Measurement m = ReadFixture("ncu_details.csv");
  ASSERT_EQ(m.kernels.size(), 2u);
  const MeasuredKernel& kernel = m.kernels[0];
  EXPECT_EQ(CounterOf(kernel, Metric::kFlopsF32), 22151168);
  EXPECT_EQ(CounterOf(kernel, Metric::kTensorInstructions), 4672512);
  EXPECT_EQ(CounterOf(kernel, Metric::kDramRead), 12.5e6);  // Nsight's Mbyte is 10^6 bytes
  EXPECT_EQ(kernel.DramBytes(), 13.14e6);
  EXPECT_DOUBLE_EQ(kernel.duration->value(), 379.1e-6);
  EXPECT_DOUBLE_EQ(CounterOf(kernel, Metric::kOccupancy), 0.245);
  EXPECT_THAT(kernel.grid.value(), ElementsAre(864, 1, 1));
  EXPECT_EQ(m.kernels[1].process, 10);
  EXPECT_EQ(CounterOf(m.kernels[1], Metric::kDramRead), 1024);
  EXPECT_EQ(m.kernels[1].DramBytes(), std::nullopt);  // half of it was not counted
}

TEST(Ncu, RawPageWithUnitsAndNvtxRanges) {
  const Measurement m = ReadText(
      "\"ID\",\"Process ID\",\"Kernel Name\",\"dram__bytes_read.sum\",\"thread "
      "Domain:Push/Pop_Range:PL_Type\"\n"
      "\"\",\"\",\"\",\"Kbyte\",\"\"\n"
      "\"0\",\"7\",\"gemm\",\"1.5\",\"<default domain>:/fc6/Gemm:none:none\"\n"
      "\"1\",\"7\",\"gemm\",\"2\",\"\"\n");
  ASSERT_EQ(m.kernels.size(), 2u);
  EXPECT_EQ(m.kernels[0].op, "/fc6/Gemm");
  EXPECT_EQ(CounterOf(m.kernels[0], Metric::kDramRead), 1500);
  EXPECT_EQ(m.kernels[1].op, "");
}

TEST(NsysStats, EveryVersion) {
  const Measurement old = ReadFixture("nsys_2020_gpukernsum.csv");
  ASSERT_EQ(old.kernels.size(), 2u);
  EXPECT_EQ(old.kernels[0].name, "void gemm<int, 4>(float*, float*)");
  EXPECT_DOUBLE_EQ(old.kernels[0].duration->value(), 2e-3);
  EXPECT_DOUBLE_EQ(old.kernels[1].duration->value(), 1e-3);
  const Measurement trace = ReadFixture("nsys_cuda_gpu_trace.csv");
  EXPECT_EQ(trace.format, "nsys-stats");
  EXPECT_EQ(trace.kernels[0].correlation, 41);
  EXPECT_DOUBLE_EQ(trace.kernels[0].duration->value(), 2.5e-6);
  EXPECT_THAT(trace.kernels[0].grid.value(), ElementsAre(20, 10, 1));
  EXPECT_EQ(trace.kernels[1].kind, MeasuredKind::kCopy);
  const Measurement nvtx = ReadFixture("nsys_nvtx_kern_sum.csv");
  EXPECT_EQ(nvtx.kernels[0].op, "conv1");
  EXPECT_EQ(nvtx.kernels[0].launches, 4);
  EXPECT_DOUBLE_EQ(nvtx.kernels[0].duration->value(), 100e-6);
}

TEST(NsysStats, SizesAreNoTimes) {
  const Measurement m = ReadText(
      "Time (%),Total Time (ns),Instances,Avg (ns),Name\n100.0,900,3,300.0,gemm\n\n"
      "Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation\n"
      "12.5,2,6.25,6.25,1,2,0.1,[CUDA memcpy Host-to-Device]\n");
  ASSERT_EQ(m.kernels.size(), 1u);
  EXPECT_DOUBLE_EQ(m.kernels[0].duration->value(), 300e-9);
}

TEST(NsysStats, ReportsOnTheSameKernelsCountOnce) {
  const std::string sums =
      "Time (%),Total Time (ns),Instances,Avg (ns),Name\n100.0,900,3,300.0,gemm\n\n";
  const std::string trace =
      "Start (ns),Duration (ns),CorrId,Device,Strm,Name\n10,300,1,A100,7,gemm\n\n";
  const Measurement m = ReadText(sums + trace + sums);
  ASSERT_EQ(m.kernels.size(), 2u);  // the sums of two processes
  EXPECT_EQ(m.kernels[1].launches, 3);
  EXPECT_THAT(m.notes, ElementsAre("1 row of further reports on the same left out"));
}

TEST(Rocprof, ResultsStatisticsAndCounters) {
  const Measurement results = ReadFixture("rocprof_results.csv");
  EXPECT_EQ(results.format, "rocprof");
  EXPECT_EQ(results.kernels[0].name, "Cijk_Ailk_Bljk_SB_MT128x64x16_MI32x32x2x1");
  EXPECT_DOUBLE_EQ(results.kernels[0].duration->value(), 10e-6);
  EXPECT_EQ(results.kernels[0].DramBytes(), 1250.5 * 1024);
  const Measurement stats = ReadFixture("rocprof_stats.csv");
  EXPECT_EQ(stats.kernels[0].launches, 4);
  EXPECT_DOUBLE_EQ(stats.kernels[0].duration->value(), 2e-6);
  const Measurement counters = ReadFixture("rocprofv3_counters.csv");
  ASSERT_EQ(counters.kernels.size(), 2u);
  EXPECT_EQ(CounterOf(counters.kernels[0], Metric::kFlopsF32), 64 * (16384 + 2 * 32768));
  EXPECT_EQ(CounterOf(counters.kernels[1], Metric::kTensorFlops), 2048 * 512);
  EXPECT_DOUBLE_EQ(counters.kernels[1].duration->value(), 2e-6);
}

TEST(Dlprof, OperatorsAndKernels) {
  const Measurement ops = ReadFixture("dlprof_detail.csv");
  EXPECT_EQ(ops.format, "dlprof");
  EXPECT_EQ(ops.kernels[0].op, "resnet/conv1/Conv2D");
  EXPECT_DOUBLE_EQ(ops.kernels[0].duration->value(), 20e-6);
  const Measurement kernels = ReadFixture("dlprof_kernel.csv");
  EXPECT_EQ(kernels.kernels[0].kind, MeasuredKind::kKernel);
  EXPECT_EQ(kernels.kernels[0].op, "resnet/conv1/Conv2D");
}

TEST(VTune, AnyDelimiterAndLinesBeforeTheHeader) {
  const Measurement m = ReadFixture("vtune_tabs.csv");
  ASSERT_EQ(m.kernels.size(), 1u);
  EXPECT_DOUBLE_EQ(m.kernels[0].duration->value(), 2.5);
  EXPECT_EQ(CounterOf(m.kernels[0], Metric::kFlopsF32), 8e6);
}

TEST(OneDnn, TimestampsBeforeTheComponent) {
  const Measurement m = ReadFixture("onednn_timestamps.log");
  ASSERT_EQ(m.kernels.size(), 1u);
  EXPECT_EQ(m.kernels[0].op_type, "inner_product");
  EXPECT_DOUBLE_EQ(m.kernels[0].duration->value(), 0.75e-3);
  EXPECT_THAT(m.kernels[0].name, HasSubstr("mb1ic9216oc4096"));
}

TEST(ChromeTrace, TensorFlowNamesTheNode) {
  const Measurement m = ReadFixture("tensorflow_timeline.json");
  ASSERT_EQ(m.kernels.size(), 2u);
  EXPECT_EQ(m.kernels[0].op, "conv1/Conv2D");
  EXPECT_EQ(m.kernels[0].op_type, "Conv2D");
  EXPECT_DOUBLE_EQ(m.kernels[0].duration->value(), 25e-6);
}

TEST(ChromeTrace, CuptiRangesCarryCounters) {
  const Measurement m = ReadFixture("cupti_ranges.json");
  EXPECT_EQ(CounterOf(m.kernels.at(0), Metric::kFlopsF32), 1572864 + 2097152 + 2.0 * 4831838208);
}

TEST(PlainCsv, DocumentedColumns) {
  const Measurement m = ReadFixture("plain.csv");
  ASSERT_EQ(m.kernels.size(), 2u);
  EXPECT_EQ(m.kernels[0].VectorFlops(), 140553600);
  EXPECT_EQ(m.kernels[0].DramBytes(), 1e6);
  EXPECT_EQ(m.kernels[1].name, "relu, in place");
  EXPECT_EQ(m.kernels[1].DramBytes(), std::nullopt);
  EXPECT_DOUBLE_EQ(m.kernels[1].duration->value(), 1.25e-6);
}

TEST(OnnxRuntime, LaunchesFoldToTheirMedian) {
  std::string text =
      R"([{"cat":"Session","pid":1,"tid":1,"dur":5,"ts":0,"ph":"X","name":"model_loading_uri","args":{}})";
  for (const int us : {90, 10, 12}) {  // a slow first run
    text +=
        R"(,{"cat":"Node","pid":1,"tid":1,"dur":)" + std::to_string(us) +
        R"(,"ts":7,"ph":"X","name":"conv1_kernel_time","args":{"op_name":"Conv","provider":"CPUExecutionProvider"}})";
    text += R"(,{"cat":"Session","dur":99,"ts":7,"ph":"X","name":"model_run","args":{}})";
  }
  const Measurement m = ReadText(text + "]");
  ASSERT_EQ(m.kernels.size(), 1u);
  EXPECT_EQ(m.format, "onnxruntime");
  EXPECT_EQ(m.runs, 3);
  EXPECT_EQ(m.kernels[0].op, "conv1");
  EXPECT_EQ(m.kernels[0].op_type, "Conv");
  EXPECT_EQ(m.kernels[0].launches, 3);
  EXPECT_NEAR(m.kernels[0].duration->value(), 12e-6, 1e-12);
}

TEST(Reader, ByteOrderMarkAndCarriageReturns) {
  const Measurement m = ReadText("\xef\xbb\xbfname,flops\r\nconv1,\"1,234\"\r\n");
  EXPECT_EQ(m.kernels.at(0).VectorFlops(), 1234);
}

TEST(Reader, LongFilesFoldByName) {
  std::string text = "name,time_us,flops\n";
  const std::size_t rows = Measurement::kMaxRows + 100;
  for (std::size_t i = 0; i < rows; ++i) text += i % 2 == 0 ? "a,1,10\n" : "b,3,30\n";
  const Measurement m = ReadText(text);
  ASSERT_EQ(m.kernels.size(), 2u);
  EXPECT_EQ(m.kernels[0].launches + m.kernels[1].launches, static_cast<std::int64_t>(rows));
  EXPECT_NEAR(m.kernels[1].duration->value(), 3e-6, 1e-15);
  EXPECT_NEAR(CounterOf(m.kernels[1], Metric::kFlops), 30, 1e-9);
  EXPECT_THAT(m.notes.at(0), HasSubstr("folded to their mean"));
}

TEST(Reader, FoldedLaunchesKeepTheirTimes) {
  std::string text = "name,start_us,time_us\n";
  const std::size_t rows = Measurement::kMaxRows + 10;
  for (std::size_t i = 0; i < rows; ++i) text += fmt::format("{},{},2\n", "ab"[i % 2], 3 * i);
  const Measurement m = ReadText(text);
  ASSERT_EQ(m.kernels.size(), 2u);
  ASSERT_EQ(m.folded_launches.size(), rows);
  const LaunchTime& last = m.folded_launches.back();
  EXPECT_EQ(last.start, static_cast<std::int64_t>(3 * (rows - 1)) * 1000);
  EXPECT_EQ(last.end, last.start + 2000);
  EXPECT_EQ(last.row, 1u);
}

TEST(Reader, DamagedFilesNameFileAndRow) {
  EXPECT_EQ(ErrorOf(""), "profile: the file is empty");
  EXPECT_EQ(ErrorOf(" \n\n"), "profile: the file is empty");
  EXPECT_THAT(ErrorOf("some\ntext\n"), HasSubstr("profile: no known profiler wrote this"));
  EXPECT_THAT(ErrorOf("name,flops\nconv1,5\nconv2\n"),
              HasSubstr("profile:3: the row has 1 columns, its header 2"));
  EXPECT_THAT(ErrorOf("name,flops\nconv1,many\n"),
              HasSubstr("profile:2: 'many' in column 'flops' is not a number"));
  EXPECT_THAT(ErrorOf("name,flops\n\"conv1,5\n"), HasSubstr("profile:2: a quoted field"));
  EXPECT_THAT(ErrorOf("name,flops\n"), HasSubstr("no measured kernel"));
  EXPECT_THAT(ErrorOf("name,flops\nconv1,1e999\n"), HasSubstr("not a number"));
  EXPECT_THAT(ErrorOf("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2},{\"ph\":"),
              HasSubstr("profile: the JSON breaks off or is damaged after event 2"));
  EXPECT_THAT(ErrorOf("{\"a\": 1}"), HasSubstr("no list of events"));
  EXPECT_EQ(ErrorOf("name,time_us\na,-5\n"),
            "profile: row 2: a time of -5e-06 s is less than none");
  EXPECT_THAT(ErrorOf("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1e300,\"dur\":2}]"),
              HasSubstr("profile: event 1: \"ts\" is 1e300, no time"));
  EXPECT_THAT(ErrorOf("onednn_verbose,exec,cpu,matmul,ref\n"),
              HasSubstr("profile:1: an executed primitive without"));
  EXPECT_THAT(ErrorOf("==1== NVPROF is profiling process "
                      "1\n\"Start\",\"Duration\",\"Name\"\nms,us,\n1.0,2.0\n"),
              HasSubstr("profile:4: the row has 2 columns"));
  EXPECT_THAT(ErrorOf(std::string("\xff\xfe") + "n"), HasSubstr("UTF-16"));
  EXPECT_THAT(ErrorOf("name,flops\na,1\n", "nvpof"), HasSubstr("did you mean 'nvprof'?"));
  EXPECT_THROW(ReadMeasurementFile("no such file"), Error);
}

}  // namespace
}  // namespace dlcost
