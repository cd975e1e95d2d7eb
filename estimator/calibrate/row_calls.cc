#include "estimator/calibrate/row_calls.h"

#include <array>
#include <map>

#include "estimator/calibrate/row_graph.h"
#include "estimator/core/error.h"

namespace dlcost {
namespace {

struct TypeName {
  std::string_view name;
  DType type;
};
constexpr TypeName kTypes[] = {
    {"fp64", DType::kFloat64},
    {"fp32", DType::kFloat32},
    {"float32", DType::kFloat32},
    {"tf32", DType::kFloat32},
    {"fp16", DType::kFloat16},
    {"half", DType::kFloat16},
    {"float16", DType::kFloat16},
    {"bf16", DType::kBfloat16},
    {"bfloat16", DType::kBfloat16},
    {"fp8", DType::kFloat8E4M3FN},
    {"fp8_block", DType::kFloat8E4M3FN},
    {"int8", DType::kInt8},
    {"int4", DType::kInt4},
    {"fp4", DType::kFloat4E2M1},
    {"nvfp4", DType::kFloat4E2M1},
};

class CallMaker {
 public:
  CallMaker(const LatencyRow& row, DType type, const Protocol& protocol, std::string* skipped)
      : row_(row), type_(type), protocol_(protocol), skipped_(skipped) {}

  std::optional<RowCalls> Make(LatencyKind kind) {
    if (!MakeKernels(kind)) return std::nullopt;
    return std::move(calls_);
  }

 private:
  bool MakeKernels(LatencyKind kind) {
    switch (kind) {
      case LatencyKind::kGemm:
        return Gemm();
      case LatencyKind::kAttention:
        return Attention();
      case LatencyKind::kConv:
        return Conv();
      case LatencyKind::kStream:
        return Stream();
      default:
        return Recurrent();
    }
  }

  bool Unknown(std::string why) {
    *skipped_ = std::move(why);
    return false;
  }
  std::string Optional(const std::string& column) const { return OptionalText(row_, column); }
  Count Size(const std::string& column, std::int64_t absent = 1) const {
    if (!row_.fields.count(column)) return absent;
    return Count(static_cast<std::int64_t>(row_.SizeOrZero(column)));
  }
  std::vector<Count> Sizes(std::initializer_list<const char*> columns) const {
    std::vector<Count> sizes;
    for (const char* column : columns) sizes.push_back(Size(column));
    return sizes;
  }

  // The call of `graph`, after those that the case has already.
  void Call(RowGraph graph) {
    for (Kernel& kernel : std::move(graph).Plan(calls_.attention)) {
      calls_.kernels.push_back(std::move(kernel));
    }
  }

  // 16-bit activations to 8 bits: one pass finds the largest value, one converts.
  void Quantize(const std::vector<Count>& shape) {
    RowGraph largest;
    largest.Add("ReduceMax", {largest.Input(DType::kFloat16, shape)}, {{"keepdims", 0}});
    Call(std::move(largest));
    RowGraph convert;
    convert.Add("Cast", {convert.Input(DType::kFloat16, shape)},
                {{"to", static_cast<std::int64_t>(type_)}});
    Call(std::move(convert));
    calls_.quantizes = true;
  }

  // Results of 8-bit products leave in 16 bits.
  bool Gemm() {
    const Count batch = Size("batch");
    const bool batched = batch > Count(1), narrow = Bits(type_) < 16;
    std::vector<Count> left = Sizes({"m", "k"}), right = Sizes({"k", "n"});
    if (protocol_.quantizes && narrow) Quantize(left);
    RowGraph graph;
    if (batched) left.insert(left.begin(), batch), right.insert(right.begin(), batch);
    const TensorId a = graph.Input(type_, left);
    // A benchmark of a library has two operands of one kind, a layer has weights.
    const bool plain = batched || protocol_.back_to_back;
    const DType stored = FindLatencyType(Optional("weight_dtype")).value_or(type_);
    TensorId b = plain ? graph.Input(type_, right) : graph.Weight(stored, right);
    if (stored != type_) {  // one scale for each column
      b = graph.Add("DequantizeLinear", {b, graph.Weight(type_, {Size("n")})});
    }
    const TensorId result = protocol_.bias && !batched
                                ? graph.Add("Gemm", {a, b, graph.Weight(type_, {Size("n")})})
                                : graph.Add(IsInteger(type_) ? "MatMulInteger" : "MatMul", {a, b});
    if (narrow) {
      graph.Add("Cast", {result}, {{"to", static_cast<std::int64_t>(DType::kFloat16)}});
    }
    Call(std::move(graph));
    calls_.weights = SizeOf(stored, batch * Size("n") * Size("k"));
    calls_.type = batched ? "batched gemm" : "gemm";
    return true;
  }

