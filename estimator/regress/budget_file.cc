#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/regress/budget.h"

namespace dlcost {
namespace {

// Reads one file; errors name the line.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(Printable(path)) {}

  BudgetFile Read(const YAML::Node& root) {
    BudgetFile file;
    RequireMap(root, "a budget file");
    RequireKeys(root, {"on", "budgets", "new_operators", "fits_on"});
    for (const YAML::Node& entry : Items(root["on"], "on")) file.on.push_back(ReadOn(entry));
    for (const YAML::Node& entry : Items(root["budgets"], "budgets")) {
      file.budgets.push_back(ReadBudget(entry));
    }
    for (const YAML::Node& entry : Items(root["fits_on"], "fits_on")) {
      file.fits_on.push_back(Text(entry, "fits_on"));
    }
    if (root["new_operators"]) {
      const std::string value = Text(root["new_operators"], "new_operators");
      if (value != "allow" && value != "forbid") {
        throw At(root["new_operators"],
                 "new_operators is allow or forbid, not '" + Printable(value) + "'");
      }
      file.forbid_new_operators = value == "forbid";
    }
    return file;
  }

 private:
  Error At(const YAML::Node& node, const std::string& what) const {
    const int line = node.IsDefined() ? node.Mark().line : -1;
    return line < 0 ? Error("{}: {}", path_, what) : Error("{}:{}: {}", path_, line + 1, what);
  }

  void RequireMap(const YAML::Node& node, const std::string& what) const {
    if (!node.IsMap()) throw At(node, what + " is a list of KEY: VALUE");
  }

  void RequireKeys(const YAML::Node& map, const std::vector<std::string>& allowed) const {
    for (const auto& entry : map) {
      const std::string key = Text(entry.first, "a key");
      if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
        throw At(entry.first, "no key '" + Printable(key) + "' here" + DidYouMean(key, allowed));
      }
    }
  }

  std::vector<YAML::Node> Items(const YAML::Node& node, const std::string& name) const {
    if (!node.IsDefined() || node.IsNull()) return {};
    if (!node.IsSequence()) throw At(node, name + " is a list");
    return {node.begin(), node.end()};
  }

  std::string Text(const YAML::Node& node, const std::string& name) const {
    if (!node.IsScalar()) throw At(node, name + " is a single value");
    return node.Scalar();
  }

  // 8, "1:64:x2", or a list of them.
  SizeList Sizes(const YAML::Node& node, const std::string& name) const {
    std::string text;
    if (node.IsSequence()) {
      for (const YAML::Node& item : node) text += (text.empty() ? "" : ",") + Text(item, name);
    } else {
      text = Text(node, name);
    }
    try {
      return ParseSizeList(name, text);
    } catch (const Error& error) {
      throw At(node, error.what());
    }
  }

  CheckConditions ReadOn(const YAML::Node& node) const {
    RequireMap(node, "an entry of on");
    RequireKeys(node, {"gpu", "batch", "dim"});
    CheckConditions on;
    if (node["gpu"]) on.gpu = Text(node["gpu"], "gpu");
    if (node["batch"]) on.batch = Sizes(node["batch"], "batch");
    if (const YAML::Node dims = node["dim"]) {
      RequireMap(dims, "dim");
      for (const auto& dim : dims) {
        const std::string name = Text(dim.first, "a dimension");
        on.dims[name] = Sizes(dim.second, Printable(name));
      }
    }
    return on;
  }

  Budget ReadBudget(const YAML::Node& node) const {
    RequireMap(node, "a budget");
    RequireKeys(node, {"metric", "max", "op", "scope", "node"});
    if (!node["metric"] || !node["max"]) throw At(node, "a budget needs metric and max");
    try {
      Budget budget;
      budget.metric = &FindMetric(Text(node["metric"], "metric"));
      budget.max = ParseLimit(Text(node["max"], "max"), budget.metric->unit);
      if (node["op"]) budget.subset.op = Text(node["op"], "op");
      if (node["scope"]) budget.subset.scope = Text(node["scope"], "scope");
      if (node["node"]) budget.subset.node = Text(node["node"], "node");
      RequireNodeMetric(budget);
      return budget;
    } catch (const Error& error) {
      const std::string what = error.what();
      if (what.starts_with(path_)) throw;
      throw At(node, what);
    }
  }

  std::string path_;
};

}  // namespace

BudgetFile ReadBudgetText(const std::string& text, const std::string& path) {
  try {
    return Reader(path).Read(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    throw Error("{}:{}: {}", Printable(path), error.mark.line + 1, error.msg);
  }
}

BudgetFile ReadBudgetFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("{}: {}", Printable(path), std::strerror(errno));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) throw Error("{}: cannot be read", Printable(path));
  return ReadBudgetText(text, path);
}

}  // namespace dlcost
