#include "estimator/precision/precision.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "estimator/infer/edit.h"
#include "estimator/precision/autocast_rules.h"
#include "estimator/precision/called_scores.h"
#include "estimator/precision/kept_types.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

// Types between which autocast moves: it leaves double precision and integers alone.
bool IsCastable(DType type) {
  return type == DType::kFloat32 || type == DType::kFloat16 || type == DType::kBfloat16;
}

bool IsControlFlow(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const Attribute& a) {
    return std::holds_alternative<std::shared_ptr<Graph>>(a.value) ||
           std::holds_alternative<std::vector<std::shared_ptr<Graph>>>(a.value);
  });
}

class Caster {
 public:
  Caster(NodeWriter& writer, const Precision& precision, const std::vector<TensorId>& parameters)
      : w_(writer), precision_(precision) {
    for (const TensorId id : parameters) trained_.insert(id);
    for (const Tensor& tensor : w_.graph().tensors) given_.push_back(tensor.type.dtype);
    for (const Node& node : w_.graph().nodes) SpreadTraining(node);
    of_stored_ = OfStored(w_.graph(), trained_);
    for (const Node& node : w_.graph().nodes) {
      if (!IsControlFlow(node)) continue;
      ForEachRead(node, [&](TensorId id) { captured_.insert(id); });
    }
    CaptureWholeLists();
  }

  void Run() {
    if (precision_.whole || precision_.products) kept_.emplace(w_.graph(), trained_, of_stored_);
    if (precision_.whole) StoreInHalf();
    if (precision_.products) StoreMatricesInHalf();
    std::vector<Node> nodes = std::move(w_.graph().nodes);
    w_.graph().nodes.clear();
    for (Node& node : nodes) {
      const bool stays = IsControlFlow(node) || KeepsTypes(node);
      if (!stays) {
        called_.Look(w_.graph(), node);
        const bool linear = !precision_.whole && !precision_.products && HasStoredMatrix(node);
        CastOperands(node);
        if (linear) linear_.insert(node.outputs[0]);
        if (node.op == "Reshape" && node.domain.empty()) reshaped_.insert(node.outputs[0]);
      }
      w_.Take();
      w_.graph().nodes.push_back(std::move(node));
      if (stays) continue;
      RetypeOutputs(w_.graph().nodes.size() - 1);
    }
    w_.Take();
  }

 private:
  Tensor& At(TensorId id) { return w_.graph().tensors[static_cast<std::size_t>(id)]; }
  bool IsTrained(TensorId id) const { return trained_.count(id) != 0; }

  bool IsList(TensorId id) { return id != kNoTensor && At(id).type.kind != ValueKind::kTensor; }

  bool CanCast(TensorId id) {
    return id != kNoTensor && !IsList(id) && IsCastable(At(id).type.dtype);
  }

