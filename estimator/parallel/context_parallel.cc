#include "estimator/parallel/context_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "estimator/core/error.h"
#include "estimator/parallel/context_operands.h"
#include "estimator/parallel/rank_graph.h"
#include "estimator/parallel/unpack_attention.h"
#include "models/gradients/writer.h"
#include "models/operators/attention_core.h"

namespace dlcost {
namespace {

// Writes what gathers keys and values before the attention that reads them, each once. In the whole
// graph it changes no shape.
void WriteGathers(RankGraph& rank, const std::vector<AttentionOperands>& attention) {
  Graph& graph = rank.model.graph;
  std::map<std::pair<TensorId, std::size_t>, TensorId> made;
  std::map<std::size_t, std::vector<Node>> before;  // the node that reads them first
  for (const AttentionOperands& each : attention) {
    for (const SequenceOperand& operand : each.gathered) {
      Node& reader = graph.nodes[operand.node];
      TensorId& read = reader.inputs[operand.input];
      const auto [known, fresh] = made.emplace(std::pair(read, operand.axis), kNoTensor);
      if (fresh) {
        Tensor whole = graph.tensors[static_cast<std::size_t>(read)];
        Node gather;
        gather.name = fmt::format("{}/gather_{}", reader.name, operand.input);
        gather.op = "AllGather";
        gather.domain = "dlcost.parallel";
        gather.scope = reader.scope;
        gather.phase = reader.phase;
        gather.opset = 1;
        gather.attributes = {IntAttribute("axis", static_cast<std::int64_t>(operand.axis)),
                             IntAttribute("devices", rank.plan.devices),
                             IntAttribute("stride", rank.plan.stride)};
        gather.inputs = {read};
        known->second = static_cast<TensorId>(graph.tensors.size());
        gather.outputs = {known->second};
        whole.name = gather.name;
        whole.role = Role::kActivation;
        whole.is_initializer = whole.constant = whole.foldable = false;
        whole.value = nullptr;
        whole.declared.reset();
        graph.tensors.push_back(std::move(whole));
        before[operand.node].push_back(std::move(gather));
      }
      rank.gathered.insert(known->second);
      read = known->second;
    }
    Node& reader = graph.nodes[each.queries.node];
    if (reader.op == "Attention") {
      reader.attributes.push_back(IntAttribute(std::string(kContextDevices), rank.plan.devices));
    }
  }
  std::vector<Node> nodes;
  std::vector<Macs> macs;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (Node& gather : before[n]) {
      nodes.push_back(std::move(gather));
      macs.emplace_back(0);
    }
    nodes.push_back(std::move(graph.nodes[n]));
    macs.push_back(rank.macs[n]);
  }
  graph.nodes = std::move(nodes);
  rank.macs = std::move(macs);
}

// The sequence of the queries, by the node that reads them, and that it divides.
void TakeSequence(RankGraph& rank, const std::vector<TensorId>& queries,
                  const std::vector<std::size_t>& axes) {
  const Factors& factors = rank.axes.factors;
  const int devices = rank.plan.devices;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const Axes& all = rank.axes.tensors[static_cast<std::size_t>(queries[i])];
    if (axes[i] >= all.size()) throw Error("cp={}: queries are known before the run", devices);
    const Axis& positions = all[axes[i]];
    const std::int64_t length = factors.SizeOf(positions);
    const std::int64_t pieces = 2 * std::int64_t{devices};
    if (length % pieces != 0) {
      throw Error(
          "cp={}: a sequence of {} does not divide into {} pieces (two for each device, of its "
          "begin and its end); {} would",
          devices, length, pieces, (length / pieces + 1) * pieces);
    }
    const Axis terms = factors.Terms(positions);
    if (terms.size() != 1 || factors.blocked(terms[0]) || !factors.PartsOf(terms[0]).empty()) {
      throw Error("cp={}: the sequence of this model is put together of others, and is not split",
                  devices);
    }
    rank.split.insert(terms[0]);
  }
}

// What has the sequence twice are scores that nothing was gathered for.
void RequireOnce(const RankGraph& rank) {
  for (std::size_t t = 0; t < rank.axes.tensors.size(); ++t) {
    const Axes& axes = rank.axes.tensors[t];
    const auto splits = std::count_if(axes.begin(), axes.end(), [&](const Axis& axis) {
      return rank.axes.Splits(axis, rank.split);
    });
    if (splits < 2 || rank.axes.free[t]) continue;
    throw Error("cp={}: '{}' has the sequence twice: it is of attention that is not known",
                rank.plan.devices, Printable(rank.model.graph.tensors[t].name));
  }
}

}  // namespace

InferredModel InferContextRank(const InferredModel& model, const ContextParallel& plan,
                               const InferOptions& options) {
  RankGraph rank(model, {.option = fmt::format("cp={}", plan.devices),
                         .devices = plan.devices,
                         .stride = plan.stride,
                         .trains = plan.trains,
                         .keeps_weights = true});
  Graph& graph = rank.model.graph;
  UnpackAttention(rank);
  const std::vector<AttentionOperands> attention = FindAttentionOperands(graph);
  if (attention.empty()) throw Error("cp={}: {}", plan.devices, WhyNoAttention(graph));
  std::vector<TensorId> queries;
  std::vector<std::size_t> axes;
  for (const AttentionOperands& each : attention) {
    queries.push_back(graph.nodes[each.queries.node].inputs[each.queries.input]);
    axes.push_back(each.queries.axis);
  }
  WriteGathers(rank, attention);
  rank.axes = AxesOf(graph);
  // What goes into the gathers written here is a part, whatever comes out of them.
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool written = !node.outputs.empty() && rank.gathered.count(node.outputs[0]) > 0;
    if (written && rank.axes.nodes[n]) rank.axes.nodes[n]->whole.clear();
  }
  TakeSequence(rank, queries, axes);
  RequireOnce(rank);
  WriteRank(rank);
  return InferWritten(std::move(rank), model, options);
}

}  // namespace dlcost
