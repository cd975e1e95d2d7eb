#pragma once

#include <onnx/onnx_pb.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "estimator/graph/graph.h"
#include "estimator/onnx/name_table.h"

namespace dlcost {

// Turns GraphProtos into Graphs: names into tensor ids, local functions inlined, outer values
// captured.
class GraphBuilder {
 public:
  explicit GraphBuilder(const onnx::ModelProto& model);

  // The main graph. Throws Error for undefined or twice defined names, recursive functions,
  // malformed tensors.
  Graph Build();

 private:
  using NodeProtos = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  // The names visible in one graph or one inlined function body.
  struct Scope {
    Graph* graph = nullptr;
    Scope* parent =
        nullptr;      // of a subgraph: the scope around it; null for main graph and function bodies
    NameTable names;  // of tensors: the file's own strings
    const NodeProtos* nodes = nullptr;
    int declared = 0;    // how many of `nodes` have their outputs in `names`
    std::string prefix;  // of names inside an inlined function: "call/"
    std::map<std::string, int> opset;
    const std::unordered_map<std::string, const onnx::AttributeProto*>* call_attributes = nullptr;
  };

  void Reserve(const onnx::GraphProto& proto, Scope& scope);
  void FillGraph(const onnx::GraphProto& proto, Scope& scope, bool is_main);
  void AddInputs(const onnx::GraphProto& proto, Scope& scope);
  void AddInitializers(const onnx::GraphProto& proto, Scope& scope);
  // Adds nodes in the order of the file. Outputs get their names just before, while the entries are
  // still at hand when the next nodes ask for them; all at once where a file is not sorted.
  void AddNodes(const NodeProtos& nodes, Scope& scope);
  void DeclareOutputs(Scope& scope, int end);
  void AddNode(const onnx::NodeProto& proto, Scope& scope);
  void AddPlainNode(const onnx::NodeProto& proto, const std::string& name, Scope& scope);
  void ShareConstant(const onnx::NodeProto& proto, const Scope& scope, Node& node);
  void Inline(const onnx::NodeProto& call, const onnx::FunctionProto& function,
              const std::string& name, Scope& scope);
  bool ToAttribute(const onnx::AttributeProto& proto, Scope& scope, Attribute& attribute);
  std::shared_ptr<Graph> Subgraph(const onnx::GraphProto& proto, Scope& scope);
  // How many nodes a list of nodes becomes with all functions inlined, without doing so; at most
  // about kMaxNodes. Linear in the file: each function is counted once.
  std::size_t ExpandedSize(const NodeProtos& nodes, std::size_t calls);

  // `node` makes the tensor, or is null; errors name it, or else `what` the tensor is.
  TensorId AddTensor(Scope& scope, const std::string& name, std::string_view what,
                     const onnx::NodeProto* node = nullptr);
  // The id of a visible name in `scope`'s graph, captured from outside where needed; nullopt when
  // nothing has that name, kNoTensor for a function's input that the call omits.
  std::optional<TensorId> Lookup(const std::string& name, Scope& scope);
  std::string UniqueNodeName(const onnx::NodeProto& proto, const Scope& scope);
  int OpsetOf(const std::string& domain, const Scope& scope) const;
  const onnx::FunctionProto* FindFunction(const onnx::NodeProto& node) const;

  const onnx::ModelProto& model_;
  std::unordered_map<std::string, const onnx::FunctionProto*> functions_;
  std::unordered_map<const onnx::FunctionProto*, std::size_t> expanded_size_;
  std::vector<const onnx::FunctionProto*> call_stack_;
  // What the tensors that functions store are in each graph.
  std::map<std::pair<const Graph*, const onnx::NodeProto*>, TensorId> function_constants_;
  std::deque<std::string> made_names_;  // of nodes whose name is not the file's own string
  NameTable node_names_;
  std::size_t node_count_ = 0;
};

// "" for the default domain in any of its spellings.
std::string NormalDomain(const std::string& domain);

// The declared type of a graph input, output or intermediate value.
DeclaredType ToDeclaredType(const onnx::TypeProto& type);

}  // namespace dlcost
