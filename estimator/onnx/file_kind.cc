#include "estimator/onnx/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

constexpr std::size_t kHead = 4096;
constexpr std::size_t kTail = 65536;
constexpr std::size_t kLongestConfiguration = 1 << 20;  // the published ones have a few thousand

constexpr std::string_view kFromTorch =
    "load it in Python and export it with torch.onnx.export(model, inputs, \"model.onnx\")";
constexpr std::string_view kFromTensorFlow =
    "python -m tf2onnx.convert --saved-model FOLDER --output model.onnx";
constexpr std::string_view kFromKeras =
    "load it in Python and export it with model.export(\"model.onnx\", format=\"onnx\"), or "
    "tf2onnx.convert.from_keras(model, output_path=\"model.onnx\")";
constexpr std::string_view kNoWayBack =
    "it cannot be turned back into ONNX; give the model that it was made from";

std::string Is(std::string_view what, std::string_view then) {
  return fmt::format("this is {}: {}", what, then);
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Little-endian, as zip, safetensors and flatbuffers write.
std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[i - 1]);
  }
  return value;
}

// A zip archive, by the names of its entries.
std::string ZipHint(std::string_view bytes) {
  const std::string_view names = bytes.substr(bytes.size() - std::min(bytes.size(), kTail));
  if (Contains(names, "serialized_exported_program") || Contains(names, "models/model.json")) {
    return Is("a program that torch.export saved (.pt2)",
              "torch.onnx.export(torch.export.load(FILE), dynamo=True).save(\"model.onnx\")");
  }
  if (Contains(names, "data.pkl")) {
    return Contains(names, "/code/")
               ? Is("a TorchScript archive",
                    "torch.onnx.export(torch.jit.load(FILE), inputs, \"model.onnx\")")
               : Is("a PyTorch file of weights or of a pickled module", kFromTorch);
  }
  if (Contains(names, "model.weights.h5")) return Is("a Keras archive (.keras)", kFromKeras);
  if (Contains(names, ".npy")) return "this is an archive of NumPy arrays, not a model";
  if (Contains(names, ".onnx")) return "this is a zip archive that holds an ONNX file: unzip it";
  return "this is a zip archive, not a model";
}

struct Magic {
  std::size_t offset;
  std::string_view bytes;
  std::string_view what, then;
};

using std::string_view_literals::operator""sv;

// Sources: the formats' own specifications; "ftrt" as `trtexec --saveEngine` writes it.
constexpr Magic kMagics[] = {
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file (Keras .h5)", kFromKeras},
    {4, "TFL3"sv, "a TensorFlow Lite model",
     "python -m tf2onnx.convert --tflite FILE --output model.onnx"},
    {4, "ORTM"sv, "a model in ONNX Runtime's own format (.ort)",
     "give the .onnx file that it was made from"},
    {0, "GGUF"sv, "a GGUF file (llama.cpp)",
     "it holds weights without a graph; export the original model, for example with optimum-cli "
     "export onnx --model NAME FOLDER"},
    {0, "ML\xefR"sv, "MLIR bytecode (StableHLO)",
     "export the original model to ONNX, for example with jax2onnx or tf2onnx"},
    {0, "ftrt"sv, "a TensorRT engine", kNoWayBack},
    {0, "ptrt"sv, "a TensorRT engine", kNoWayBack},
    {0, "\x1f\x8b"sv, "compressed with gzip", "gunzip it first, or gunzip -c FILE | dlcost -"},
    {0, "\x28\xb5\x2f\xfd"sv, "compressed with zstd",
     "unpack it first, or zstd -dc FILE | dlcost -"},
    {0,
     "\xfd"
     "7zXZ"sv,
     "compressed with xz", "unpack it first, or xz -dc FILE | dlcost -"},
    {0, "version https://git-lfs"sv, "a Git LFS pointer, which stands for the file",
     "git lfs pull fetches it"},
    {0, "\x93NUMPY"sv, "a NumPy array", "give the model, an ONNX file"},
};

