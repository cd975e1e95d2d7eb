#include <algorithm>
#include <map>

#include "estimator/core/error.h"
#include "models/operators/families.h"
#include "models/operators/ml.h"

namespace dlcost {
namespace {

// Ensembles of decision trees. Which path a row takes is in the data: every tree counts its
// longest, as an upper bound. The trees are attributes. A decision takes 12 bytes besides its
// threshold (feature and two children as 32-bit numbers), a vote a 32-bit weight and target; a run
// reads what its rows pass, at most everything.
constexpr std::int64_t kLinkBytes = 12;
constexpr std::int64_t kVoteBytes = 8;

struct Tree {
  // Children of node i, or -1 for a leaf.
  std::vector<std::int64_t> on_true, on_false;
  std::vector<std::int64_t> roots;
};

// Sum over the trees of the number of decisions on the longest path. Iterative, and linear: trees
// may be deep, and files lie.
Count LongestPaths(const Tree& tree) {
  const auto size = static_cast<std::int64_t>(tree.on_true.size());
  std::vector<std::int64_t> depth(tree.on_true.size(), -1);  // -1 new, -2 on the path
  Count sum = 0;
  for (const std::int64_t root : tree.roots) {
    std::vector<std::int64_t> stack = {root};
    while (!stack.empty()) {
      const std::int64_t node = stack.back();
      if (node < 0 || node >= size) throw Error("tree node {} does not exist", node);
      const auto i = static_cast<std::size_t>(node);
      if (depth[i] >= 0) {
        stack.pop_back();
        continue;
      }
      const std::int64_t children[] = {tree.on_true[i], tree.on_false[i]};
      if (depth[i] == -1) {
        depth[i] = -2;
        for (const std::int64_t child : children) {
          if (child < 0) continue;
          if (child < size && depth[static_cast<std::size_t>(child)] == -2) {
            throw Error("tree node {} is below itself", child);
          }
          stack.push_back(child);
        }
        continue;
      }
      std::int64_t below = -1;
      for (const std::int64_t child : children) {
        if (child >= 0) below = std::max(below, depth[static_cast<std::size_t>(child)]);
      }
      const bool leaf = children[0] < 0 && children[1] < 0;
      depth[i] = leaf ? 0 : std::max<std::int64_t>(below, 0) + 1;
      stack.pop_back();
    }
    sum += Count(depth[static_cast<std::size_t>(root)]);
  }
  return sum;
}

// The trees of TreeEnsembleClassifier and -Regressor: nodes named by (tree, node); the first node
// of each tree is its root.
Tree NamedTrees(const OpContext& ctx) {
  const std::vector<std::int64_t> trees = ctx.Ints("nodes_treeids");
  const std::vector<std::int64_t> nodes = ctx.Ints("nodes_nodeids");
  const std::vector<std::int64_t> on_true = ctx.Ints("nodes_truenodeids");
  const std::vector<std::int64_t> on_false = ctx.Ints("nodes_falsenodeids");
  const std::vector<std::string> modes = ctx.Strings("nodes_modes");
  const std::size_t size = trees.size();
  if (nodes.size() != size || on_true.size() != size || on_false.size() != size ||
      modes.size() != size) {
    throw Error("the attributes that begin with nodes_ have different lengths");
  }
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> index;
  Tree tree;
  std::map<std::int64_t, std::int64_t> root;
  for (std::size_t i = 0; i < size; ++i) {
    const auto position = static_cast<std::int64_t>(i);
    index[{trees[i], nodes[i]}] = position;
    if (root.emplace(trees[i], position).second) tree.roots.push_back(position);
  }
  const auto find = [&](std::size_t i, std::int64_t node) {
    const auto found = index.find({trees[i], node});
    if (found == index.end()) throw Error("tree {} has no node {}", trees[i], node);
    return found->second;
  };
  for (std::size_t i = 0; i < size; ++i) {
    const bool leaf = modes[i] == "LEAF";
    tree.on_true.push_back(leaf ? -1 : find(i, on_true[i]));
    tree.on_false.push_back(leaf ? -1 : find(i, on_false[i]));
  }
  return tree;
}

// Votes that a row collects at most: per tree, those of the leaf that has the most.
Count Votes(const std::vector<std::int64_t>& trees, const std::vector<std::int64_t>& nodes) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> at_leaf;
  std::map<std::int64_t, std::int64_t> most;
  for (std::size_t i = 0; i < std::min(trees.size(), nodes.size()); ++i) {
    most[trees[i]] = std::max(most[trees[i]], ++at_leaf[{trees[i], nodes[i]}]);
  }
  Count sum = 0;
  for (const auto& [tree, votes] : most) sum += Count(votes);
  return sum;
}

struct Ensemble {
  Count decisions, votes;          // held by the attributes
  Count row_decisions, row_votes;  // that a row passes, at most
  std::int64_t threshold_bytes = 4;
};

void AddHeldTrees(OpCost& cost, const Ensemble& ensemble, Count rows) {
  const Count decision_bytes = Count(kLinkBytes + ensemble.threshold_bytes);
  const Count all = ensemble.decisions * decision_bytes + ensemble.votes * kVoteBytes;
  const Count passed =
      rows * (ensemble.row_decisions * decision_bytes + ensemble.row_votes * kVoteBytes);
  AddHeld(cost, ensemble.decisions + ensemble.votes, Bytes(all), Bytes(std::min(all, passed)));
}

constexpr std::string_view kTreeNote =
    "which path a row takes is in the data; counted: the longest";

OpCost CostNamedTrees(const OpContext& ctx, std::string_view votes, std::int64_t scores) {
  OpCost cost = StreamAll(ctx);
  const Count rows = RowsOf(ctx).rows;
  const std::string prefix(votes);
  const Tree tree = NamedTrees(ctx);
  const std::vector<std::int64_t> voters = ctx.Ints(prefix + "_nodeids");
  Ensemble ensemble;
  ensemble.decisions = std::count_if(tree.on_true.begin(), tree.on_true.end(),
                                     [](std::int64_t child) { return child >= 0; });
  ensemble.votes = static_cast<std::int64_t>(voters.size());
  ensemble.row_decisions = LongestPaths(tree);
  ensemble.row_votes = Votes(ctx.Ints(prefix + "_treeids"), voters);
  AddHeldTrees(cost, ensemble, rows);
  cost.work.Add(OpClass::kCompare, DType::kFloat32, rows * ensemble.row_decisions);
  cost.work.Add(OpClass::kAdd, DType::kFloat32, rows * ensemble.row_votes);
  AddPostTransform(cost, ctx.String("post_transform", "NONE"), rows * scores);
  cost.note = std::string(kTreeNote);
  return cost;
}

void InferClassifier(OpContext& ctx) {
  const std::int64_t rows = RowsOf(ctx).rows;
  const std::int64_t classes = InferLabels(ctx, rows, "classlabels_int64s");
  ctx.SetOutput(1, DType::kFloat32, Shape{rows, classes});
}

OpCost CostClassifier(const OpContext& ctx) {
  const auto classes = static_cast<std::int64_t>(
      std::max(ctx.Strings("classlabels_strings").size(), ctx.Ints("classlabels_int64s").size()));
  OpCost cost = CostNamedTrees(ctx, "class", classes);
  // The label is that of the largest score.
  cost.work.Add(OpClass::kCompare, DType::kFloat32,
                Count(RowsOf(ctx).rows) * std::max<std::int64_t>(0, classes - 1));
  return cost;
}

void InferRegressor(OpContext& ctx) {
  ctx.SetOutput(0, DType::kFloat32, Shape{RowsOf(ctx).rows, ctx.Int("n_targets", 1)});
}

OpCost CostRegressor(const OpContext& ctx) {
  const std::int64_t targets = ctx.Int("n_targets", 1);
  OpCost cost = CostNamedTrees(ctx, "target", targets);
  if (ctx.String("aggregate_function", "SUM") == "AVERAGE") {
    cost.work.Add(OpClass::kDiv, DType::kFloat32, Count(RowsOf(ctx).rows) * targets);
  }
  return cost;
}

void InferTreeEnsemble(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), Shape{RowsOf(ctx).rows, ctx.Int("n_targets", 1)});
}

