#include "estimator/infer/custom_ops.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>

#include "estimator/core/spelling.h"
#include "estimator/core/whole_number.h"
#include "models/operators/common.h"

namespace dlcost {
namespace {

// Of each name once, whatever files define it: they say nothing of what it holds.
const OpDef* DefinedByUser(const std::string& name, const std::string& domain) {
  static std::mutex guard;
  static std::map<std::pair<std::string, std::string>, OpDef> all;
  const std::lock_guard lock(guard);
  const auto [known, fresh] = all.try_emplace(std::pair(name, domain));
  if (fresh) {
    known->second.name = known->first.first;
    known->second.domain = known->first.second;
    known->second.formula = "defined by the user";
  }
  return &known->second;
}

// The index in "in0" or "out12", or nullopt.
std::optional<int> OperandIndex(const std::string& name, std::string_view prefix) {
  if (name.rfind(prefix, 0) != 0 || name.size() == prefix.size()) return std::nullopt;
  return WholeNumber<int>(std::string_view(name).substr(prefix.size()));
}

Expression::Names NamesOf(const OpContext& ctx) {
  return {
      .tensor = [&ctx](const std::string& name) -> std::vector<std::int64_t> {
        if (const auto input = OperandIndex(name, "in")) return ctx.InputShape(*input).dims();
        if (const auto output = OperandIndex(name, "out")) {
          return ctx.OutputShape(*output).dims();
        }
        throw Error("'{}' is no operand; operands are in0, in1, ..., out0, ...", Printable(name));
      },
      .number = [&ctx](const std::string& name) -> Count {
        if (!ctx.HasAttribute(name)) {
          std::vector<std::string> names;
          for (const Attribute& attribute : ctx.node().attributes) {
            names.push_back(attribute.name);
          }
          throw Error("the node has no attribute '{}'{}", Printable(name), DidYouMean(name, names));
        }
        return ctx.Int(name, 0);
      }};
}

DType TypeOf(const OpContext& ctx, const std::string& dtype) {
  if (const auto input = OperandIndex(dtype, "in")) return ctx.InputType(*input);
  return *ParseDType(dtype);  // checked when the file was read
}

class FileReader {
 public:
  explicit FileReader(std::string path) : path_(std::move(path)) {}

  std::vector<std::unique_ptr<CustomOperator>> Read(const std::string& text) {
    std::vector<std::unique_ptr<CustomOperator>> operators;
    try {
      const YAML::Node root = YAML::Load(text);
      CheckKeys(root, {"operators"});
      if (!root["operators"] || !root["operators"].IsSequence()) {
        Fail(root, "'operators' must be a list");
      }
      for (const YAML::Node& node : root["operators"]) operators.push_back(Operator(node));
    } catch (const YAML::Exception& error) {
      throw Error("{}:{}: {}", Printable(path_), error.mark.line + 1, error.msg);
    }
    return operators;
  }

 private:
  [[noreturn]] void Fail(const YAML::Node& node, const std::string& what) const {
    throw Error("{}:{}: {}", Printable(path_), node.Mark().line + 1, what);
  }

  void CheckKeys(const YAML::Node& node, const std::vector<std::string>& known) const {
    if (!node.IsMap()) Fail(node, "a list of 'key: value' is expected");
    for (const auto& entry : node) {
      const auto key = entry.first.as<std::string>();
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      Fail(entry.first, "unknown key '" + Printable(key) + "'" + DidYouMean(key, known));
    }
  }

  std::string Type(const YAML::Node& node) const {
    if (!node) return "in0";
    const auto text = node.as<std::string>();
    if (!OperandIndex(text, "in") && !ParseDType(text)) {
      Fail(node, "'" + Printable(text) + "' is no data type (f32, f16, ... or in0, in1, ...)");
    }
    return text;
  }

  std::unique_ptr<CustomOperator> Operator(const YAML::Node& node) const {
    CheckKeys(node, {"name", "domain", "outputs", "work", "work_dtype"});
    auto op = std::make_unique<CustomOperator>();
    if (!node["name"]) Fail(node, "'name' is missing");
    op->name = node["name"].as<std::string>();
    op->domain = node["domain"] ? node["domain"].as<std::string>() : "";
    if (op->domain == "ai.onnx") op->domain.clear();
    if (!node["outputs"] || !node["outputs"].IsSequence()) {
      Fail(node, "'outputs' must be a list");
    }
    for (const YAML::Node& output : node["outputs"]) {
      CheckKeys(output, {"shape", "dtype"});
      if (!output["shape"] || !output["shape"].IsSequence()) {
        Fail(output, "'shape' must be a list of expressions");
      }
      CustomOperator::Output parsed;
      parsed.dtype = Type(output["dtype"]);
      for (const YAML::Node& dim : output["shape"]) parsed.dims.emplace_back(dim.as<std::string>());
      op->outputs.push_back(std::move(parsed));
    }
    ReadWork(node, *op);
    op->work_dtype = Type(node["work_dtype"]);
    op->def = DefinedByUser(op->name, op->domain);
    return op;
  }

  // Mandatory, if only as an explicit "work: {}": nothing is zero by default.
  void ReadWork(const YAML::Node& node, CustomOperator& op) const {
    if (!node["work"] || !node["work"].IsMap()) {
      Fail(node, "'work' must list operations, e.g. {mac: elements(out0) * in0[-1]}; {} for none");
    }
    std::vector<std::string> classes;
    for (int c = 0; c < kOpClassCount; ++c) {
      classes.emplace_back(dlcost::Name(static_cast<OpClass>(c)));
    }
    CheckKeys(node["work"], classes);
    for (int c = 0; c < kOpClassCount; ++c) {
      const YAML::Node count = node["work"][classes[static_cast<std::size_t>(c)]];
      if (count) op.work.emplace_back(static_cast<OpClass>(c), count.as<std::string>());
    }
  }

  std::string path_;
};

}  // namespace

void CustomOperator::Infer(OpContext& ctx) const {
  const Expression::Names names = NamesOf(ctx);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const DType type = TypeOf(ctx, outputs[o].dtype);
    ctx.SetOutputType(static_cast<int>(o), type);
    std::vector<std::int64_t> dims;
    for (const Expression& dim : outputs[o].dims) dims.push_back(dim.Evaluate(names).value());
    ctx.SetOutput(static_cast<int>(o), type, Shape(std::move(dims)));
  }
}

// Every input is read and every output written once.
OpCost CustomOperator::Cost(const OpContext& ctx) const {
  OpCost cost = StreamAll(ctx);
  const Expression::Names names = NamesOf(ctx);
  for (const auto& [op_class, count] : work) {
    const Count value = count.Evaluate(names);
    if (value < Count(0)) throw Error("'{}' is negative: {}", Printable(count.text()), value);
    cost.work.Add(op_class, TypeOf(ctx, work_dtype), value);
  }
  return cost;
}

void CustomOperators::Read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("{}: {}", Printable(path), std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  ReadText(text.str(), path);
}

void CustomOperators::ReadText(const std::string& text, const std::string& path) {
  for (auto& op : FileReader(path).Read(text)) {
    auto key = std::make_pair(op->domain, op->name);
    operators_[std::move(key)] = std::move(op);
  }
}

const CustomOperator* CustomOperators::Find(const std::string& domain,
                                            const std::string& name) const {
  const auto found = operators_.find({domain, name});
  return found == operators_.end() ? nullptr : found->second.get();
}

}  // namespace dlcost
