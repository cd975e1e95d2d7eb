#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/infer/infer.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// What runs as one: a set of nodes, what they need, and what they move. Which algorithm a device's
// library takes for it is another room's business (estimator/roofline/run.h).
struct Kernel {
  std::string id;                  // "k12": position in execution order
  std::vector<std::size_t> nodes;  // indices into InferredModel::nodes, in execution order
  // Of these, those that only look at what others move (estimator/infer/strides.h).
  std::vector<std::size_t> looks;
  std::size_t main = 0;   // the node that names the kernel and whose loop nest it runs
  std::string label;      // "conv + batch_normalization + relu"
  std::string nest_name;  // "gemm", "elementwise", ...; "" when nothing is launched
  Work work;              // algorithmic: the sum over the nodes
  Work needed;            // the same without folded nodes, multiply-accumulates in `math`
  Bytes bytes_read;       // live-in of device memory
  Bytes bytes_written;    // live-out
  Bytes bytes_passed;     // part of both: from the kernels before, to the kernels after
  Bytes bytes_weights;    // part of bytes_read: parameters
  // How often it runs: iterations of loops. Work and bytes are of all runs; 0 for views and for
  // what is known before the run.
  Count repeat = 1;
  // Calls, in all runs, for what moves nothing of what the kernel makes: where a framework is
  // called for every node. Some of them, and the kernel, the model's own code asks for; others a
  // call makes of itself.
  Count views;
  Count model_views;
  bool model_call = false;
  // It is a framework's own, for whatever sizes and strides it is called with, not one that was
  // written or compiled for these.
  bool general = false;
  // Results, of one run, whose place a kernel finds one by one, because it takes whatever strides
  // and sizes it is called with (estimator/infer/strides.h); 0 where it is not general, or takes
  // several at once. Of these, those whose neighbours in the result lie far apart in an operand.
  Count places, scattered;
  // A product adds a stored vector to each of its rows.
  bool biased = false;
  // Its result is filled with one number before data are copied into it.
  bool fills = false;
  // It reads an image whose channels lie one after the other, whatever the rest of the model does.
  bool channels_last = false;
  // Of one run; `parts` are those of an operator with several products (OpCost::parts).
  LoopNest nest;
  std::vector<CostPart> parts;
  // The type that multiply-accumulates run in: of the operands, or the quantized type of a product
  // between DequantizeLinear and QuantizeLinear.
  DType math = DType::kUndefined;
  // Attention that the file spells out in several operators: products, softmax, masks and
  // transpositions, none of which it is named after.
  bool spelled_attention = false;
  bool unknown = false;      // contains a node of which nothing is known: contributes no number
  bool upper_bound = false;  // contains a node whose counts are upper bounds
  bool assumed = false;      // contains a node whose counts rest on something assumed

  Bytes bytes() const { return bytes_read + bytes_written; }
};

// The row, among those of operators, of attention that is spelled out.
inline constexpr const char* kAttentionRow = "attention";

struct Plan {
  std::vector<Kernel> kernels;         // in execution order
  std::vector<std::size_t> kernel_of;  // per node of InferredModel::nodes: index into kernels
};

enum class Fusion { kNone, kDefault, kIdeal };
std::string_view Name(Fusion fusion);  // "none", "default", "ideal"
std::optional<Fusion> ParseFusion(std::string_view name);

// What level kDefault fuses, one by one: what a runtime has kernels for.
enum class FusionStep {
  kBias,         // a vector that is added to a matrix product
  kProduct,      // whatever follows a matrix product element by element, a bias included
  kConvolution,  // the same behind a convolution, folded batch normalization included
  kPointwise,    // elementwise chains, and data that they rearrange on the way
  kRows,         // reductions and normalizations with what they read and what follows row by row
  kOperands,     // an operand that a matrix product transposes, a factor that it scales its sums by
  kProjections,  // three products of one operand, query, key and value, stacked into one
  kParallel,     // products of one operand with several weights, stacked into one
  kViews,        // transpositions, slices and the like are strides, which most kernels can read
};
std::string_view Name(FusionStep step);  // "bias", "product", ...
std::optional<FusionStep> ParseFusionStep(std::string_view name);
std::span<const FusionStep> FusionSteps();  // all, in the order above

// A set of them.
class FusionSet {
 public:
  // What compilers do today: everything that needs no other weights than the file has.
  static constexpr FusionSet Compilers() {
    FusionSet set;
    for (const FusionStep step : {FusionStep::kBias, FusionStep::kProduct, FusionStep::kConvolution,
                                  FusionStep::kPointwise, FusionStep::kRows, FusionStep::kViews}) {
      set.Add(step);
    }
    return set;
  }
  constexpr void Add(FusionStep step) { bits_ |= 1U << static_cast<unsigned>(step); }
  constexpr bool Has(FusionStep step) const {
    return (bits_ >> static_cast<unsigned>(step) & 1U) != 0;
  }
  friend bool operator==(const FusionSet&, const FusionSet&) = default;

 private:
  unsigned bits_ = 0;
};

// Whether neither a convolution nor the pointwise kernel behind it adds the convolution's own bias.
constexpr bool AddsBiasApart(FusionSet fuses) {
  return !fuses.Has(FusionStep::kConvolution) && !fuses.Has(FusionStep::kPointwise);
}

// Scores stay on the chip (flash and other fused multi-head kernels), or two products run with a
// softmax between them.
enum class AttentionForm {
  kFlash,    // the fastest kernels that the device has, for every type
  kFlash1,   // those of FlashAttention as it came out in 2022, and of Triton then
  kFlash2,   // those of FlashAttention-2
  kFlash16,  // kFlash for types of 16 bits and narrower of up to 384 queries, and for a single
             // query of any: others materialize
  kCalled,   // what the model calls as one function, in the kernels that PyTorch takes for it; what
             // is written in several operators materializes
  kMaterialized,
};
std::string_view Name(AttentionForm form);  // "flash", ..., "called", "materialized"
std::optional<AttentionForm> ParseAttentionForm(std::string_view name);
std::span<const AttentionForm> AttentionForms();
// Whether scores of this type go through memory, where `queries` of a sequence look at once, or
// more than one.
bool Materializes(AttentionForm form, DType type, Count queries);
bool Materializes(AttentionForm form, DType type);
// Whether attention that a file spells out may run as one kernel, `called` as one function by the
// model that it was exported from.
constexpr bool JoinsSpelled(AttentionForm form, bool called) {
  return called || form != AttentionForm::kCalled;
}

struct PlanOptions {
  Fusion fusion = Fusion::kNone;
  FusionSet fuses = FusionSet::Compilers();  // of level kDefault
  // What the user asks for, and an error where there is no attention; empty: as the runtime does.
  std::optional<AttentionForm> attention;
  AttentionForm attention_by_default = AttentionForm::kFlash;
  // What a framework composes of functions runs as these, where no compiler fuses them: a cross
  // entropy that the user does not name, an RMS normalization, rotary positions.
  bool composed_apart = false;

  AttentionForm Form() const { return attention.value_or(attention_by_default); }
};

// Every node belongs to exactly one kernel, and the algorithmic work of the kernels adds up to that
// of the nodes.
Plan MakePlan(const InferredModel& model, const PlanOptions& options);

// The same kernels one by one, for those who need them only once: a large model's take as much
// memory as its nodes.
void ForEachKernel(const InferredModel& model, const PlanOptions& options,
                   const std::function<void(Kernel)>& visit);

}  // namespace dlcost
