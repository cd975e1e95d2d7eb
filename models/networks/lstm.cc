#include "models/networks/families.h"
#include "models/networks/layers.h"

namespace dlcost::networks {

// A word-level language model: embedding, a stack of LSTM layers, projection on the vocabulary.
// Embedding and hidden size are equal, as in the Penn Treebank models of Zaremba et al.,
// arXiv 1409.2329.
Network BuildLstm(const std::string& name, const Options& options) {
  const std::int64_t hidden = options.Size("hidden");
  const std::int64_t layers = options.Size("layers");
  const std::int64_t vocabulary = options.Size("vocabulary");

  Builder b(name, options.Opset(17), options.Type());
  const Value ids = b.Input("ids", DType::kInt64, {"sequence", "batch"});
  Value x;
  {
    const Builder::Scope scope = b.In("embedding");
    x = b.Node("Gather", {b.Weight("weight", {vocabulary, hidden}), ids}, {{"axis", 0}});
  }
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const Builder::Scope scope = b.In("lstm" + std::to_string(layer));
    // One direction; gates stacked as ONNX stacks them: input, output, forget, cell.
    x = b.Node("LSTM",
               {x, b.Weight("W", {1, 4 * hidden, hidden}), b.Weight("R", {1, 4 * hidden, hidden}),
                b.Weight("B", {1, 8 * hidden})},
               {{"hidden_size", hidden}});
    x = b.Node("Squeeze", {x, b.Ints({1})});  // [sequence, 1, batch, hidden] without directions
  }
  b.Output(Linear(b, "decoder", x, hidden, vocabulary), "logits", b.dtype(),
           {"sequence", "batch", vocabulary});
  return b.Finish();
}

}  // namespace dlcost::networks
