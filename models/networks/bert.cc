#include "models/networks/families.h"
#include "models/networks/layers.h"

namespace dlcost::networks {
namespace {

struct Embedding {
  Value table, rows;
};

Embedding Lookup(Builder& b, const std::string& name, const Value& ids, std::int64_t rows,
                 std::int64_t width) {
  const Builder::Scope scope = b.In(name);
  const Value table = b.Weight("weight", {rows, width});
  return {table, b.Node("Gather", {table, ids}, {{"axis", 0}})};
}

Value LearnedPositions(Builder& b, const Value& ids, std::int64_t rows, std::int64_t width) {
  const Builder::Scope scope = b.In("position");
  return FirstPositions(b, b.Weight("weight", {rows, width}), ids);
}

Value EncoderLayer(Builder& b, const Value& x, const Value& mask, const AttentionSpec& spec,
                   std::int64_t inner) {
  Value y;
  {
    const Builder::Scope scope = b.In("attention");
    y = MultiHeadAttention(b, x, x, mask, spec);
    if (spec.dropout) y = Dropout(b, y);
    y = LayerNorm(b, "norm", b.Node("Add", {y, x}), spec.width);
  }
  const Builder::Scope scope = b.In("feed_forward");
  Value z = b.Node("Gelu", {Linear(b, "inner", y, spec.width, inner)});
  z = Linear(b, "outer", z, inner, spec.width);
  if (spec.dropout) z = Dropout(b, z);
  return LayerNorm(b, "norm", b.Node("Add", {z, y}), spec.width);
}

// What pre-training predicts (appendix A of the paper below): the words at `masked` [batch,
// predictions] from those positions, or at all where it is empty, and from the pooled first token
// whether the second segment followed the first. The word table is also the last projection.
void PretrainingHead(Builder& b, Value x, const Value& pooled, const Value& words,
                     const Value& masked, const Value& ids, std::int64_t vocabulary,
                     std::int64_t width) {
  const Builder::Scope scope = b.In("predictions");
  Dim positions = "sequence";
  Value rows = ids;
  if (!masked.empty()) {
    x = b.Node("GatherND", {x, b.Node("Unsqueeze", {masked, b.Ints({-1})})}, {{"batch_dims", 1}});
    positions = "predictions";
    rows = masked;
  }
  x = b.Node("Gelu", {Linear(b, "transform", x, width, width)});
  x = LayerNorm(b, "norm", x, width);
  x = TiedProjection(b, x, words, vocabulary, width, rows);
  x = b.Node("Add", {x, b.Weight("bias", {vocabulary})});
  const Value next = Affine(b, "next_sentence", pooled, width, 2);
  b.Output(x, "prediction_scores", b.dtype(), {"batch", positions, vocabulary});
  b.Output(next, "next_sentence_scores", b.dtype(), {"batch", 2});
}

}  // namespace

// The encoder and pooler of Devlin et al., "BERT: pre-training of deep bidirectional transformers
// for language understanding", arXiv 1810.04805.
Network BuildBert(const std::string& name, const Options& options) {
  const AttentionSpec spec = {.width = options.Size("width"),
                              .heads = options.Size("heads"),
                              .dropout = options.Choice("dropout", {"none", "kept"}) == "kept"};
  const std::int64_t inner = options.Size("inner");
  const std::int64_t layers = options.Size("layers");
  const std::int64_t vocabulary = options.Size("vocabulary");

  Builder b(name, options.Opset(20), options.Type());
  const std::vector<Dim> tokens = {"batch", "sequence"};
  const Value ids = b.Input("input_ids", DType::kInt64, tokens);
  const Value attention_mask = b.Input("attention_mask", DType::kInt64, tokens);
  const Value types = b.Input("token_type_ids", DType::kInt64, tokens);
  const std::string head = options.Choice("head", {"pooler", "pretraining", "pretraining-all"});
  const Value masked = head == "pretraining"
                           ? b.Input("masked_positions", DType::kInt64, {"batch", "predictions"})
                           : Value();
  Value x, words;
  {
    const Builder::Scope scope = b.In("embeddings");
    const Embedding word = Lookup(b, "word", ids, vocabulary, spec.width);
    words = word.table;
    x = b.Node("Add",
               {word.rows, Lookup(b, "token_type", types, options.Size("types"), spec.width).rows});
    x = b.Node("Add", {x, LearnedPositions(b, ids, options.Size("positions"), spec.width)});
    x = LayerNorm(b, "norm", x, spec.width);
    if (spec.dropout) x = Dropout(b, x);
  }
  {
    const Builder::Scope scope = b.In("encoder");
    const Value mask = PaddingMask(b, attention_mask);
    for (std::int64_t i = 0; i < layers; ++i) {
      const Builder::Scope layer = b.In(std::to_string(i));
      x = EncoderLayer(b, x, mask, spec, inner);
    }
  }
  Value first;
  {
    const Builder::Scope scope = b.In("pooler");
    first = b.Node("Gather", {x, b.Int(0)}, {{"axis", 1}});  // of the first token
    first = b.Node("Tanh", {Affine(b, "dense", first, spec.width, spec.width)});
  }
  if (head != "pooler") {
    PretrainingHead(b, x, first, words, masked, ids, vocabulary, spec.width);
    return b.Finish();
  }
  b.Output(x, "last_hidden_state", b.dtype(), {"batch", "sequence", spec.width});
  b.Output(first, "pooler_output", b.dtype(), {"batch", spec.width});
  return b.Finish();
}

}  // namespace dlcost::networks