// A pickle of protocol 2 to 5 starts with its number and a first instruction.
bool IsPickle(std::string_view head) {
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

// The length of a JSON header, then the header.
bool IsSafetensors(std::string_view bytes) {
  return bytes.size() > 10 && bytes[8] == '{' && bytes[9] == '"' &&
         LittleEndian(bytes.substr(0, 8)) <= bytes.size() - 8;
}

// TensorFlow's GraphDef is a list of nodes: field 1 of each its name, field 2 its operator.
bool IsGraphDef(std::string_view head) {
  if (head.size() < 6 || head[0] != '\x0a') return false;
  std::size_t at = 1;
  while (at < head.size() && (head[at] & 0x80) != 0) ++at;  // the node's length
  ++at;
  if (at + 1 >= head.size() || head[at] != '\x0a') return false;
  const auto name = static_cast<std::uint8_t>(head[at + 1]);
  const std::size_t op = at + 2 + name;
  return name < 0x80 && op < head.size() && head[op] == '\x12';
}

// A whole one with a model_type is read as a network elsewhere.
std::string ConfigurationHint(std::string_view bytes) {
  if (!nlohmann::json::accept(bytes)) {
    return Is("the configuration of a transformers model, but no whole JSON",
              "it may be cut; download or write it again");
  }
  return Is("the configuration of a transformers model without a model_type",
            "add it, or export the model: optimum-cli export onnx --model FOLDER OUTPUT");
}

// The first character that is no white space starts the text.
std::string TextHint(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, kHead);
  const std::size_t start = head.find_first_not_of("\xef\xbb\xbf \t\r\n");
  if (start == std::string_view::npos) return "";
  const std::string_view text = head.substr(start);
  const auto begins = [&](std::string_view with) { return text.starts_with(with); };
  if (begins("<!DOCTYPE html") || begins("<!doctype html") || begins("<html")) {
    return Is("a web page, not a model",
              "a download that was answered with a page; take the link to the raw file");
  }
  if (begins("<?xml") && Contains(text, "<net ")) {
    return Is("an OpenVINO model", "give the ONNX file that it was converted from");
  }
  if (begins("ir_version:") || begins("opset_import") || begins("graph {")) {
    return Is("an ONNX model as protobuf's text",
              "python -c 'import onnx; onnx.save(onnx.load(\"FILE\", format=\"textproto\"), "
              "\"model.onnx\")'");
  }
  if (begins("<") && Contains(text, "ir_version")) {
    return Is("an ONNX model in ONNX's text syntax",
              "python -c 'import onnx; onnx.save(onnx.load(\"FILE\", format=\"onnxtxt\"), "
              "\"model.onnx\")'");
  }
  if (begins("module {") || begins("module @") || begins("module attributes")) {
    return Is("MLIR's text (StableHLO)",
              "export the original model to ONNX, for example with jax2onnx or tf2onnx");
  }
  if (begins("{") && Contains(text.substr(0, 60), "\"dlcost.")) {
    return Is("what dlcost wrote with --format json",
              "give the model that it is of; diff, check, html and plot read reports");
  }
  if (begins("{") || begins("[")) {
    const bool names_one = Contains(text, "\"model_type\"") || Contains(text, "\"architectures\"");
    return names_one && bytes.size() <= kLongestConfiguration
               ? ConfigurationHint(bytes)
               : Is("JSON, not a model", "give an ONNX file");
  }
  return "";
}

}  // namespace

std::string FileKindHint(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, kHead);
  if (head.starts_with("PK\x03\x04")) return ZipHint(bytes);
  for (const Magic& magic : kMagics) {
    if (head.substr(std::min(head.size(), magic.offset)).starts_with(magic.bytes)) {
      return Is(magic.what, magic.then);
    }
  }
  if (IsPickle(head)) return Is("a Python pickle, as PyTorch saved before 1.6", kFromTorch);
  if (IsSafetensors(bytes)) {
    return Is("a safetensors file",
              "it holds weights without a graph; export the model, for example with optimum-cli "
              "export onnx --model FOLDER OUTPUT");
  }
  if (IsGraphDef(head)) {
    return Is("a TensorFlow graph (GraphDef)",
              "python -m tf2onnx.convert --graphdef FILE --inputs X:0 --outputs Y:0 --output "
              "model.onnx");
  }
  // Its schema's version 1, then a graph with the names of its tags.
  if (head.starts_with("\x08\x01\x12") && Contains(head, "serve")) {
    return Is("a TensorFlow SavedModel's graph", kFromTensorFlow);
  }
  return TextHint(bytes);
}

std::string FolderKindHint(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path folder(path);
  std::error_code error;
  const auto has = [&](const char* name) { return fs::exists(folder / name, error); };
  if (has("saved_model.pb")) return Is("a TensorFlow SavedModel", kFromTensorFlow);
  if (folder.extension() == ".mlpackage") {
    return Is("a Core ML package", "export the original model to ONNX");
  }
  std::vector<std::string> models;
  constexpr int kMostEntries = 10000;
  int seen = 0;
  for (fs::directory_iterator entry(folder, error), end;
       !error && entry != end && ++seen < kMostEntries; entry.increment(error)) {
    if (entry->path().extension() == ".onnx") models.push_back(entry->path().filename().string());
  }
  if (!models.empty()) {
    const std::string& first = *std::min_element(models.begin(), models.end());
    return fmt::format("it holds {}{}", Printable((folder / first).string()),
                       models.size() == 1 ? "" : fmt::format(" and {} more", models.size() - 1));
  }
  if (has("config.json")) {
    return Is("a transformers checkpoint", "dlcost FOLDER/config.json");
  }
  return "";
}

}  // namespace dlcost
