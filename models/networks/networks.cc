#include "models/networks/networks.h"

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "models/networks/families.h"
#include "models/networks/options.h"

namespace dlcost {
namespace {

struct Entry {
  NetworkInfo info;
  networks::Network (*build)(const std::string& name, const networks::Options& options);
};

NetworkOption Type(const std::string& standard = "f32") {
  return {"dtype", standard, "element type: f32, f16 or bf16"};
}
NetworkOption Norm() {
  return {"norm", "folded", "batch normalization: folded (into the convolutions) or kept"};
}
NetworkOption DropoutOption() {
  return {"dropout", "none", "dropout: none, or kept as an export in training mode has it"};
}
NetworkOption Phase() {
  return {"phase", "prefill", "prefill (a prompt) or decode (one token, key-value cache)"};
}
NetworkOption Size(const std::string& name, int value, const std::string& description) {
  return {name, std::to_string(value), description};
}

std::vector<NetworkOption> TransformerOptions(int layers, int width, int inner, int heads,
                                              int vocabulary) {
  return {Size("layers", layers, "layers (of encoder and decoder each, where there are both)"),
          Size("width", width, "width of the model"),
          Size("inner", inner, "width inside the feed-forward layers"),
          Size("heads", heads, "attention heads"),
          Size("vocabulary", vocabulary, "rows of the embedding"),
          Type()};
}

std::vector<Entry> MakeEntries() {
  using namespace networks;  // NOLINT: the builders below
  std::vector<Entry> entries;
  const auto add = [&](const char* name, const char* description,
                       std::vector<NetworkOption> options, auto build) {
    entries.push_back({{name, description, std::move(options)}, build});
  };
  add("alexnet", "AlexNet, one column, 227x227",
      {Size("conv4", 256, "channels of conv4"), Size("classes", 1000, "classes"), Type()},
      BuildAlexNet);
  for (const char* name : {"resnet18", "resnet34"}) {
    add(name, "residual network of basic blocks, 224x224", {Norm(), Type()}, BuildResNet);
  }
  for (const char* name : {"resnet50", "resnet101", "resnet152"}) {
    add(name, "residual network of bottleneck blocks, 224x224", {Norm(), Type()}, BuildResNet);
  }
  for (const char* name : {"resnext50-32x4d", "resnext101-32x4d"}) {
    add(name, "residual network of 32 groups, 224x224", {Norm(), Type()}, BuildResNet);
  }
  add("se-resnext101-32x4d", "the same with squeeze and excitation, 224x224", {Norm(), Type()},
      BuildResNet);
  for (const char* name : {"vgg16", "vgg19"}) {
    add(name, "VGG (configurations D and E), 224x224", {Type()}, BuildVgg);
  }
  add("mobilenet-v2", "MobileNetV2, 224x224", {Type()}, BuildMobileNetV2);
  for (const char* name : {"efficientnet-b0", "efficientnet-b4"}) {
    add(name, "EfficientNet, 224x224 (B0) and 380x380 (B4)",
        {{"squeeze", "block",
          "channels of a squeeze: a quarter of the block's input, or of its "
          "depthwise convolution (wide)"},
         Norm(),
         Type()},
        BuildEfficientNet);
  }
  add("lstm", "word-level LSTM language model, Penn Treebank sizes",
      {Size("layers", 2, "LSTM layers"), Size("hidden", 1024, "hidden and embedding size"),
       Size("vocabulary", 10000, "rows of the embedding"), Type()},
      BuildLstm);
  add("transformer-base", "encoder-decoder Transformer for translation",
      TransformerOptions(6, 512, 2048, 8, 37000), BuildTransformer);
  add("transformer-big", "encoder-decoder Transformer for translation",
      TransformerOptions(6, 1024, 4096, 16, 37000), BuildTransformer);
  const auto bert = [](int layers, int width, int inner, int heads) {
    std::vector<NetworkOption> options = TransformerOptions(layers, width, inner, heads, 30522);
    options.push_back(Size("positions", 512, "longest sequence"));
    options.push_back(Size("types", 2, "kinds of segments"));
    options.push_back({"head", "pooler",
                       "pooler, pretraining (words at masked positions, and whether the second "
                       "segment follows) or pretraining-all (words at all positions)"});
    options.push_back(DropoutOption());
    return options;
  };
  add("bert-base", "BERT encoder with pooler", bert(12, 768, 3072, 12), BuildBert);
  add("bert-large", "BERT encoder with pooler", bert(24, 1024, 4096, 16), BuildBert);
  const auto t5 = [](int layers, int width, int inner, int heads, int head_width) {
    return std::vector<NetworkOption>{
        {"phase", "prefill",
         "prefill (encoder over the source, decoder over the target), encoder, decoder (over the "
         "target, from an encoded source) or decode (one token, caches of keys and values)"},
        {"version", "1.0",
         "1.0 (relu; the embedding makes the logits) or 1.1 (gated GELU, as Flan-T5 and mT5; a "
         "table of their own)"},
        Size("layers", layers, "layers of encoder and decoder each"),
        Size("width", width, "width of the model"),
        Size("inner", inner, "width inside the feed-forward layers"),
        Size("heads", heads, "attention heads"),
        Size("head_width", head_width, "width of a head"),
        Size("vocabulary", 32128, "rows of the embedding"),
        DropoutOption(),
        Type()};
  };
  add("t5-small", "T5 encoder-decoder, 60 million parameters", t5(6, 512, 2048, 8, 64), BuildT5);
  add("t5-base", "T5 encoder-decoder, 220 million parameters", t5(12, 768, 3072, 12, 64), BuildT5);
  add("t5-large", "T5 encoder-decoder, 770 million parameters", t5(24, 1024, 4096, 16, 64),
      BuildT5);
  add("t5-3b", "T5 encoder-decoder, 3 billion parameters", t5(24, 1024, 16384, 32, 128), BuildT5);
  add("gpt2", "GPT-2 decoder, 124 million parameters",
      {Phase(), Size("layers", 12, "layers"), Size("width", 768, "width of the model"),
       Size("heads", 12, "attention heads"), Size("vocabulary", 50257, "rows of the embedding"),
       Size("positions", 1024, "longest sequence"), DropoutOption(), Type()},
      BuildGpt2);
  add("llama3-8b", "decoder with grouped-query attention, SwiGLU, RMSNorm, rotary positions",
      {Phase(), Size("layers", 32, "layers"), Size("width", 4096, "width of the model"),
       Size("inner", 14336, "width inside the feed-forward layers"),
       Size("heads", 32, "query heads"), Size("kv_heads", 8, "key and value heads"),
       Size("vocabulary", 128256, "rows of the embedding"), Type("bf16")},
      BuildLlama);
  return entries;
}

const std::vector<Entry>& Entries() {
  static const std::vector<Entry> entries = MakeEntries();
  return entries;
}

}  // namespace

const std::vector<NetworkInfo>& Networks() {
  static const std::vector<NetworkInfo> networks = [] {
    std::vector<NetworkInfo> infos;
    for (const Entry& entry : Entries()) infos.push_back(entry.info);
    return infos;
  }();
  return networks;
}

networks::Network MakeNetwork(const std::string& name, const NetworkOptions& options) {
  std::vector<std::string> names;
  for (const Entry& entry : Entries()) {
    if (entry.info.name == name) {
      return entry.build(name, networks::Options(entry.info, options));
    }
    names.push_back(entry.info.name);
  }
  throw Error("no network named '{}'{}; `dlcost network` lists them", Printable(name),
              DidYouMean(name, names));
}

std::string BuildNetwork(const std::string& name, const NetworkOptions& options) {
  return MakeNetwork(name, options).Serialize();
}

}  // namespace dlcost
