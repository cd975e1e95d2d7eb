#pragma once

#include <string>
#include <string_view>

namespace dlcost {

// What a file that is no ONNX model is instead, told from its first bytes (a zip archive's from its
// list of entries at the end), and the line that makes an ONNX model of it: "this is a PyTorch
// file: torch.onnx.export(...)". "" for what is not recognized. Never throws; looks at no more than
// the first 4 KiB and the last 64 KiB.
std::string FileKindHint(std::string_view bytes);

// The same for a folder: a TensorFlow SavedModel, a transformers checkpoint, or one that holds ONNX
// files, which are named.
std::string FolderKindHint(const std::string& path);

}  // namespace dlcost
