"""Writes exported/torch/: networks of timm and transformers as PyTorch's TorchScript exporter writes them, without
weights. A tensor of more than a few numbers says that its data lies in a file, and that file is not kept.

Run by hand, where there is PyTorch and, from PyPI without its dependencies, timm==0.9.16.

usage: make_exports.py FOLDER [NAME...]
"""

import math
import pathlib
import sys
import warnings

import onnx
import torch

import models_torch

KEPT = 64  # numbers that a tensor may have and stay: shapes, axes, scales
# Networks of timm, and what makes the deep ones short enough to keep: each block of a kind once or twice.
TIMM = {
    "coatnet_nano_rw_224": {}, "convnext_atto": {}, "deit_tiny_patch16_224": {"depth": 3}, "edgenext_xx_small": {},
    "efficientformer_l1": {}, "efficientnet_b0": {}, "fastvit_t8": {}, "ghostnet_050": {}, "hrnet_w18_small": {},
    "inception_next_tiny": {"depths": (1, 1, 2, 1)}, "levit_128s": {}, "mobilevit_xxs": {}, "mobilevitv2_050": {},
    "poolformer_s12": {}, "regnety_002": {}, "sequencer2d_s": {"layers": (1, 1, 1, 1)}, "skresnet18": {},
    "swin_tiny_patch4_window7_224": {"depths": (2, 1), "num_heads": (3, 6)},
    "swinv2_tiny_window8_256": {"depths": (2, 1), "num_heads": (3, 6)}, "tinynet_e": {},
    "xcit_nano_12_p16_224": {"depth": 1},
}


def _graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


def without_weights(model):
    """Payloads of all but small tensors go, and what exporters write into doc strings; tensors get short names, which
    are most of such a file (the node's name still says which module it is of)."""
    short = {v.name: v.name for v in [*model.graph.input, *model.graph.output]} | {"": ""}
    for graph in _graphs(model.graph):
        del graph.value_info[:]
        tensors = list(graph.initializer)
        for node in graph.node:
            node.doc_string = ""
            tensors += [a.t for a in node.attribute if a.HasField("t")]
            for names in (node.input, node.output):
                names[:] = [short.setdefault(name, f"t{len(short)}") for name in names]
        for tensor in graph.initializer:
            tensor.name = short.setdefault(tensor.name, f"t{len(short)}")
        for value in [*graph.input, *graph.output]:
            value.name = short.setdefault(value.name, f"t{len(short)}")
        for tensor in tensors:
            if math.prod(tensor.dims) > KEPT:
                for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data"):
                    tensor.ClearField(field)
                tensor.data_location = onnx.TensorProto.EXTERNAL
                tensor.external_data.add(key="location", value="weights")
    return model


def write(path, module, inputs, names, axes):
    models_torch.export(module, inputs, path, names, axes)
    onnx.save(without_weights(onnx.load(str(path))), str(path))
    print(f"{path.stat().st_size:8} {path.name}")


def vision(chosen):
    """(name, module, inputs, names of inputs, axes) of TIMM."""
    import timm
    for name, options in TIMM.items():
        if chosen and name not in chosen:
            continue
        module = timm.create_model(name, exportable=True, **options)
        size = module.default_cfg["input_size"][1]
        yield name, module, (torch.zeros(2, 3, size, size),), ["image"], {"image": {0: "batch"}, "logits": {0: "batch"}}


def language(chosen):
    """Networks of transformers at their published widths, two layers deep, of words or sound."""
    import transformers as t
    ids = torch.ones(2, 8, dtype=torch.long)
    masked = ["input_ids", "attention_mask"]
    axes = models_torch.text_axes("input_ids", "attention_mask", "hidden")
    two = {"num_hidden_layers": 2}
    for name, model in {
            "bert": t.BertModel(t.BertConfig(**two)),
            "deberta_v2": t.DebertaV2Model(t.DebertaV2Config(
                **two, hidden_size=768, num_attention_heads=12, intermediate_size=3072, relative_attention=True,
                pos_att_type=["p2c", "c2p"], position_buckets=256)),
            "mobilebert": t.MobileBertModel(t.MobileBertConfig(**two)),
            "roformer": t.RoFormerModel(t.RoFormerConfig(**two)),
            "squeezebert": t.SqueezeBertModel(t.SqueezeBertConfig(**two)),
    }.items():
        yield name, models_torch.Call(model, lambda m, i, a: (m(i, attention_mask=a)[0],)), (ids, ids), masked, axes
    for name, model in {
            "gpt2": t.GPT2Model(t.GPT2Config(n_layer=2)),
            "gpt_bigcode": t.GPTBigCodeModel(t.GPTBigCodeConfig(n_layer=2)),
            "gpt_neox": t.GPTNeoXModel(t.GPTNeoXConfig(**two, hidden_size=768, num_attention_heads=12, intermediate_size=3072)),
            "llama": t.LlamaModel(t.LlamaConfig(**two, hidden_size=1024, num_attention_heads=16, intermediate_size=2816)),
    }.items():
        call = models_torch.Call(model, lambda m, i, a: (m(i, attention_mask=a, use_cache=False)[0],))
        yield name, call, (ids, ids), masked, axes
    t5 = t.T5ForConditionalGeneration(t.T5Config(num_layers=2, decoder_start_token_id=0))
    call = models_torch.Call(t5, lambda m, e, d: (m(input_ids=e, decoder_input_ids=d, use_cache=False)[0],))
    yield "t5", call, (ids, ids[:, :4]), ["input_ids", "decoder_input_ids"], {
        "input_ids": {0: "batch", 1: "enc"}, "decoder_input_ids": {0: "batch", 1: "dec"}, "logits": {0: "batch", 1: "dec"}}
    sound = models_torch.Call(t.Wav2Vec2Model(t.Wav2Vec2Config(**two)), lambda m, x: (m(x)[0],))
    yield "wav2vec2", sound, (torch.zeros(2, 4000),), ["sound"], {
        "sound": {0: "batch", 1: "samples"}, "hidden": {0: "batch", 1: "frames"}}


def main():
    warnings.filterwarnings("ignore")
    folder, chosen = pathlib.Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for makers in (vision, language):
        for name, *what in makers(chosen):
            if not chosen or name in chosen:
                write(folder / f"{name}.onnx", *what)


if __name__ == "__main__":
    main()
