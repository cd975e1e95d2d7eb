#pragma once

#include "estimator/roofline/expected.h"

namespace dlcost {

struct GemmProblem;
struct GemmTime;
struct ConvProblem;
struct ConvTime;
struct AttentionProblem;
struct AttentionTime;
struct StreamProblem;
struct StreamTime;
struct RecurrentProblem;
struct RecurrentTime;

// Each appends the arithmetic of one kind of kernel to result.steps, names the limiter, and says
// what would make the kernel faster.
void ExplainGemm(const TimingDevice& device, const GemmProblem& problem,
                 const Conditions& conditions, const GemmTime& time, Expected& result);
void ExplainConv(const TimingDevice& device, const ConvProblem& problem, const ConvTime& time,
                 Expected& result);
void ExplainAttention(const TimingDevice& device, const AttentionProblem& problem,
                      const AttentionTime& time, double extra_seconds, Expected& result);
void ExplainStream(const StreamProblem& problem, const StreamTime& time, Expected& result);
void ExplainRecurrent(const RecurrentProblem& problem, const GemmTime& inputs,
                      const RecurrentTime& time, double directions, Expected& result);
// A kernel that waits for the board's power, which carries `limit` FLOP/s: it takes `seconds`.
void ExplainPower(const TimingDevice& device, double limit, double seconds, Expected& result);
// The last lines: launch, repeats, total, range.
void ExplainTotal(Expected& result, double repeats, double log_range);

}  // namespace dlcost
