#include "estimator/hardware/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <vector>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxEntries = 20000;

// Builds the tree from parser events: no node graph in between, so a file costs well under a
// millisecond and an alias cannot multiply anything.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& name) : file_(std::make_shared<std::string>(name)) {}

  std::optional<Entry> root;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root) Fail(mark, "a device file is one YAML document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    if (stack_.empty() || !stack_.back().key) Fail(mark, "expected a value");
    throw Error("{}:{}: '{}' has no value; leave the line out when the value is not public", *file_,
                stack_.back().key_line, Printable(*stack_.back().key));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Fail(mark, "YAML aliases are not supported; use `extends:`");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    if (!stack_.empty() && stack_.back().entry->kind == Entry::Kind::kMap && !stack_.back().key) {
      if (stack_.back().entry->Find(value)) {
        Fail(mark, "'" + Printable(value) + "' is given twice");
      }
      stack_.back().key = value;
      stack_.back().key_line = mark.line + 1;
      return;
    }
    Add(mark, Entry::Kind::kValue)->value = value;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Push(mark, Entry::Kind::kList);
  }
  void OnSequenceEnd() override { stack_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Push(mark, Entry::Kind::kMap);
  }
  void OnMapEnd() override { stack_.pop_back(); }

  [[noreturn]] void Fail(const YAML::Mark& mark, const std::string& message) const {
    throw Error("{}:{}: {}", *file_, mark.line + 1, message);
  }

 private:
  struct Frame {
    Entry* entry;
    std::optional<std::string> key;  // read, its value still to come
    int key_line = 0;
  };

  void Push(const YAML::Mark& mark, Entry::Kind kind) {
    if (stack_.size() >= kMaxDepth) Fail(mark, "nested too deeply");
    Entry* entry = Add(mark, kind);
    stack_.push_back({entry, std::nullopt, 0});
  }

  Entry* Add(const YAML::Mark& mark, Entry::Kind kind) {
    if (++count_ > kMaxEntries) Fail(mark, "too many entries for a device file");
    Entry entry;
    entry.kind = kind;
    entry.file = file_;
    entry.line = mark.line + 1;
    if (stack_.empty()) {
      root = std::move(entry);
      return &*root;
    }
    Frame& frame = stack_.back();
    if (frame.entry->kind == Entry::Kind::kMap) {
      if (!frame.key) Fail(mark, "a key must be a word");
      entry.key = std::move(*frame.key);
      entry.line = frame.key_line;  // where a reader looks, whatever the layout of the value
      frame.key.reset();
    }
    frame.entry->children.push_back(std::move(entry));
    return &frame.entry->children.back();
  }

  std::shared_ptr<const std::string> file_;
  std::vector<Frame> stack_;
  std::size_t count_ = 0;
};

}  // namespace

Entry ParseYamlTree(const std::string& text, const std::string& name) {
  std::istringstream stream(text);
  TreeBuilder builder(name);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    throw Error("{}:{}: {}", name, error.mark.is_null() ? 1 : error.mark.line + 1,
                Printable(error.msg));
  }
  if (!builder.root || builder.root->kind != Entry::Kind::kMap) {
    throw Error("{}:1: expected 'key: value' lines", name);
  }
  return std::move(*builder.root);
}

}  // namespace dlcost
