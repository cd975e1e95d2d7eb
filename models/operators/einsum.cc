#include <algorithm>
#include <array>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Counting. Operands are contracted in pairs, from left to right. First each operand loses what
// only it has and the result does not want: repeated labels are its diagonal (nothing to compute),
// labels that occur nowhere else are summed (additions). Then a pair costs one MAC per point of
// the labels of both when it sums any of them, one multiplication per point when it does not. An
// intermediate result keeps the labels that later operands or the output still need.

constexpr int kEllipsisLabels = 16;            // axes behind "...", counted from the right
constexpr int kLabels = 52 + kEllipsisLabels;  // A-Z, a-z: their order is that of the output
using Labels = std::array<bool, kLabels>;

struct Equation {
  std::vector<std::vector<int>> operands;  // the label of every axis
  std::vector<int> output;
  std::array<std::int64_t, kLabels> extent{};
};

int LabelOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  throw Error("'{}' in the equation is not a letter", Printable(std::string(1, c)));
}

// The labels of one term whose "..." stands for `ellipsis` axes.
std::vector<int> TermLabels(std::string_view term, int ellipsis) {
  std::vector<int> labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] != '.') {
      labels.push_back(LabelOf(term[i]));
      continue;
    }
    if (term.substr(i, 3) != "...") throw Error("a single '.' in the equation");
    if (term.find("...", i + 3) != term.npos) throw Error("'...' twice in one term");
    for (int axis = ellipsis; axis > 0; --axis) labels.push_back(52 + kEllipsisLabels - axis);
    i += 2;
  }
  return labels;
}

bool HasEllipsis(std::string_view term) { return term.find("...") != term.npos; }

Equation Parse(const OpContext& ctx) {
  std::string text = ctx.String("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t arrow = text.find("->");
  std::string_view inputs = std::string_view(text).substr(0, arrow);
  Equation equation;
  std::array<int, kLabels> uses{};
  int most_ellipsis = 0;
  for (int operand = 0; operand < ctx.NumInputs(); ++operand) {
    const std::size_t comma = inputs.find(',');
    if ((comma == inputs.npos) != (operand + 1 == ctx.NumInputs())) {
      throw Error("the equation '{}' does not have {} terms", Printable(text), ctx.NumInputs());
    }
    const std::string_view term = inputs.substr(0, comma);
    if (comma != inputs.npos) inputs.remove_prefix(comma + 1);
    const Shape& shape = ctx.InputShape(operand);
    int ellipsis = 0;
    if (HasEllipsis(term)) {
      ellipsis = shape.Rank() - static_cast<int>(term.size()) + 3;
      if (ellipsis < 0 || ellipsis > kEllipsisLabels) {
        throw Error("term '{}' does not fit the shape {}", Printable(std::string(term)),
                    ToString(shape));
      }
    }
    most_ellipsis = std::max(most_ellipsis, ellipsis);
    std::vector<int> labels = TermLabels(term, ellipsis);
    if (labels.size() != shape.rank()) {
      throw Error("term '{}' does not fit the shape {}", Printable(std::string(term)),
                  ToString(shape));
    }
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      const auto label = static_cast<std::size_t>(labels[axis]);
      std::int64_t& extent = equation.extent[label];
      if (uses[label] == 0 || extent == 1) {
        extent = shape[axis];
      } else if (shape[axis] != extent && shape[axis] != 1) {
        throw Error("one label of the equation '{}' is {} and {}", Printable(text), extent,
                    shape[axis]);
      }
      ++uses[label];
    }
    equation.operands.push_back(std::move(labels));
  }
  if (arrow != text.npos) {
    equation.output = TermLabels(std::string_view(text).substr(arrow + 2), most_ellipsis);
    for (const int label : equation.output) {
      if (uses[static_cast<std::size_t>(label)] == 0) {
        throw Error("the output of '{}' has a label that no input has", Printable(text));
      }
    }
  } else {
    // Implicit output: the ellipsis, then labels that occur once, in alphabetical order.
    for (int axis = most_ellipsis; axis > 0; --axis) {
      equation.output.push_back(52 + kEllipsisLabels - axis);
    }
    for (int label = 0; label < 52; ++label) {
      if (uses[static_cast<std::size_t>(label)] == 1) equation.output.push_back(label);
    }
  }
  return equation;
}

void InferEinsum(OpContext& ctx) {
  RequireInputs(ctx, 1);
  ctx.SetOutputType(0, ctx.InputType(0));
  const Equation equation = Parse(ctx);
  Shape out;
  for (const int label : equation.output) {
    out.Append(equation.extent[static_cast<std::size_t>(label)]);
  }
  ctx.SetOutput(0, ctx.InputType(0), std::move(out));
}

Labels Marked(const std::vector<int>& labels) {
  Labels marked{};
  for (const int label : labels) marked[static_cast<std::size_t>(label)] = true;
  return marked;
}

// The labels of operands `first` and after, and of the output.
Labels Wanted(const Equation& equation, std::size_t first) {
  Labels wanted = Marked(equation.output);
  for (std::size_t i = first; i < equation.operands.size(); ++i) {
    for (const int label : equation.operands[i]) wanted[static_cast<std::size_t>(label)] = true;
  }
  return wanted;
}

Count Points(const Equation& equation, const Labels& labels) {
  Count points = 1;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i]) points *= equation.extent[i];
  }
  return points;
}