OpCost CostTreeEnsemble(const OpContext& ctx) {
  Tree tree{ctx.RequiredInts("nodes_truenodeids"), ctx.RequiredInts("nodes_falsenodeids"),
            ctx.RequiredInts("tree_roots")};
  const std::vector<std::int64_t> true_leafs = ctx.RequiredInts("nodes_trueleafs");
  const std::vector<std::int64_t> false_leafs = ctx.RequiredInts("nodes_falseleafs");
  const std::size_t size = tree.on_true.size();
  if (tree.on_false.size() != size || true_leafs.size() != size || false_leafs.size() != size) {
    throw Error("the attributes that begin with nodes_ have different lengths");
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (true_leafs[i] != 0) tree.on_true[i] = -1;
    if (false_leafs[i] != 0) tree.on_false[i] = -1;
  }
  OpCost cost = StreamAll(ctx);
  const Count rows = RowsOf(ctx).rows;
  const Count trees = static_cast<std::int64_t>(tree.roots.size());
  // A node with two leaves below is the end of a path here, and still decides between them.
  const Count decisions = LongestPaths(tree) + trees;
  const DType type = ctx.InputType(0);
  const auto leaves = static_cast<std::int64_t>(ctx.Ints("leaf_targetids").size());
  AddHeldTrees(cost,
               {.decisions = static_cast<std::int64_t>(size),
                .votes = leaves,
                .row_decisions = decisions,
                .row_votes = trees,
                .threshold_bytes = SizeOf(type, 1).value()},
               rows);
  cost.work.Add(OpClass::kCompare, type, rows * decisions);
  cost.work.Add(OpClass::kAdd, type, rows * trees);
  const Count scores = rows * ctx.Int("n_targets", 1);
  constexpr std::string_view kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                              "PROBIT"};
  const std::int64_t transform = ctx.Int("post_transform", 0);
  if (transform < 0 || transform > 4) throw Error("post_transform is {}", transform);
  AddPostTransform(cost, kTransforms[transform], scores);
  if (ctx.Int("aggregate_function", 1) == 0) cost.work.Add(OpClass::kDiv, type, scores);
  cost.note = std::string(kTreeNote);
  return cost;
}