  bool Attention() {
    const std::string phase = Optional("phase");
    const bool prompt = phase == "prefill" || phase == "context";
    const bool decode = phase == "decode" || phase == "generation";
    if (!prompt && !decode && phase != "encoder" && !phase.empty()) {
      return Unknown(fmt::format("unknown phase '{}'", Printable(phase, 40)));
    }
    const Count kv_heads = Size("kv_heads");
    if (kv_heads == Count(0) || Size("heads") % kv_heads != Count(0)) {
      return Unknown("heads are no multiple of kv_heads");
    }
    const std::string form = Optional("form"), direction = Optional("direction");
    if (!form.empty()) {
      const auto known = ParseAttentionForm(form);
      if (!known) return Unknown(fmt::format("unknown form '{}'", Printable(form, 40)));
      calls_.attention = *known;
    }
    const bool masked = Size("q_len") > Count(1);
    if (direction == "backward" && phase == "encoder") {
      return AttentionBackward(masked && Optional("causal") == "1");
    }
    if (!direction.empty() && direction != "forward") {
      return Unknown(fmt::format("unknown direction '{}'", Printable(direction, 40)));
    }
    DType cache = type_;
    if (const auto given = FindLatencyType(Optional("kv_dtype"))) cache = *given;
    RowGraph graph;
    const std::vector<Count> keys = Sizes({"batch", "kv_heads", "kv_len", "head_dim"});
    std::vector<TensorId> inputs = {
        graph.Input(type_, Sizes({"batch", "heads", "q_len", "head_dim"})),
        graph.Input(cache, keys), graph.Input(cache, keys)};
    if (prompt) {  // into a cache that is still empty
      std::vector<Count> empty = keys;
      empty[2] = 0;
      inputs.insert(inputs.end(),
                    {kNoTensor, graph.Input(cache, empty), graph.Input(cache, empty)});
    }
    const bool causal = masked && (prompt ? Optional("causal") != "0" : Optional("causal") == "1");
    graph.Add("Attention", inputs, {{"is_causal", std::int64_t{causal}}});
    Call(std::move(graph));
    calls_.type = phase.empty() ? "encoder" : phase;
    return true;
  }

  // From the gradient of the result to those of queries, keys and values.
  bool AttentionBackward(bool causal) {
    RowGraph graph;
    const std::vector<Count> queries = Sizes({"batch", "heads", "q_len", "head_dim"});
    const std::vector<Count> keys = Sizes({"batch", "kv_heads", "kv_len", "head_dim"});
    const std::vector<TensorId> inputs = {
        graph.Input(type_, queries),
        graph.Input(type_, queries),
        graph.Input(type_, keys),
        graph.Input(type_, keys),
        graph.Input(type_, queries),
        graph.Input(DType::kFloat32, Sizes({"batch", "heads", "q_len"}))};
    graph.AddTraining("FusedAttentionGrad", inputs, {{"causal", std::int64_t{causal}}}, 3);
    Call(std::move(graph));
    calls_.type = "backward";
    return true;
  }

  bool Conv() {
    std::vector<std::int64_t> strides, pads;
    for (const auto [in, kernel, stride, pad] :
         {std::array{"h", "r", "stride_h", "pad_h"}, std::array{"w", "s", "stride_w", "pad_w"}}) {
      strides.push_back(Size(stride).value());
      pads.push_back(Size(pad, 0).value());
      if (strides.back() < 1) throw Error("{}: {} is no stride", stride, strides.back());
      if (Size(in) + Count(2 * pads.back()) < Size(kernel)) return Unknown("the output is empty");
    }
    pads.insert(pads.end(), {pads[0], pads[1]});
    const Count groups = Size("groups");
    if (groups == Count(0)) throw Error("groups: 0 is no number of groups");
    const std::string algorithm = Optional("algorithm"), direction = Optional("direction");
    calls_.type = algorithm.empty() ? "unknown algorithm" : algorithm;
    if (!direction.empty() && direction != "forward") calls_.type = direction;
    std::vector<Count> filters = Sizes({"k", "c", "r", "s"}), image = Sizes({"n", "c", "h", "w"});
    filters[1] = filters[1] / groups;
    // Of the forward convolution; what its stride leaves over at the end of the input belongs to
    // the output of its gradient.
    std::vector<Count> result = {image[0], filters[0]};
    std::vector<std::int64_t> rest;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::int64_t moves =
          image[axis + 2].value() + 2 * pads[axis] - filters[axis + 2].value();
      result.emplace_back(moves / strides[axis] + 1);
      rest.push_back(moves % strides[axis]);
    }
    RowGraph graph;
    std::vector<Attribute> attributes = {
        {"strides", strides}, {"pads", pads}, {"group", groups.value()}};
    if (direction == "backward_data") {
      attributes.push_back({"output_padding", rest});
      const TensorId dy = graph.Input(type_, result);
      graph.Add("ConvTranspose", {dy, graph.Weight(type_, filters)}, std::move(attributes));
    } else if (direction == "backward_weight") {
      const TensorId dy = graph.Input(type_, result), x = graph.Input(type_, image);
      graph.AddContrib("ConvGrad", {dy, x, graph.Weight(type_, filters)}, std::move(attributes), 1);
    } else if (direction.empty() || direction == "forward") {
      const TensorId x = graph.Input(type_, image);
      graph.Add("Conv", {x, graph.Weight(type_, filters)}, std::move(attributes));
    } else {
      return Unknown(fmt::format("unknown direction '{}'", Printable(direction, 40)));
    }
    Call(std::move(graph));
    return true;
  }