  // Nothing casts the elements of a list: one that control flow reads is made of what it has in
  // the file, and so are those that it is made of.
  void CaptureWholeLists() {
    std::vector<Node>& nodes = w_.graph().nodes;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (!MakesCapturedList(*node)) continue;
      for (const TensorId id : node->inputs) {
        if (IsList(id)) captured_.insert(id);
      }
    }
  }

  bool MakesCapturedList(const Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](TensorId id) { return IsList(id) && captured_.count(id) != 0; });
  }

  // Autocast leaves what is known before the run alone.
  bool KeepsTypes(const Node& node) const {
    return IsKnown(w_.graph(), node, trained_) && (!kept_ || kept_->KeepsResultOf(node));
  }

  // What is stored, but for what keeps its type.
  void StoreInHalf() {
    const std::vector<TensorId>& inputs = w_.graph().inputs;
    for (std::size_t t = 0; t < w_.graph().tensors.size(); ++t) {
      const auto id = static_cast<TensorId>(t);
      const Tensor& tensor = At(id);
      const bool stored =
          tensor.is_initializer || std::find(inputs.begin(), inputs.end(), id) != inputs.end();
      if (!stored || kept_->Keeps(id) || captured_.count(id) != 0) continue;
      if (IsCastable(tensor.type.dtype)) SetType(id, precision_.half);
    }
    // What the file makes one of these types of something else is meant to be that of the model.
    for (Node& node : w_.graph().nodes) {
      if (node.op != "Cast" || !node.domain.empty() || KeepsTypes(node)) continue;
      for (Attribute& attribute : node.attributes) {
        if (attribute.name != "to") continue;
        auto* to = std::get_if<std::int64_t>(&attribute.value);
        if (to != nullptr && IsCastable(static_cast<DType>(*to))) {
          *to = static_cast<std::int64_t>(precision_.half);
        }
      }
    }
  }

  void StoreMatricesInHalf() {
    for (std::size_t t = 0; t < w_.graph().tensors.size(); ++t) {
      const auto id = static_cast<TensorId>(t);
      const Tensor& tensor = At(id);
      const bool matrix = tensor.type.shape && tensor.type.shape->rank() > 1;
      if (!tensor.is_initializer || !matrix || kept_->Keeps(id) || captured_.count(id) != 0) {
        continue;
      }
      if (tensor.type.dtype == DType::kFloat32) SetType(id, precision_.half);
    }
  }

  void SetType(TensorId id, DType type) { BecomeType(At(id), type); }

  // What is computed from trained weights alone is no constant of training either.
  void SpreadTraining(const Node& node) {
    bool any = false, constant = true;
    for (const TensorId id : node.inputs) {
      if (id == kNoTensor) continue;
      any |= IsTrained(id);
      constant &= At(id).constant || At(id).foldable || IsTrained(id);
    }
    if (!any || !constant) return;
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor) trained_.insert(id);
    }
  }

  // A number of a formula: without an axis, or with axes but made by a node, as exporters write
  // some. What is stored with an axis is a tensor, however many numbers it has.
  bool IsNumber(TensorId id) {
    const auto& shape = At(id).type.shape;
    if (!shape || shape->Elements() != Count(1)) return false;
    const auto index = static_cast<std::size_t>(id);
    const bool stored = IsTrained(id) || (index < of_stored_.size() && of_stored_[index]);
    return shape->rank() == 0 || !stored;
  }

  // Numbers do not widen what they meet (PyTorch, torch.result_type).
  bool Widens(TensorId id) {
    const bool constant = At(id).constant || At(id).foldable;
    return !(constant && (IsNumber(id) || (precision_.whole && !IsTrained(id))));
  }

  bool IsStored(TensorId id) {
    return id != kNoTensor && (IsTrained(id) || At(id).constant || At(id).foldable);
  }

  // The product of a linear layer. Exporters write its bias as an Add where there are more axes
  // than two.
  bool HasStoredMatrix(const Node& node) {
    if (node.op != "MatMul" || !node.domain.empty() || node.inputs.size() != 2) return false;
    const auto& shape = At(node.inputs[1]).type.shape;
    return IsStored(node.inputs[1]) && shape && shape->rank() == 2;
  }

  // The bias of a linear layer, which autocast runs in half with its product.
  bool IsBias(const Node& node) {
    if (node.op != "Add" || !node.domain.empty() || node.inputs.size() != 2) return false;
    for (const std::size_t product : {0, 1}) {
      const TensorId bias = node.inputs[1 - product];
      if (linear_.count(node.inputs[product]) == 0 || !IsStored(bias)) continue;
      const auto& shape = At(bias).type.shape;
      if (shape && shape->rank() > 0 && shape->Elements() == Count(shape->dims().back())) {
        return true;
      }
    }
    return false;
  }

  // torch.instance_norm, which no list of autocast's names: parameters and statistics stay in
  // float32 beside half data. Exporters write group_norm, which runs in float32, as one of a view.
  bool IsInstanceNorm(const Node& node) {
    return node.op == "InstanceNormalization" && node.domain.empty() &&
           reshaped_.count(node.inputs[0]) == 0;
  }

  // kUndefined: as the operands are.
  DType TargetOf(const Node& node) {
    const bool casts = !precision_.whole && !precision_.products;
    if (casts && IsInstanceNorm(node)) return DType::kUndefined;
    if (casts && node.op == "Softmax" && called_.Has(node.inputs[0])) return precision_.half;
    CastRule rule = IsBias(node) ? CastRule::kHalf : AutocastRuleOf(node.domain, node.op);
    if (rule == CastRule::kFloat32) return DType::kFloat32;
    if (rule == CastRule::kOwn) return DType::kUndefined;
    // What a body of control flow makes is wide still: a product behind it need not be.
    if ((precision_.whole || precision_.products) && rule != CastRule::kHalf) {
      rule = CastRule::kWidest;
    }
    if (rule == CastRule::kHalf) return precision_.half;
    if (rule == CastRule::kFull) return DType::kFloat32;
    DType widest = DType::kUndefined;
    for (const TensorId id : node.inputs) {
      if (!CanCast(id) || !Widens(id)) continue;
      const DType type = At(id).type.dtype;
      widest = widest == DType::kUndefined || widest == type ? type : DType::kFloat32;
    }
    // Of constants alone it makes what the model computes with: rows of a table.
    return precision_.whole && widest == DType::kUndefined ? precision_.half : widest;
  }

  void CastOperands(Node& node) {
    if (precision_.product != DType::kUndefined && WriteNarrowProduct(node)) return;
    const DType target = MakesCapturedList(node) ? At(node.outputs[0]).type.dtype : TargetOf(node);
    if (!IsCastable(target)) return;
    for (TensorId& id : node.inputs) {
      if (CanCast(id)) id = Cast(id, target, node);
    }
  }

  // Of operators that autocast does not know; others ask for a copy in another type.
  bool Promotes(const Node& reader) {
    const OpDef* def = FindOperator(reader.domain, reader.op);
    return def != nullptr && def->role == FusionRole::kElementwise && !IsBias(reader) &&
           AutocastRuleOf(reader.domain, reader.op) == CastRule::kWidest;
  }

  TensorId Cast(TensorId id, DType type, const Node& reader) {
    if (At(id).type.dtype == type) return id;
    const bool kept = IsTrained(id) || At(id).constant;
    if (kept) {
      const auto known = copies_.find({id, type});
      if (known != copies_.end()) return known->second;
    }
    const std::string name = kept ? At(id).name : reader.name + "/" + At(id).name;
    w_.Place(name, reader.scope, IsTrained(id) ? Phase::kCast : Phase::kForward);
    const TensorId cast = w_.Node1("Cast", {id}, {IntAttribute("to", static_cast<int>(type))});
    const bool reads = ReadsAsItIs(reader.domain, reader.op, At(id).type.dtype);
    w_.LastWritten().promotes = !kept && (reads || Promotes(reader));
    // A copy of weights is none that anybody stores.
    if (IsTrained(id)) trained_.insert(cast);
    At(cast).value = At(id).value;
    At(cast).foldable = At(id).foldable;
    At(cast).upper_bound = At(id).upper_bound;
    if (kept) copies_.emplace(std::pair(id, type), cast);
    return cast;
  }

  // Products with weights, whose operands are narrower than all else: (x W + c) with x and W in
  // `product`, as ONNX Runtime's GemmFloat8 computes it. false: another node.
  bool WriteNarrowProduct(Node& node) {
    const bool matmul = node.op == "MatMul" && node.domain.empty();
    const bool gemm = node.op == "Gemm" && node.domain.empty();
    if (!(matmul || gemm) || node.inputs.size() < 2 || !IsTrained(node.inputs[1])) return false;
    const OpContext context(w_.graph(), node, 1);
    if (gemm && (context.Int("transA", 0) != 0 || context.Float("alpha", 1) != 1)) return false;
    const Tensor& x = At(node.inputs[0]);
    const Tensor& weight = At(node.inputs[1]);
    if (!x.type.shape || !weight.type.shape || !IsCastable(x.type.dtype)) return false;
    const Shape shape = *x.type.shape;
    const Shape weights = *weight.type.shape;
    if (shape.rank() < 2 || weights.rank() != 2) return false;
    const bool transposed = gemm && context.Int("transB", 0) != 0;
    const std::size_t last = shape.rank() - 1;
    const std::int64_t columns = transposed ? weights[0] : weights[1];
    // Libraries take products in 8 bits whose extents are multiples of 16.
    const Count rows = shape.Product(0, last);
    for (const std::int64_t extent : {rows.value(), shape[last], columns}) {
      if (extent % 16 != 0) return false;
    }
    std::vector<TensorId> inputs = {Cast(node.inputs[0], precision_.product, node),
                                    Cast(node.inputs[1], precision_.product, node)};
    if (node.inputs.size() > 2 && node.inputs[2] != kNoTensor) {
      inputs.push_back(Cast(node.inputs[2], precision_.half, node));
    }
    w_.Place(node.name, node.scope, Phase::kForward);
    inputs[0] = w_.Reshape(inputs[0], {rows.value(), shape[last]});
    const std::vector<Attribute> attributes = {
        IntAttribute("transA", 0), IntAttribute("transB", transposed ? 1 : 0),
        IntAttribute("dtype", static_cast<std::int64_t>(precision_.half))};
    if (shape.rank() == 2) {
      node.op = "GemmFloat8";
      node.domain = "com.microsoft";
      node.opset = 1;
      node.inputs = std::move(inputs);
      node.attributes = attributes;
      return true;
    }
    const TensorId product = w_.Contrib("GemmFloat8", std::move(inputs), attributes);
    std::vector<std::int64_t> whole = shape.dims();
    whole.back() = columns;
    node.op = "Reshape";
    node.opset = w_.opset();
    node.inputs = {product, w_.Ints(whole)};
    node.attributes.clear();
    return true;
  }

  // The types that follow from those of the operands; shapes stay.
  void RetypeOutputs(std::size_t n) {
    const Node node = w_.graph().nodes[n];
    const OpDef* def = FindOperator(node.domain, node.op);
    if (def == nullptr || def->infer == nullptr || def->control != ControlFlow::kNone) return;
    std::vector<TensorType> before;
    std::vector<bool> constant;
    for (const TensorId id : node.outputs) {
      before.push_back(id == kNoTensor ? TensorType() : At(id).type);
      constant.push_back(id != kNoTensor && At(id).constant);
    }
    InferTypes(node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorId id = node.outputs[i];
      if (id == kNoTensor) continue;
      const TensorType made = std::exchange(At(id).type, before[i]);
      At(id).constant = constant[i];
      if (IsList(id)) {
        RetypeList(id, made);
        continue;
      }
      if (made.dtype == before[i].dtype || !IsCastable(made.dtype) ||
          !IsCastable(before[i].dtype)) {
        continue;
      }
      SetType(id, made.dtype);
      if (captured_.count(id) != 0 || precision_.products) GiveBack(n, i);
    }
  }

  void InferTypes(const Node& node) {
    try {
      w_.Infer(node);
    } catch (const Error&) {
      // Sizes that are upper bounds need not fit each other, of which inference says so.
      const bool bounds = std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
        return id != kNoTensor && At(id).upper_bound;
      });
      if (!bounds) throw;
    }
  }

  void RetypeList(TensorId id, const TensorType& made) {
    if (captured_.count(id) != 0 || !IsCastable(made.dtype)) return;
    SetType(id, made.dtype);
    auto& elements = At(id).type.elements;
    if (!elements || !made.elements || elements->size() != made.elements->size()) return;
    for (std::size_t i = 0; i < elements->size(); ++i) {
      (*elements)[i].dtype = (*made.elements)[i].dtype;
    }
  }

  // A body of control flow reads the value in the type that it had; so does all else beside
  // products.
  void GiveBack(std::size_t n, std::size_t output) {
    const TensorId id = w_.graph().nodes[n].outputs[output];
    const auto given = given_[static_cast<std::size_t>(id)];
    w_.Place(At(id).name, w_.graph().nodes[n].scope, Phase::kForward);
    const TensorId narrow =
        w_.Node1("Cast", {id}, {IntAttribute("to", static_cast<std::int64_t>(given))});
    w_.Take();
    w_.graph().nodes.back().inputs[0] = narrow;
    w_.graph().nodes.back().outputs[0] = id;
    w_.graph().nodes[n].outputs[output] = narrow;
    SetType(narrow, At(id).type.dtype);
    SetType(id, given);
  }

  NodeWriter& w_;
  const Precision& precision_;
  std::set<TensorId> trained_, captured_;
  std::vector<bool> of_stored_;    // per tensor of the file
  std::optional<KeptTypes> kept_;  // where what is stored gets another type
  CalledScores called_;
  std::set<TensorId> linear_;    // what linear layers make before they add their bias
  std::set<TensorId> reshaped_;  // what Reshape makes
  std::vector<DType> given_;     // per tensor of the file
  std::map<std::pair<TensorId, DType>, TensorId> copies_;
};

}  // namespace

void ApplyPrecision(NodeWriter& writer, const Precision& precision,
                    const std::vector<TensorId>& parameters) {
  if (precision.half != DType::kUndefined) Caster(writer, precision, parameters).Run();
}

TensorId InFloat32(NodeWriter& writer, TensorId x) {
  const DType type = writer.TypeOf(x);
  if (type != DType::kFloat16 && type != DType::kBfloat16) return x;
  return writer.Node1("Cast", {x},
                      {IntAttribute("to", static_cast<std::int64_t>(DType::kFloat32))});
}

}  // namespace dlcost