// The tree of both cases: node 0 decides between node 1, which decides between leaves 2 and 3, and
// leaf 4.
constexpr OpCase kClassifierCases[] = {
    {.what = "the longest path has 2 decisions; 1 vote, 1 comparison of scores",
     .attributes = "nodes_treeids=[0,0,0,0,0] nodes_nodeids=[0,1,2,3,4] "
                   "nodes_truenodeids=[1,2,0,0,0] nodes_falsenodeids=[4,3,0,0,0] "
                   "nodes_modes=['BRANCH_LEQ','BRANCH_LEQ','LEAF','LEAF','LEAF'] "
                   "class_treeids=[0,0,0] class_nodeids=[2,3,4] class_ids=[0,1,0] "
                   "classlabels_int64s=[7,8]",
     .inputs = "f32[10,3]",
     .outputs = "i64[10] f32[10,2]",
     .flops = 40,
     .bytes_read = 120 + 2 * 16 + 3 * 8,
     .bytes_written = 160,
     .opset = 3}};
constexpr OpCase kRegressorCases[] = {
    {.what = "the longest path has 2 decisions; 1 weight",
     .attributes = "nodes_treeids=[0,0,0,0,0] nodes_nodeids=[0,1,2,3,4] "
                   "nodes_truenodeids=[1,2,0,0,0] nodes_falsenodeids=[4,3,0,0,0] "
                   "nodes_modes=['BRANCH_LEQ','BRANCH_LEQ','LEAF','LEAF','LEAF'] "
                   "target_treeids=[0,0,0] target_nodeids=[2,3,4] n_targets=1",
     .inputs = "f32[10,3]",
     .outputs = "f32[10,1]",
     .flops = 30,
     .bytes_read = 120 + 2 * 16 + 3 * 8,
     .bytes_written = 40,
     .opset = 3}};
constexpr OpCase kEnsembleCases[] = {
    {.what = "node 0 decides between node 1 and a leaf, node 1 between leaves",
     .attributes = "tree_roots=[0] nodes_truenodeids=[1,0] nodes_falsenodeids=[2,1] "
                   "nodes_trueleafs=[0,1] nodes_falseleafs=[1,1] leaf_targetids=[0,0,0] "
                   "n_targets=1",
     .inputs = "f64[10,3]",
     .outputs = "f64[10,1]",
     .flops = 30,
     .bytes_read = 240 + 2 * 20 + 3 * 8,
     .bytes_written = 80}};

constexpr std::string_view kMlTreeFormula =
    "compares = rows * sum over trees of the longest path (upper bound); add = rows * votes; "
    "post_transform";

constexpr OpDef kMlTreeOps[] = {
    {.name = "TreeEnsembleClassifier",
     .domain = kMlDomain,
     .since = {1, 3, 5},
     .formula = kMlTreeFormula,
     .infer = InferClassifier,
     .cost = CostClassifier,
     .cases = kClassifierCases},
    {.name = "TreeEnsembleRegressor",
     .domain = kMlDomain,
     .since = {1, 3, 5},
     .formula = kMlTreeFormula,
     .infer = InferRegressor,
     .cost = CostRegressor,
     .cases = kRegressorCases},
    {.name = "TreeEnsemble",
     .domain = kMlDomain,
     .since = {5},
     .formula = kMlTreeFormula,
     .infer = InferTreeEnsemble,
     .cost = CostTreeEnsemble,
     .cases = kEnsembleCases},
};

}  // namespace

std::span<const OpDef> MlTreeOps() { return kMlTreeOps; }

}  // namespace dlcost
