#include "estimator/onnx/reader.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>

#include "estimator/core/error.h"
#include "estimator/onnx/file_kind.h"
#include "estimator/onnx/graph_builder.h"
#include "estimator/onnx/mapped_file.h"
#include "estimator/onnx/model_proto.h"
#include "estimator/onnx/skeleton.h"

namespace dlcost {

void ParseSkeleton(const std::string& skeleton, onnx::ModelProto& proto) {
  if (skeleton.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error("more than 2 GiB of graph structure");
  }
  const google::protobuf::LogSilencer silencer;  // one line of error, and it is ours
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const std::uint8_t*>(skeleton.data()), static_cast<int>(skeleton.size()));
  stream.SetRecursionLimit(kMaxMessageDepth + 100);
  if (!proto.ParseFromCodedStream(&stream)) {
    throw Error("not a valid ONNX file: protobuf cannot parse its structure");
  }
}

namespace {

Model Build(const onnx::ModelProto& proto, const std::string& path) {
  if (!proto.has_graph()) throw Error("not an ONNX model: it has no graph");
  Model model;
  model.path = path;
  model.name = proto.graph().name();
  model.producer = proto.producer_name();
  model.ir_version = proto.ir_version();
  for (const auto& import : proto.opset_import()) {
    const std::int64_t version = std::clamp<std::int64_t>(import.version(), 1, 1'000'000);
    model.opset[NormalDomain(import.domain())] = static_cast<int>(version);
  }
  for (const auto& entry : proto.metadata_props()) model.metadata[entry.key()] = entry.value();
  model.graph = GraphBuilder(proto).Build();
  return model;
}

Model BuildFrom(std::string skeleton, const std::string& path) {
  google::protobuf::Arena arena;
  auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  ParseSkeleton(skeleton, *proto);
  skeleton = std::string();  // it takes as much memory as the graph's names
  return Build(*proto, path);
}

}  // namespace

namespace {

// `build` on the bytes of `path`; an error says what kind of file it is where that is known.
template <typename Build>
Model Explained(std::string_view bytes, const std::string& path, const Build& build) {
  try {
    return build();
  } catch (const Error& error) {
    const std::string kind = FileKindHint(bytes);
    if (kind.empty()) throw error.At(Printable(path));
    throw Error("not an ONNX model; {}", kind).At(Printable(path));
  }
}

}  // namespace

Model ReadModelFromBytes(std::string_view bytes, const std::string& path) {
  return Explained(bytes, path, [&] { return BuildFrom(ExtractSkeleton(bytes), path); });
}

Model ReadModelFromProto(const onnx::ModelProto& proto, const std::string& path) {
  try {
    return Build(proto, path);
  } catch (const Error& error) {
    throw error.At(Printable(path));
  }
}

Model ReadModel(const std::string& path) { return ReadModel(MappedFile(path), path); }

Model ReadModel(const MappedFile& file, const std::string& path) {
  return Explained(file.bytes(), path, [&] {
    return BuildFrom(ExtractSkeleton(file.bytes(), [&](std::size_t end) { file.Forget(end); }),
                     path);
  });
}

}  // namespace dlcost
