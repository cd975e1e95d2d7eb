#include "estimator/onnx/annotate.h"

#include <cstdint>

#include "estimator/core/error.h"
#include "estimator/onnx/varint.h"

namespace dlcost {
namespace {

// Field numbers of onnx.proto.
constexpr std::uint32_t kModelGraph = 7, kModelMetadata = 14, kGraphNode = 1, kNodeOutput = 2,
                        kNodeOpType = 4, kNodeMetadata = 9, kEntryKey = 1, kEntryValue = 2;

constexpr std::uint32_t kLengthDelimited = 2;  // wire type of strings and messages

struct Field {
  std::uint32_t number = 0, type = 0;
  std::string_view whole, value;  // `value` of strings and messages
};

[[noreturn]] void Fail() { throw Error("not a valid ONNX file: a field ends in the middle"); }

// Calls visit(field) for each field of the message.
template <typename Visit>
void ForEachField(std::string_view message, Visit visit) {
  for (std::size_t pos = 0; pos < message.size();) {
    const std::size_t begin = pos;
    const auto number = [&] {
      std::uint64_t value = 0;
      if (ReadVarint(message, message.size(), pos, value) != Varint::kRead) Fail();
      return value;
    };
    const std::uint64_t tag = number();
    Field field{.number = static_cast<std::uint32_t>(tag >> 3),
                .type = static_cast<std::uint32_t>(tag & 7),
                .whole = {},
                .value = {}};
    constexpr std::uint32_t kVarint = 0, kFixed64 = 1, kFixed32 = 5;
    std::uint64_t length = 0;
    if (field.type == kVarint) {
      number();
    } else if (field.type == kFixed64) {
      length = 8;
    } else if (field.type == kFixed32) {
      length = 4;
    } else if (field.type == kLengthDelimited) {
      length = number();
    } else {
      Fail();
    }
    if (length > message.size() - pos) Fail();
    field.value = message.substr(pos, static_cast<std::size_t>(length));
    pos += static_cast<std::size_t>(length);
    field.whole = message.substr(begin, pos - begin);
    visit(field);
  }
}

void WriteHead(std::uint32_t number, std::uint64_t length, std::string& out) {
  WriteVarint(std::uint64_t{number} << 3 | kLengthDelimited, out);
  WriteVarint(length, out);
}

void WriteString(std::uint32_t number, std::string_view text, std::string& out) {
  WriteHead(number, text.size(), out);
  out += text;
}

// The remarks as fields `number` of their message.
std::string FieldsOf(const Remarks& remarks, std::uint32_t number) {
  std::string out;
  for (const auto& [key, value] : remarks) {
    std::string entry;
    WriteString(kEntryKey, key, entry);
    WriteString(kEntryValue, value, entry);
    WriteString(number, entry, out);
  }
  return out;
}

NodeInFile NodeOf(std::string_view message) {
  NodeInFile node;
  ForEachField(message, [&](const Field& field) {
    if (field.type != kLengthDelimited) return;
    if (field.number == kNodeOpType) node.op = field.value;
    if (field.number == kNodeOutput && node.first_output.empty()) node.first_output = field.value;
  });
  return node;
}

bool IsNode(const Field& field) {
  return field.number == kGraphNode && field.type == kLengthDelimited;
}

std::size_t VarintSize(std::uint64_t value) {
  std::string bytes;
  WriteVarint(value, bytes);
  return bytes.size();
}

void AnnotateGraph(std::string_view graph, const std::function<Remarks(const NodeInFile&)>& of_node,
                   const std::function<void(std::string_view)>& sink) {
  // The length of a message stands before it: the remarks of all nodes are needed first.
  std::vector<std::string> added;
  std::uint64_t length = graph.size();
  ForEachField(graph, [&](const Field& field) {
    if (!IsNode(field)) return;
    const std::string& more =
        added.emplace_back(FieldsOf(of_node(NodeOf(field.value)), kNodeMetadata));
    length +=
        more.size() + VarintSize(field.value.size() + more.size()) - VarintSize(field.value.size());
  });
  std::string head;
  WriteHead(kModelGraph, length, head);
  sink(head);
  std::size_t next = 0;
  ForEachField(graph, [&](const Field& field) {
    if (!IsNode(field)) {
      sink(field.whole);
      return;
    }
    const std::string& more = added[next++];
    std::string node_head;
    WriteHead(kGraphNode, field.value.size() + more.size(), node_head);
    sink(node_head);
    sink(field.value);
    sink(more);
  });
}

}  // namespace

void Annotate(std::string_view model, const std::function<Remarks(const NodeInFile&)>& of_node,
              const Remarks& of_model, const std::function<void(std::string_view)>& sink) {
  bool found = false;
  ForEachField(model, [&](const Field& field) {
    if (field.number == kModelGraph && field.type == kLengthDelimited) {
      found = true;
      AnnotateGraph(field.value, of_node, sink);
    } else {
      sink(field.whole);
    }
  });
  if (!found) throw Error("not a valid ONNX file: it has no graph");
  sink(FieldsOf(of_model, kModelMetadata));
}

}  // namespace dlcost
