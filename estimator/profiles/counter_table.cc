#include <array>

#include "estimator/profiles/counter.h"

namespace dlcost {
namespace {

constexpr double kSector =
    32;                       // bytes per DRAM and L2 transaction on every NVIDIA GPU since Kepler
constexpr double kWave = 64;  // lanes of a wave on AMD CDNA; rocprof counts instructions per wave

using enum Metric;
constexpr auto kTotal = CounterRule::kTotal;
constexpr auto kPart = CounterRule::kPart;
constexpr auto kLargest = CounterRule::kLargest;
constexpr double kLevel = 0.1;      // nvprof tells a utilization as a level from 0 to 10
constexpr double kLane = 1.0 / 32;  // threads of a warp

// Sources: NVIDIA profiler user's guide (metrics reference), Nsight Compute documentation (metrics
// guide, nvprof comparison), AMD ROCm MI200 performance counters, Intel performance monitoring
// events.
constexpr CounterRule kCounterRules[] = {
    // nvprof. flop_count_* leave the special function unit out.
    {"flop_count_hp", kFlopsF16, 1, kTotal},
    {"flop_count_sp", kFlopsF32, 1, kTotal},
    {"flop_count_dp", kFlopsF64, 1, kTotal},
    {"flop_count_hp_add", kFlopsF16, 1, kPart},
    {"flop_count_hp_mul", kFlopsF16, 1, kPart},
    {"flop_count_hp_fma", kFlopsF16, 2, kPart},
    {"flop_count_sp_add", kFlopsF32, 1, kPart},
    {"flop_count_sp_mul", kFlopsF32, 1, kPart},
    {"flop_count_sp_fma", kFlopsF32, 2, kPart},
    {"flop_count_dp_add", kFlopsF64, 1, kPart},
    {"flop_count_dp_mul", kFlopsF64, 1, kPart},
    {"flop_count_dp_fma", kFlopsF64, 2, kPart},
    {"dram_read_bytes", kDramRead, 1, kTotal},
    {"dram_write_bytes", kDramWrite, 1, kTotal},
    {"dram_read_transactions", kDramRead, kSector, kTotal},
    {"dram_write_transactions", kDramWrite, kSector, kTotal},
    {"l2_read_transactions", kL2Read, kSector, kTotal},
    {"l2_write_transactions", kL2Write, kSector, kTotal},
    {"gld_transactions", kGlobalLoads, 1, kTotal},
    {"gst_transactions", kGlobalStores, 1, kTotal},
    {"achieved_occupancy", kOccupancy, 1, kTotal},
    {"inst_executed", kInstructions, 1, kTotal},
    {"ipc", kIpc, 1, kTotal},
    {"single_precision_fu_utilization", kComputeUtilization, kLevel, kLargest},
    {"double_precision_fu_utilization", kComputeUtilization, kLevel, kLargest},
    {"half_precision_fu_utilization", kComputeUtilization, kLevel, kLargest},
    {"tensor_precision_fu_utilization", kComputeUtilization, kLevel, kLargest},
    {"special_fu_utilization", kComputeUtilization, kLevel, kLargest},
    {"alu_fu_utilization", kComputeUtilization, kLevel, kLargest},
    {"dram_utilization", kDramUtilization, kLevel, kTotal},
    {"l2_utilization", kMemoryUtilization, kLevel, kLargest},
    {"tex_utilization", kMemoryUtilization, kLevel, kLargest},
    {"shared_utilization", kMemoryUtilization, kLevel, kLargest},
    {"flop_hp_efficiency", kFlopEfficiencyF16, 1, kTotal},
    {"flop_sp_efficiency", kFlopEfficiencyF32, 1, kTotal},
    {"flop_dp_efficiency", kFlopEfficiencyF64, 1, kTotal},
    {"sm_efficiency", kSmEfficiency, 1, kTotal},
    {"warp_execution_efficiency", kWarpEfficiency, 1, kTotal},
    {"gld_efficiency", kLoadEfficiency, 1, kTotal},
    {"gst_efficiency", kStoreEfficiency, 1, kTotal},
    {"dram_read_throughput", kDramReadRate, 1, kTotal},
    {"dram_write_throughput", kDramWriteRate, 1, kTotal},

    // Nsight Compute: predicated-on thread instructions, so one per lane.
    {"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", kFlopsF16, 1, kPart},
    {"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", kFlopsF16, 1, kPart},
    {"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", kFlopsF16, 2, kPart},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", kFlopsF32, 1, kPart},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", kFlopsF32, 1, kPart},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", kFlopsF32, 2, kPart},
    {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", kFlopsF64, 1, kPart},
    {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", kFlopsF64, 1, kPart},
    {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", kFlopsF64, 2, kPart},
    // Nsight Compute calls the matrix pipe "tensor" up to Hopper; the parts are its data types.
    {"sm__inst_executed_pipe_tensor.sum", kTensorInstructions, 1, kTotal},
    {"smsp__inst_executed_pipe_tensor.sum", kTensorInstructions, 1, kTotal},
    {"sm__inst_executed_pipe_tc.sum", kTensorInstructions, 1, kTotal},
    {"sm__inst_executed_pipe_tensor_op_hmma.sum", kTensorInstructions, 1, kPart},
    {"sm__inst_executed_pipe_tensor_op_imma.sum", kTensorInstructions, 1, kPart},
    {"sm__inst_executed_pipe_tensor_op_dmma.sum", kTensorInstructions, 1, kPart},
    {"sm__inst_executed_pipe_tensor_op_gmma.sum", kTensorInstructions, 1, kPart},
    {"sm__inst_executed_pipe_tensor_op_bmma.sum", kTensorInstructions, 1, kPart},
    {"sm__inst_executed_pipe_tensor_subpipe_hmma.sum", kTensorInstructions, 1, kPart},
    {"sm__inst_executed_pipe_tensor_subpipe_imma.sum", kTensorInstructions, 1, kPart},
    {"sm__inst_executed_pipe_tensor_subpipe_dmma.sum", kTensorInstructions, 1, kPart},
    {"sm__ops_path_tensor_src_fp16_dst_fp16.sum", kTensorFlops, 1, kPart},
    {"sm__ops_path_tensor_src_fp16_dst_fp32.sum", kTensorFlops, 1, kPart},
    {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", kTensorFlops, 1, kPart},
    {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", kTensorFlops, 1, kPart},
    {"sm__ops_path_tensor_src_fp8.sum", kTensorFlops, 1, kPart},
    {"sm__ops_path_tensor_src_fp64.sum", kTensorFlops, 1, kPart},
    {"sm__ops_path_tensor_src_int8.sum", kTensorFlops, 1, kPart},
    {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", kTensorActive, 1, kTotal},
    {"sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", kTensorActive, 1, kTotal},
    {"dram__bytes_read.sum", kDramRead, 1, kTotal},
    {"dram__bytes_op_read.sum", kDramRead, 1, kTotal},
    {"dram__sectors_read.sum", kDramRead, kSector, kTotal},
    {"dram__sectors_op_read.sum", kDramRead, kSector, kTotal},
    {"dram__bytes_write.sum", kDramWrite, 1, kTotal},
    {"dram__bytes_op_write.sum", kDramWrite, 1, kTotal},
    {"dram__sectors_write.sum", kDramWrite, kSector, kTotal},
    {"dram__sectors_op_write.sum", kDramWrite, kSector, kTotal},
    {"dram__bytes.sum", kDram, 1, kTotal},
    {"dram__sectors.sum", kDram, kSector, kTotal},
    {"lts__t_sectors_op_read.sum", kL2Read, kSector, kTotal},
    {"lts__t_sectors_op_write.sum", kL2Write, kSector, kTotal},
    {"lts__t_bytes.sum", kL2, 1, kTotal},
    {"lts__t_sectors.sum", kL2, kSector, kTotal},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", kGlobalLoads, 1, kTotal},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", kGlobalStores, 1, kTotal},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", kOccupancy, 1, kTotal},
    {"Achieved Occupancy", kOccupancy, 1, kTotal},
    {"sm__inst_executed.sum", kInstructions, 1, kTotal},
    {"smsp__inst_executed.sum", kInstructions, 1, kTotal},
    {"Executed Instructions", kInstructions, 1, kTotal},
    {"gpc__cycles_elapsed.max", kCycles, 1, kTotal},
    {"sm__cycles_elapsed.max", kCycles, 1, kTotal},
    {"Elapsed Cycles", kCycles, 1, kTotal},
    {"gpu__time_duration.sum", kDuration, 1, kTotal},
    {"gpu__time_duration.avg", kDuration, 1, kTotal},
    {"gpu__time_active.sum", kDuration, 1, kTotal},
    {"Duration", kDuration, 1, kTotal},
    {"sm__inst_executed.avg.per_cycle_active", kIpc, 1, kTotal},
    {"Executed Ipc Active", kIpc, 1, kTotal},
    // "Speed of light": the names of the details page changed with versions. Its "Memory
    // Throughput" is two metrics, told apart by their units (ncu.cc).
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed", kComputeUtilization, 1, kLargest},
    {"Compute (SM) Throughput", kComputeUtilization, 1, kLargest},
    {"SOL SM", kComputeUtilization, 1, kLargest},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", kDramUtilization, 1, kTotal},
    {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", kDramUtilization, 1, kTotal},
    {"DRAM Throughput", kDramUtilization, 1, kTotal},
    {"SOL DRAM", kDramUtilization, 1, kTotal},
    {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", kMemoryUtilization, 1,
     kLargest},
    {"Memory Throughput [%]", kMemoryUtilization, 1, kLargest},
    {"SOL Memory", kMemoryUtilization, 1, kLargest},
    {"smsp__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.avg.pct_of_peak_sustained_elapsed",
     kFlopEfficiencyF32, 1, kTotal},
    {"smsp__sass_thread_inst_executed_ops_dadd_dmul_dfma_pred_on.avg.pct_of_peak_sustained_elapsed",
     kFlopEfficiencyF64, 1, kTotal},
    {"smsp__cycles_active.avg.pct_of_peak_sustained_elapsed", kSmEfficiency, 1, kTotal},
    {"smsp__thread_inst_executed_per_inst_executed.ratio", kWarpEfficiency, kLane, kTotal},
    {"Avg. Active Threads Per Warp", kWarpEfficiency, kLane, kTotal},
    {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct", kLoadEfficiency, 1, kTotal},
    {"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct", kStoreEfficiency, 1, kTotal},
    {"dram__bytes_read.sum.per_second", kDramReadRate, 1, kTotal},
    {"dram__bytes_write.sum.per_second", kDramWriteRate, 1, kTotal},
    {"dram__bytes.sum.per_second", kDramRate, 1, kTotal},
    {"Memory Throughput [byte/s]", kDramRate, 1, kTotal},

    // CUPTI range counters under their short names.
    {"flops_hp", kFlopsF16, 1, kTotal},
    {"flops_sp", kFlopsF32, 1, kTotal},
    {"flops_dp", kFlopsF64, 1, kTotal},
    {"hadd", kFlopsF16, 1, kPart},
    {"hmul", kFlopsF16, 1, kPart},
    {"hfma", kFlopsF16, 2, kPart},
    {"fadd", kFlopsF32, 1, kPart},
    {"fmul", kFlopsF32, 1, kPart},
    {"ffma", kFlopsF32, 2, kPart},
    {"dadd", kFlopsF64, 1, kPart},
    {"dmul", kFlopsF64, 1, kPart},
    {"dfma", kFlopsF64, 2, kPart},

    // rocprof (CDNA). MFMA counts come in units of 512 operations; sizes in KiB.
    {"SQ_INSTS_VALU_ADD_F16", kFlopsF16, kWave, kPart},
    {"SQ_INSTS_VALU_MUL_F16", kFlopsF16, kWave, kPart},
    {"SQ_INSTS_VALU_FMA_F16", kFlopsF16, 2 * kWave, kPart},
    {"SQ_INSTS_VALU_ADD_F32", kFlopsF32, kWave, kPart},
    {"SQ_INSTS_VALU_MUL_F32", kFlopsF32, kWave, kPart},
    {"SQ_INSTS_VALU_FMA_F32", kFlopsF32, 2 * kWave, kPart},
    {"SQ_INSTS_VALU_ADD_F64", kFlopsF64, kWave, kPart},
    {"SQ_INSTS_VALU_MUL_F64", kFlopsF64, kWave, kPart},
    {"SQ_INSTS_VALU_FMA_F64", kFlopsF64, 2 * kWave, kPart},
    {"SQ_INSTS_VALU_MFMA_MOPS_F16", kTensorFlops, 512, kPart},
    {"SQ_INSTS_VALU_MFMA_MOPS_BF16", kTensorFlops, 512, kPart},
    {"SQ_INSTS_VALU_MFMA_MOPS_F32", kTensorFlops, 512, kPart},
    {"SQ_INSTS_VALU_MFMA_MOPS_F64", kTensorFlops, 512, kPart},
    {"SQ_INSTS_VALU_MFMA_MOPS_I8", kTensorFlops, 512, kPart},
    {"SQ_INSTS_MFMA", kTensorInstructions, 1, kTotal},
    {"FETCH_SIZE", kDramRead, 1024, kTotal},
    {"FetchSize", kDramRead, 1024, kTotal},
    {"WRITE_SIZE", kDramWrite, 1024, kTotal},
    {"WriteSize", kDramWrite, 1024, kTotal},
    {"GRBM_GUI_ACTIVE", kCycles, 1, kTotal},

    // Intel. FP_ARITH_INST_RETIRED counts a fused multiply-add twice by itself, so a lane is 1
    // FLOP.
    {"FP_ARITH_INST_RETIRED.SCALAR_SINGLE", kFlopsF32, 1, kPart},
    {"FP_ARITH_INST_RETIRED.128B_PACKED_SINGLE", kFlopsF32, 4, kPart},
    {"FP_ARITH_INST_RETIRED.256B_PACKED_SINGLE", kFlopsF32, 8, kPart},
    {"FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE", kFlopsF32, 16, kPart},
    {"FP_ARITH_INST_RETIRED.SCALAR_DOUBLE", kFlopsF64, 1, kPart},
    {"FP_ARITH_INST_RETIRED.128B_PACKED_DOUBLE", kFlopsF64, 2, kPart},
    {"FP_ARITH_INST_RETIRED.256B_PACKED_DOUBLE", kFlopsF64, 4, kPart},
    {"FP_ARITH_INST_RETIRED.512B_PACKED_DOUBLE", kFlopsF64, 8, kPart},
    // A line of 64 bytes each; memory controllers may stand in columns of their own.
    {"UNC_M_CAS_COUNT.RD", kDramRead, 64, kPart},
    {"UNC_M_CAS_COUNT.WR", kDramWrite, 64, kPart},
    {"INST_RETIRED.ANY", kInstructions, 1, kTotal},
    {"CPU_CLK_UNHALTED.THREAD", kCycles, 1, kTotal},

    // The plain table of docs/measuring.md.
    {"flops", kFlops, 1, kTotal},
    {"flops_f16", kFlopsF16, 1, kTotal},
    {"flops_f32", kFlopsF32, 1, kTotal},
    {"flops_f64", kFlopsF64, 1, kTotal},
    {"tensor_flops", kTensorFlops, 1, kTotal},
    {"tensor_instructions", kTensorInstructions, 1, kTotal},
    {"bytes", kDram, 1, kTotal},
    {"dram_bytes", kDram, 1, kTotal},
    {"l2_bytes", kL2, 1, kTotal},
    {"occupancy", kOccupancy, 1, kTotal},
    {"instructions", kInstructions, 1, kTotal},
    {"cycles", kCycles, 1, kTotal},
    {"allocated_bytes", kAllocated, 1, kTotal},

    // ONNX Runtime: bytes of the tensors that a node makes.
    {"output_size", kAllocated, 1, kTotal},
};

}  // namespace

std::span<const CounterRule> CounterRules() { return kCounterRules; }

}  // namespace dlcost
