#include <gtest/gtest.h>

#include <algorithm>

#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

// Every model at hand, with the dimensions that it needs.
struct ModelFile {
  std::string path;
  Dims dims;
};

std::vector<ModelFile> ModelsAtHand() {
  const std::string root(DLCOST_SOURCE_DIR);
  std::vector<ModelFile> models;
  const std::map<std::string, Dims> dims = {
      {"bert_torchscript", {{"sequence", 16}}},
      {"bert_qdq", {{"sequence", 16}}},
      {"gpt2_torchscript", {{"sequence", 16}}},
      {"gpt2_cache_torchscript", {{"sequence", 1}, {"past_sequence", 15}, {"total_sequence", 16}}},
      {"bert_dynamo", {{"seq", 16}}},
      {"gpt2_dynamo", {{"seq", 16}}},
      {"llama_gqa_dynamo", {{"seq", 16}}},
      {"attention_opset23", {{"seq", 16}}},
      {"t5_torchscript", {{"enc", 16}, {"dec", 8}}},
      {"bert-base", {{"sequence", 16}}},
      {"gpt2", {{"sequence", 16}}},
      {"llama3-8b", {{"sequence", 16}}},
      {"lstm", {{"sequence", 16}}},
      {"attention_keras", {{"unk__1271", 2}}},
  };
  for (const char* folder : {"/tests/plan/models", "/models/networks"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root + folder)) {
      if (entry.path().extension() != ".onnx") continue;
      const auto found = dims.find(entry.path().stem().string());
      models.push_back({entry.path().string(), found == dims.end() ? Dims{} : found->second});
    }
  }
  std::sort(models.begin(), models.end(),
            [](const ModelFile& a, const ModelFile& b) { return a.path < b.path; });
  return models;
}

Work SumOfNodes(const InferredModel& model) {
  Work sum;
  for (const CountedNode& node : model.nodes) sum.Add(node.cost.work);
  return sum;
}

Work SumOfKernels(const Plan& plan) {
  Work sum;
  for (const Kernel& kernel : plan.kernels) sum.Add(kernel.work);
  return sum;
}

class EveryModel : public testing::TestWithParam<ModelFile> {};

TEST_P(EveryModel, NodesBelongToOneKernelAndWorkIsConserved) {
  const InferredModel model = InferFile(GetParam().path, GetParam().dims);
  const Work work = SumOfNodes(model);
  std::map<Fusion, Bytes> bytes;
  for (const Fusion fusion : {Fusion::kNone, Fusion::kDefault, Fusion::kIdeal}) {
    const Plan plan = PlanWith(model, fusion);
    ASSERT_EQ(plan.kernel_of.size(), model.nodes.size());
    std::vector<int> seen(model.nodes.size(), 0);
    for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
      for (const std::size_t n : plan.kernels[k].nodes) {
        ++seen[n];
        EXPECT_EQ(plan.kernel_of[n], k);
      }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size()));
    const Work planned = SumOfKernels(plan);
    for (int c = 0; c < kOpClassCount; ++c) {
      const auto op_class = static_cast<OpClass>(c);
      EXPECT_EQ(planned.Of(op_class), work.Of(op_class)) << Name(fusion) << " " << Name(op_class);
    }
    bytes[fusion] = TotalBytes(plan);
  }
  EXPECT_LE(bytes[Fusion::kDefault], bytes[Fusion::kNone]);
  EXPECT_LE(bytes[Fusion::kIdeal], bytes[Fusion::kDefault]);
}

// A kernel runs when everything it reads has been made: following edges between kernels never leads
// back.
TEST_P(EveryModel, KernelsHaveNoCycles) {
  const InferredModel model = InferFile(GetParam().path, GetParam().dims);
  const Plan plan = PlanWith(model, Fusion::kDefault);
  std::map<std::pair<const Graph*, TensorId>, std::size_t> producer;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    for (const TensorId id : model.nodes[n].node->outputs) {
      if (id != kNoTensor) producer[{model.nodes[n].graph, id}] = n;
    }
  }
  std::vector<std::vector<std::size_t>> readers(plan.kernels.size());
  std::vector<int> waiting(plan.kernels.size(), 0);
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const NodeStatus status = model.nodes[n].status;
    if (status == NodeStatus::kMetadata || status == NodeStatus::kView) continue;
    for (TensorId id : model.nodes[n].node->inputs) {
      // Through views to the node that makes the data.
      auto found = producer.find({model.nodes[n].graph, id});
      while (found != producer.end() && model.nodes[found->second].status == NodeStatus::kView) {
        id = model.nodes[found->second].node->inputs[0];
        found = producer.find({model.nodes[n].graph, id});
      }
      if (found == producer.end()) continue;
      // A dequantization is done again wherever its result is read.
      if (model.nodes[found->second].node->op == "DequantizeLinear") continue;
      if (model.nodes[found->second].status == NodeStatus::kMetadata) continue;
      const std::size_t from = plan.kernel_of[found->second], to = plan.kernel_of[n];
      if (from == to) continue;
      readers[from].push_back(to);
      ++waiting[to];
    }
  }
  std::vector<std::size_t> ready;
  for (std::size_t k = 0; k < waiting.size(); ++k) {
    if (waiting[k] == 0) ready.push_back(k);
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const std::size_t k = ready.back();
    ready.pop_back();
    ++done;
    for (const std::size_t reader : readers[k]) {
      if (--waiting[reader] == 0) ready.push_back(reader);
    }
  }
  EXPECT_EQ(done, plan.kernels.size());
}

std::string TestName(const testing::TestParamInfo<ModelFile>& info) {
  std::string name = std::filesystem::path(info.param.path).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(AtHand, EveryModel, testing::ValuesIn(ModelsAtHand()), TestName);

// Quadratic planning would run into ctest's time limit here; bench/ measures how long it takes.
TEST(LongChains, BecomeOneKernel) {
  constexpr int kNodes = 50'000;
  SmallModel chain, diamonds;
  chain.Input("t0", {1, 64});
  for (int i = 0; i < kNodes; ++i) {
    chain.Node("Relu", {"t" + std::to_string(i)}, {"t" + std::to_string(i + 1)});
  }
  chain.Output("t" + std::to_string(kNodes));
  // Every step reads the step before twice: residual blocks without products.
  diamonds.Input("t0", {1, 64});
  for (int i = 0; i < kNodes / 2; ++i) {
    const std::string in = "t" + std::to_string(i), out = "t" + std::to_string(i + 1);
    diamonds.Node("Sigmoid", {in}, {"s" + std::to_string(i)});
    diamonds.Node("Mul", {in, "s" + std::to_string(i)}, {out});
  }
  diamonds.Output("t" + std::to_string(kNodes / 2));
  for (SmallModel* model : {&chain, &diamonds}) {
    const InferredModel inferred = model->Infer();
    const Plan plan = PlanWith(inferred, Fusion::kDefault);
    EXPECT_EQ(Labels(plan).size(), 1U);
    EXPECT_EQ(plan.kernels[0].bytes_read, Bytes(256));
    EXPECT_EQ(plan.kernels[0].bytes_written, Bytes(256));
  }
}

}  // namespace
}  // namespace dlcost
