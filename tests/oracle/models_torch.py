"""Small networks with random weights, exported by PyTorch's TorchScript exporter."""

import warnings

import torch


def export(module, inputs, path, names, axes, opset=17, fold=True):
    """Writes an ONNX file; `axes` maps input and output names to {axis: symbol}; `fold` lets the
    exporter compute what depends on weights alone."""
    warnings.filterwarnings("ignore")
    module.eval()
    torch.onnx.export(module, inputs, str(path), opset_version=opset, input_names=names,
                      output_names=[n for n in axes if n not in names], dynamic_axes=axes,
                      do_constant_folding=fold)
    return path


class Call(torch.nn.Module):
    """A module whose forward is a function of positional tensors, as the exporter wants it."""

    def __init__(self, module, function):
        super().__init__()
        self.module, self.function = module, function

    def forward(self, *inputs):
        return self.function(self.module, *inputs)


def text_axes(*names):
    return {name: {0: "batch", 1: "sequence"} for name in names}


class Recurrent(torch.nn.Module):
    """Embedding, a two-layer bidirectional LSTM, a GRU and a projection."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(50, 16)
        self.lstm = torch.nn.LSTM(16, 32, 2, batch_first=True, bidirectional=True)
        self.gru = torch.nn.GRU(64, 16, batch_first=True)
        self.out = torch.nn.Linear(16, 50)

    def forward(self, ids):
        return self.out(self.gru(self.lstm(self.embed(ids))[0])[0])


def _encoder(model):
    return Call(model, lambda m, ids, mask: (m(ids, attention_mask=mask)[0],))


def language_models():
    """(name, module, inputs, input names, axes) of tiny models of well-known families."""
    import transformers as t
    small = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                 vocab_size=101, max_position_embeddings=64)
    ids = torch.ones(2, 8, dtype=torch.long)
    names, axes = ["input_ids", "attention_mask"], text_axes("input_ids", "attention_mask", "logits")
    for name, model in {
            "bert": t.BertModel(t.BertConfig(**small)),
            "roberta": t.RobertaModel(t.RobertaConfig(**small)),
            "albert": t.AlbertModel(t.AlbertConfig(**small, embedding_size=16)),
            "gpt_neox": t.GPTNeoXModel(t.GPTNeoXConfig(**small)),
            "bloom": t.BloomModel(t.BloomConfig(hidden_size=32, n_layer=2, n_head=2, vocab_size=101)),
            "deberta": t.DebertaV2Model(t.DebertaV2Config(
                **small, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8)),
    }.items():
        yield name, _encoder(model), (ids, ids), names, axes
    for name, model in {
            "gpt2": t.GPT2LMHeadModel(t.GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=101,
                                                   n_positions=64)),
            "llama": t.LlamaForCausalLM(t.LlamaConfig(**small)),
            # Its rotary embedding becomes a loop over a sequence of tensors.
            "gptj": t.GPTJForCausalLM(t.GPTJConfig(n_embd=32, n_layer=2, n_head=2, vocab_size=101,
                                                   n_positions=64, rotary_dim=8)),
            "opt": t.OPTForCausalLM(t.OPTConfig(hidden_size=32, num_hidden_layers=2, ffn_dim=64,
                                                num_attention_heads=2, vocab_size=101,
                                                max_position_embeddings=64, word_embed_proj_dim=32)),
    }.items():
        call = Call(model, lambda m, i, a: (m(i, attention_mask=a, use_cache=False)[0],))
        yield name, call, (ids, ids), names, axes
    yield "gpt2_past", *_gpt2_with_past(t)
    yield "t5", *_t5(t, ids)
    yield "whisper", *_whisper(t, ids)
    image, axes = torch.zeros(2, 3, 32, 32), {"pixels": {0: "batch"}, "hidden": {0: "batch"}}
    encoder = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    for name, model in {
            "vit": t.ViTModel(t.ViTConfig(**encoder, image_size=32, patch_size=8)),
            "swin": t.SwinModel(t.SwinConfig(image_size=32, patch_size=2, embed_dim=8, depths=[2, 2],
                                             num_heads=[2, 2], window_size=4)),
            "segformer": t.SegformerModel(t.SegformerConfig(
                num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 16],
                patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2])),
    }.items():
        yield name, Call(model, lambda m, x: (m(x)[0],)), (image,), ["pixels"], axes
    yield "recurrent", Recurrent(), (ids,), ["input_ids"], text_axes("input_ids", "logits")


def _gpt2_with_past(t):
    layers, heads, width = 2, 2, 32
    model = t.GPT2LMHeadModel(t.GPT2Config(n_embd=width, n_layer=layers, n_head=heads,
                                           vocab_size=101, n_positions=64))
    past = [f"past_{i}_{k}" for i in range(layers) for k in ("key", "value")]
    present = [name.replace("past", "present") for name in past]

    def call(m, ids, mask, *cache):
        pairs = tuple(zip(cache[::2], cache[1::2]))
        out = m(ids, attention_mask=mask, past_key_values=pairs, use_cache=True)
        return (out[0], *(tensor for pair in out[1] for tensor in pair))

    axes = text_axes("input_ids", "logits") | {"attention_mask": {0: "batch", 1: "total_sequence"}}
    axes |= {name: {0: "batch", 2: "past_sequence"} for name in past}
    axes |= {name: {0: "batch", 2: "total_sequence"} for name in present}
    inputs = (torch.ones(2, 1, dtype=torch.long), torch.ones(2, 6, dtype=torch.long),
              *(torch.zeros(2, heads, 5, width // heads) for _ in past))
    return Call(model, call), inputs, ["input_ids", "attention_mask", *past], axes


def _whisper(t, ids):
    """Audio features of a fixed length and the decoder's tokens."""
    model = t.WhisperForConditionalGeneration(t.WhisperConfig(
        vocab_size=101, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8,
        max_source_positions=50, max_target_positions=40, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=3))
    call = lambda m, features, tokens: (m(features, decoder_input_ids=tokens, use_cache=False)[0],)
    axes = {"features": {0: "batch"}, "tokens": {0: "batch", 1: "dec"}, "logits": {0: "batch", 1: "dec"}}
    return Call(model, call), (torch.zeros(2, 8, 100), ids[:, :4]), ["features", "tokens"], axes


def _t5(t, ids):
    model = t.T5ForConditionalGeneration(t.T5Config(d_model=32, d_kv=16, d_ff=64, num_layers=2,
                                                    num_heads=2, vocab_size=101))

    def call(m, encoder_ids, mask, decoder_ids):
        return (m(input_ids=encoder_ids, attention_mask=mask, decoder_input_ids=decoder_ids,
                  use_cache=False)[0],)

    names = ["input_ids", "attention_mask", "decoder_input_ids"]
    axes = {"input_ids": {0: "batch", 1: "enc"}, "attention_mask": {0: "batch", 1: "enc"},
            "decoder_input_ids": {0: "batch", 1: "dec"}, "logits": {0: "batch", 1: "dec"}}
    return Call(model, call), (ids, ids, ids[:, :4]), names, axes