  bool Stream() {
    enum class Second { kNone, kTensor, kScalar, kScale, kScaleAndBias };
    struct StreamOp {
      const char* op;
      Second second = Second::kNone;
    };
    static const std::map<std::string, StreamOp, std::less<>> ops = {
        {"add", {"Add", Second::kTensor}},
        {"sub", {"Sub", Second::kTensor}},
        {"mul", {"Mul", Second::kTensor}},
        {"div", {"Div", Second::kTensor}},
        {"pow", {"Pow", Second::kTensor}},
        {"addu", {"Add", Second::kScalar}},
        {"subu", {"Sub", Second::kScalar}},
        {"mulu", {"Mul", Second::kScalar}},
        {"divu", {"Div", Second::kScalar}},
        {"powu", {"Pow", Second::kScalar}},
        {"relu", {"Relu"}},
        {"gelu", {"Gelu"}},
        {"tanh", {"Tanh"}},
        {"exp", {"Exp"}},
        {"sigmoid", {"Sigmoid"}},
        {"sqrt", {"Sqrt"}},
        {"silu", {"Swish"}},
        {"copy", {"Concat"}},
        {"neg", {"Neg"}},
        {"abs", {"Abs"}},
        {"softmax", {"Softmax"}},
        {"layernorm", {"LayerNormalization", Second::kScaleAndBias}},
        {"rmsnorm", {"RMSNormalization", Second::kScale}}};
    const std::string& op = row_.Text("op");
    const auto it = ops.find(op);
    if (it == ops.end()) return Unknown(fmt::format("unknown op '{}'", Printable(op, 40)));
    const std::vector<Count> shape = Sizes({"rows", "cols"}), columns = {Size("cols")};
    RowGraph graph;
    std::vector<TensorId> inputs = {graph.Input(type_, shape)};
    const Second second = it->second.second;
    if (second == Second::kTensor) inputs.push_back(graph.Input(type_, shape));
    if (second == Second::kScalar) inputs.push_back(graph.Weight(type_, {}));
    if (second == Second::kScale || second == Second::kScaleAndBias) {
      inputs.push_back(graph.Weight(type_, columns));
    }
    if (second == Second::kScaleAndBias) inputs.push_back(graph.Weight(type_, columns));
    graph.Add(it->second.op, inputs, {{"axis", -1}});
    Call(std::move(graph));
    for (Kernel& kernel : calls_.kernels) kernel.general = true;  // a framework was called
    calls_.type = op;
    return true;
  }

  bool Recurrent() {
    struct Cell {
      const char* op;
      std::int64_t gates;
    };
    static const std::map<std::string, Cell, std::less<>> cells = {
        {"LSTM", {"LSTM", 4}}, {"GRU", {"GRU", 3}}, {"Vanilla", {"RNN", 1}}};
    const std::string& cell = row_.Text("cell");
    const auto it = cells.find(cell);
    if (it == cells.end()) return Unknown(fmt::format("unknown cell '{}'", Printable(cell, 40)));
    // The recurrent half alone: a layer whose inputs are empty.
    const Count hidden = Size("hidden"), gates = hidden * it->second.gates;
    RowGraph graph;
    const TensorId x = graph.Input(type_, {Size("timesteps"), Size("batch"), 0});
    const TensorId w = graph.Weight(type_, {1, gates, 0});
    const TensorId r = graph.Weight(type_, {1, gates, hidden});
    graph.Add(it->second.op, {x, w, r}, {{"hidden_size", hidden.value()}});
    Call(std::move(graph));
    calls_.type = cell;
    return true;
  }

  const LatencyRow& row_;
  DType type_;
  const Protocol& protocol_;
  std::string* skipped_;
  RowCalls calls_;
};

}  // namespace

std::optional<RowCalls> CallsOf(LatencyKind kind, const LatencyRow& row, DType type,
                                const Protocol& protocol, std::string* skipped) {
  return CallMaker(row, type, protocol, skipped).Make(kind);
}

std::optional<DType> FindLatencyType(std::string_view name) {
  for (const TypeName& type : kTypes) {
    if (type.name == name) return type.type;
  }
  return std::nullopt;
}

std::string OptionalText(const LatencyRow& row, const std::string& column) {
  const auto it = row.fields.find(column);
  return it == row.fields.end() ? std::string() : it->second;
}

}  // namespace dlcost
