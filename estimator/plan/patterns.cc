#include "estimator/plan/patterns.h"

namespace dlcost {
namespace {

constexpr FusionRole kPoint = FusionRole::kElementwise;
constexpr FusionRole kNorm = FusionRole::kNormalization;

// Longer forms first: the first that matches is taken.
constexpr NamedPattern kPatterns[] = {
    {"layer_norm", "Add(Mul(Div(d:Sub(x,ReduceMean(x)),Sqrt(Add(ReduceMean(Pow(d,#)),#))),#),#)",
     kNorm, "PyTorch before opset 17"},
    {"layer_norm", "Add(Mul(Div(d:Sub(x,ReduceMean(x)),Sqrt(Add(ReduceMean(Mul(d,d)),#))),#),#)",
     kNorm, "PyTorch dynamo"},
    {"layer_norm",
     "Add(Mul(x,s:Mul(Reciprocal(Sqrt(Add(ReduceMean|GlobalAveragePool(Mul(d:Sub(x,"
     "m:ReduceMean|GlobalAveragePool(x)),d)),#))),#)),Add(Mul(Neg(m),s),#))",
     kNorm, "Keras through tf2onnx"},
    {"layer_norm",
     "Add(Mul(x,s:Mul(Reciprocal(Sqrt(Add(ReduceMean(Mul(d:Sub(x,m:ReduceMean(x)),d)),#))),#)),"
     "Sub(#,Mul(m,s)))",
     kNorm, "TensorFlow"},
    {"layer_norm",
     "Add(Mul(Mul(d:Sub(x,ReduceMean(x)),Reciprocal(Sqrt(Add(ReduceMean(Mul(d,d)),#)))),#),#)",
     kNorm, "Keras"},
    {"layer_norm", "Div(d:Sub(x,ReduceMean(x)),Sqrt(Add(ReduceMean(Pow(d,#)),#)))", kNorm,
     "PyTorch, without scale and shift"},
    {"group_norm", "Add(Mul(InstanceNormalization(x,#,#),#),#)", kNorm, "PyTorch, views around it"},
    {"rms_norm", "Mul(Mul(x,Div(#,Sqrt(Add(ReduceMean(Pow(x,#)),#)))),#)", kNorm,
     "Llama, T5 (TorchScript)", true},
    {"rms_norm", "Mul(Mul(x,Reciprocal(Sqrt(Add(ReduceMean(Pow(x,#)),#)))),#)", kNorm,
     "Llama, Qwen (dynamo)", true},
    {"rms_norm", "Mul(Div(x,Sqrt(Add(ReduceMean(Pow(x,#)),#))),#)", kNorm, "hand-written", true},
    {"rsqrt", "Reciprocal(Sqrt(x))", kPoint, "PyTorch"},
    {"softmax", "Div(e:Exp(Sub(x,ReduceMax(x))),ReduceSum(e))", kNorm, "TensorFlow, hand-written"},
    {"softmax", "Div(e:Exp(x),ReduceSum(e))", kNorm, "hand-written"},
    {"gelu", "Mul(Mul(x,Add(Erf(Div|Mul(x,#)),#)),#)", kPoint, "BERT, ViT (TorchScript)"},
    {"gelu", "Mul(Mul(x,#),Add(Erf(Div|Mul(x,#)),#))", kPoint, "TensorFlow, Keras"},
    {"gelu", "Mul(x,Mul(Add(Erf(Div|Mul(x,#)),#),#))", kPoint, "TensorFlow"},
    {"gelu", "Mul(Mul(x,#),Add(Tanh(Mul(Add(x,Mul(Pow(x,#),#)),#)),#))", kPoint, "GPT-2", true},
    {"gelu", "Mul(Mul(x,#),Add(Tanh(Mul(Mul(x,#),Add(Mul(Mul(x,#),x),#))),#))", kPoint,
     "BLOOM, GPT-J", true},
    {"gelu", "Mul(Mul(x,Add(Tanh(Mul(Add(x,Mul(Mul(x,Mul(x,x)),#)),#)),#)),#)", kPoint,
     "PyTorch's call (TorchScript)"},
    {"gelu", "Mul(x,Mul(Add(Tanh(Mul(Add(x,Mul(Pow(x,#),#)),#)),#),#))", kPoint,
     "PyTorch's call (dynamo)"},
    {"quick_gelu", "Mul(x,Sigmoid(Mul(x,#)))", kPoint, "CLIP", true},
    {"silu", "Mul(x,Sigmoid(x))", kPoint, "Llama, EfficientNet"},
    {"hard_swish", "Div(Mul(x,Clip(Add(x,#))),#)", kPoint, "MobileNetV3 (opset 9)"},
    {"hard_swish", "Mul(x,HardSigmoid(x))", kPoint, "MobileNetV3"},
    {"mish", "Mul(x,Tanh(Softplus(x)))", kPoint, "YOLOv4"},
    // Derivatives as models/gradients/activation.cc writes them, each one call of a framework.
    {"hard_swish_backward", "Where(Greater(x,#),Where(Less(x,#),Mul(g,Add(Mul(x,#),#)),g),#)",
     kPoint, "training"},
    {"hard_sigmoid_backward", "Where(And(Greater(y,#),Less(y,#)),Mul(g,#),#)", kPoint, "training"},
    {"hardtanh_backward", "Where(LessOrEqual(x,#),Where(GreaterOrEqual(x,#),g,#),#)", kPoint,
     "training: ReLU6"},
    {"elu_backward", "Mul(g,Where(Greater(x,#),#,Add(y,#)))", kPoint, "training: also Selu"},
    {"mish_backward", "Mul(g,Add(t:Tanh(Softplus(x)),Mul(Mul(x,Sigmoid(x)),Sub(#,Mul(t,t)))))",
     kPoint, "training"},
    {"rotary", "Add(Mul(x,c),Mul(Concat(Neg(Slice(x)),Slice(x)),s))", kPoint, "Llama, Qwen", true},
    {"rotary", "Add(Mul(x,c),Mul(Concat(Neg(Split(x)),Split(x)),s))", kPoint, "split in two", true},
};

using E = FusionRule::Extents;
using S = FusionStep;

// What cuDNN, cuBLASLt, TensorRT and torch.compile-class compilers fuse.
constexpr FusionRule kRules[] = {
    {KernelKind::kProduct, kPoint, E::kOutput, KernelKind::kProduct, S::kProduct,
     "epilogue: bias, activation, residual, folded batch normalization, requantization"},
    {KernelKind::kPointwise, kPoint, E::kOutput, KernelKind::kPointwise, S::kPointwise,
     "elementwise chain"},
    {KernelKind::kPointwise, kNorm, E::kInput, KernelKind::kRows, S::kRows,
     "elementwise chain read by a normalization"},
    {KernelKind::kPointwise, FusionRole::kReduction, E::kInput, KernelKind::kRows, S::kRows,
     "elementwise chain read by a reduction"},
    {KernelKind::kPointwise, FusionRole::kMovement, E::kOutput, KernelKind::kPointwise,
     S::kPointwise, "elementwise chain written elsewhere"},
    {KernelKind::kRows, kPoint, E::kRows, KernelKind::kRows, S::kRows,
     "what follows a reduction or normalization, row by row"},
    {KernelKind::kRows, FusionRole::kReduction, E::kRows, KernelKind::kRows, S::kRows,
     "several reductions of the same rows"},
    {KernelKind::kMovement, kPoint, E::kOutput, KernelKind::kPointwise, S::kPointwise,
     "elementwise chain that reads rearranged data"},
    {KernelKind::kMovement, kNorm, E::kInput, KernelKind::kRows, S::kRows,
     "normalization that reads rearranged data"},
};

}  // namespace

std::span<const NamedPattern> NamedPatterns() { return kPatterns; }
std::span<const FusionRule> FusionRules() { return kRules; }

}  // namespace dlcost