// Sums what is in `labels` but not in `keep`.
void SumOut(Work& work, DType type, const Equation& equation, Labels& labels, const Labels& keep) {
  const Count before = Points(equation, labels);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = labels[i] && keep[i];
  work.Add(OpClass::kAdd, type, Folds(before, Points(equation, labels)));
}

// Contracts `right` into `left`: a matrix product where something is summed, else multiplications
// and no product.
std::optional<GemmNest> Contract(Work& work, DType type, const Equation& equation, Labels& left,
                                 const Labels& right, const Labels& keep) {
  GemmNest nest{.batch = 1, .m = 1, .n = 1, .k = 1};
  bool sums = false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i] && !right[i]) continue;
    const Count extent = equation.extent[i];
    sums = sums || !keep[i];
    (!keep[i] ? nest.k : left[i] && right[i] ? nest.batch : left[i] ? nest.m : nest.n) *= extent;
    left[i] = keep[i];
  }
  work.Add(sums ? OpClass::kMac : OpClass::kMul, type, MacsOf(nest));
  if (!sums) return std::nullopt;
  return nest;
}

OpCost CostEinsum(const OpContext& ctx) {
  OpCost cost;
  const Equation equation = Parse(ctx);
  const DType type = ctx.InputType(0);
  std::vector<Labels> operands;
  for (std::size_t i = 0; i < equation.operands.size(); ++i) {
    operands.push_back(Marked(equation.operands[i]));
    const Count points = Points(equation, operands[i]);
    const int input = static_cast<int>(i);
    if (points < ctx.InputShape(input).Elements()) {  // a diagonal
      AddPartialRead(cost, ctx, input, points, AccessKind::kStrided);
    } else {
      AddRead(cost, ctx, input);
    }
  }
  AddWrite(cost, ctx, 0);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Labels keep = Marked(equation.output);
    for (std::size_t j = 0; j < operands.size(); ++j) {
      for (std::size_t l = 0; j != i && l < keep.size(); ++l) keep[l] = keep[l] || operands[j][l];
    }
    SumOut(cost.work, type, equation, operands[i], keep);
  }
  Labels left = operands[0];
  Count largest;
  for (std::size_t i = 1; i < operands.size(); ++i) {
    std::optional<GemmNest> nest =
        Contract(cost.work, type, equation, left, operands[i], Wanted(equation, i + 1));
    if (!nest) continue;
    if (operands.size() == 2) nest->b_is_weight = ctx.InputIsConstant(1);
    cost.parts.push_back({"product", *nest, type});
    if (IsProduct(cost.nest) && MacsOf(*nest) < largest) continue;
    largest = MacsOf(*nest);
    cost.nest = *nest;
  }
  if (cost.parts.size() == 1) cost.parts.clear();
  if (operands.size() > 1 && !IsProduct(cost.nest)) {
    cost.nest = ElementwiseNest{Points(equation, left)};
  }
  if (operands.size() == 1) {
    cost.nest = ReduceNest{.outer = Points(equation, left),
                           .reduce = CeilDiv(ctx.InputShape(0).Elements(),
                                             std::max(Points(equation, left), Count(1)))};
  }
  if (operands.size() > 2) cost.note = "operands are contracted in pairs, from left to right";
  return cost;
}

constexpr OpCase kEinsumCases[] = {
    {.what = "a matrix product",
     .attributes = "equation='ij,jk->ik'",
     .inputs = "f32[3,4] f32[4,5]",
     .outputs = "f32[3,5]",
     .macs = 60,
     .flops = 120,
     .bytes_read = 4 * 32,
     .bytes_written = 60},
    {.what = "attention scores, any leading axes",
     .attributes = "equation='...qd,...kd->...qk'",
     .inputs = "f16[2,8,16,64] f16[2,8,16,64]",
     .outputs = "f16[2,8,16,16]",
     .macs = 262144,
     .flops = 524288,
     .bytes_read = 4 * 16384,
     .bytes_written = 8192},
    {.what = "the trace of a batch of matrices: reads the diagonals, adds 3 times each",
     .attributes = "equation='bii->b'",
     .inputs = "f32[2,4,4]",
     .outputs = "f32[2]",
     .flops = 6,
     .bytes_read = 32,
     .bytes_written = 8},
    {.what = "implicit output: transposed to alphabetical order",
     .attributes = "equation='ba'",
     .inputs = "f32[2,3]",
     .outputs = "f32[3,2]",
     .bytes_read = 24,
     .bytes_written = 24},
    {.what = "three operands: 24 MACs over j, then 2 * 4 * 5 over k",
     .attributes = "equation='ij,jk,kl->il'",
     .inputs = "f32[2,3] f32[3,4] f32[4,5]",
     .outputs = "f32[2,5]",
     .macs = 24 + 40,
     .flops = 128,
     .bytes_read = 4 * (6 + 12 + 20),
     .bytes_written = 40},
    {.what = "an outer product only multiplies; j is summed first, 4 additions",
     .attributes = "equation='ij,k->ik'",
     .inputs = "f32[2,3] f32[5]",
     .outputs = "f32[2,5]",
     .flops = 4 + 10,
     .bytes_read = 4 * 11,
     .bytes_written = 40},
};

constexpr OpDef kEinsumOps[] = {
    {.name = "Einsum",
     .since = {12, 28},
     .formula = "pairs from left to right: MACs = product of the extents of all labels of a pair",
     .infer = InferEinsum,
     .cost = CostEinsum,
     .role = FusionRole::kAnchor,
     .cases = kEinsumCases},
};

}  // namespace

std::span<const OpDef> EinsumOps() { return kEinsumOps; }

}  // namespace dlcost
