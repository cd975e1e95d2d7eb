"""Single nodes of onnxruntime's contrib operators, as tables: (operator, attributes, inputs, outputs).

Inputs are types and shapes, "f32[2,4]"; "i32[2]{3,3}" gives the values; "_" leaves an optional input out. Weights
and parameters that the operators want as constants are written "w:f32[4,4]". Outputs are "y", or "_" for one
left out. Sizes: batch 2, sequence 4, width 16, 2 heads of 8.
"""

import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CASES = [
    # Activations and sums.
    ("Gelu", {}, "f32[2,4,16]", "y"),
    ("FastGelu", {}, "f32[2,4,16] f32[16]", "y"),
    ("FastGelu", {}, "f32[2,4,16]", "y"),
    ("QuickGelu", {"alpha": 1.7}, "f32[2,4,16]", "y"),
    ("BiasGelu", {}, "f32[2,4,16] f32[16]", "y"),
    # Normalization.
    ("SkipLayerNormalization", {}, "f32[2,4,16] f32[2,4,16] f32[16] f32[16] f32[16]", "y _ _ y"),
    ("SkipLayerNormalization", {}, "f32[2,4,16] f32[4,16] f32[16]", "y"),
    ("SkipSimplifiedLayerNormalization", {}, "f32[2,4,16] f32[2,4,16] f32[16]", "y _ _ y"),
    ("EmbedLayerNormalization", {},
     "i32[2,4]{0,1,2,3,4,5,6,7} i32[2,4]{0,0,0,0,1,1,1,1} f32[30,16] f32[10,16] f32[2,16] f32[16] f32[16] "
     "i32[2,4]{1,1,1,1,1,1,1,1}", "y y"),
    ("EmbedLayerNormalization", {},
     "i32[2,4]{0,1,2,3,4,5,6,7} _ f32[30,16] f32[10,16] _ f32[16] f32[16]", "y y"),
    # Attention.
    ("Attention", {"num_heads": 2}, "f32[2,4,16] f32[16,48] f32[48]", "y"),
    ("Attention", {"num_heads": 2}, "f32[2,4,16] f32[16,48] f32[48] _ f32[2,2,2,3,8]", "y y"),
    ("Attention", {"num_heads": 2, "unidirectional": 1}, "f32[2,4,16] f32[16,48] f32[48]", "y"),
    ("Attention", {"num_heads": 2, "qkv_hidden_sizes": [16, 16, 24]},
     "f32[2,4,16] f32[16,56] f32[56]", "y"),
    ("QAttention", {"num_heads": 2},
     "u8[2,4,16] w:u8[16,48] f32[48] f32[]{0.1} f32[]{0.1} _ u8[]{1} u8[]{1}", "y"),
    ("MultiHeadAttention", {"num_heads": 2}, "f32[2,4,16] f32[2,6,16] f32[2,6,24]", "y"),
    ("MultiHeadAttention", {"num_heads": 2},
     "f32[2,4,16] f32[2,4,16] f32[2,4,16] f32[48] _ f32[2,2,4,7] f32[2,2,3,8] f32[2,2,3,8]", "y y y"),
    ("MultiHeadAttention", {"num_heads": 2}, "f32[2,4,16] f32[2,2,6,8] f32[2,2,6,8]", "y"),
    ("GroupQueryAttention", {"num_heads": 4, "kv_num_heads": 2},
     "f32[2,1,32] f32[2,1,16] f32[2,1,16] f32[2,2,5,8] f32[2,2,5,8] i32[2]{5,5} i32[]{6}", "y y y"),
    ("GroupQueryAttention", {"num_heads": 4, "kv_num_heads": 2},
     "f32[2,4,64] _ _ f32[2,2,9,8] f32[2,2,9,8] i32[2]{3,3} w:i32[]{4}", "y y y"),
    ("DecoderMaskedMultiHeadAttention", {"num_heads": 2, "past_present_share_buffer": 1},
     "f32[2,1,16] f32[2,1,16] f32[2,1,16] _ _ f32[2,2,9,8] f32[2,2,9,8] i32[1]{3}", "y y y"),
    ("RotaryEmbedding", {}, "f32[2,4,16] i64[1]{0} f32[10,4] f32[10,4]", "y"),
    ("RotaryEmbedding", {"num_heads": 2, "rotary_embedding_dim": 4},
     "f32[2,4,16] i64[2,4]{0,1,2,3,0,1,2,3} f32[10,2] f32[10,2]", "y"),
    # Products.
    ("FusedMatMul", {"transB": 1, "alpha": 2.0}, "f32[2,4,16] f32[5,16]", "y"),
    ("FusedMatMul", {"transA": 1}, "f32[2,16,4] f32[2,16,5]", "y"),
    ("FusedGemm", {"activation": "Relu", "transB": 1}, "f32[4,16] f32[5,16] f32[5]", "y"),
    ("FusedConv", {"activation": "Relu", "kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
     "f32[2,4,8,8] f32[6,4,3,3] f32[6]", "y"),
    ("FusedConv", {"activation": "Relu", "kernel_shape": [3, 3], "strides": [2, 2]},
     "f32[2,4,9,9] f32[6,4,3,3] f32[6] f32[2,6,4,4]", "y"),
    ("MatMulNBits", {"K": 32, "N": 8, "bits": 4, "block_size": 16},
     "f32[2,4,32] w:u8[8,2,8] w:f32[16]", "y"),
    ("MatMulBnb4", {"K": 32, "N": 8, "quant_type": 1, "block_size": 16},
     "f32[2,4,32] w:u8[128] w:f32[16]", "y"),
    ("GatherBlockQuantized", {"block_size": 16, "bits": 4},
     "w:u4[10,32] i64[3]{0,4,9} w:f32[10,2]", "y"),
    ("MatMulInteger16", {}, "i16[2,4] i16[4,5]", "y"),
    ("DynamicQuantizeMatMul", {}, "f32[2,4,16] w:i8[16,5] w:f32[1] w:i8[1] f32[5]", "y"),
    ("MatMulIntegerToFloat", {}, "u8[4,16] w:u8[16,5] f32[]{0.1} w:f32[1] u8[]{0} w:u8[1] f32[5]", "y"),
    ("DynamicQuantizeLSTM", {"hidden_size": 4},
     "f32[3,2,5] w:i8[1,5,16] w:i8[1,4,16] f32[1,32] _ _ _ _ w:f32[1] w:i8[1] w:f32[1] w:i8[1]", "y y y"),
    # Quantized operators.
    ("QGemm", {}, "u8[4,16] f32[]{0.1} u8[]{1} w:u8[16,5] f32[]{0.1} u8[]{1} i32[5] f32[]{0.1} u8[]{1}", "y"),
    ("QGemm", {"transB": 1}, "u8[4,16] f32[]{0.1} u8[]{1} w:u8[5,16] f32[]{0.1} u8[]{1}", "y"),
    ("QLinearAdd", {}, "u8[2,4,8] f32[]{0.1} u8[]{1} u8[4,1] f32[]{0.1} u8[]{1} f32[]{0.1} u8[]{1}", "y"),
    ("QLinearMul", {}, "i8[2,4] f32[]{0.1} i8[]{1} i8[2,4] f32[]{0.1} i8[]{1} f32[]{0.1} i8[]{1}", "y"),
    ("QLinearConcat", {"axis": 1},
     "f32[]{0.1} u8[]{1} u8[2,3] f32[]{0.1} u8[]{1} u8[2,4] f32[]{0.2} u8[]{1}", "y"),
    ("QLinearGlobalAveragePool", {}, "u8[2,4,8,8] f32[]{0.1} u8[]{1} f32[]{0.1} u8[]{1}", "y"),
    ("QLinearAveragePool", {"kernel_shape": [2, 2], "strides": [2, 2]},
     "u8[2,4,8,8] f32[]{0.1} u8[]{1} f32[]{0.1} u8[]{1}", "y"),
    ("QLinearLeakyRelu", {"alpha": 0.1}, "u8[2,4] f32[]{0.1} u8[]{1} f32[]{0.1} u8[]{1}", "y"),
    ("QLinearSigmoid", {}, "u8[2,4] f32[]{0.1} u8[]{1} f32[]{0.1} u8[]{1}", "y"),
    ("QLinearSoftmax", {"axis": -1, "opset": 13},
     "u8[2,4] f32[]{0.1} u8[]{1} f32[]{0.004} u8[]{0}", "y"),
    ("QLinearWhere", {},
     "bool[2,4] u8[2,4] f32[]{0.1} u8[]{1} u8[4] f32[]{0.1} u8[]{1} f32[]{0.1} u8[]{1}", "y"),
    ("QuantizeLinear", {}, "f32[2,4] f32[]{0.1} i16[]{0}", "y"),
    ("DequantizeLinear", {}, "i16[2,4] f32[]{0.1} i16[]{0}", "y"),
    # Others.
    ("Inverse", {}, "f32[2,3,3]", "y"),
    ("Trilu", {}, "f32[2,4,4] i64[]{1}", "y"),
    ("ExpandDims", {}, "f32[2,3] w:i32[]{1}", "y"),
    ("CDist", {"metric": "euclidean"}, "f32[4,3] f32[5,3]", "y"),
    ("NGramRepeatBlock", {"ngram_size": 2}, "i64[2,4]{0,1,0,1,2,3,2,3} f32[2,10]", "y"),
    ("NhwcMaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}, "u8[2,8,8,4]", "y"),
    ("BiasAdd", {}, "f32[2,4,16] f32[16] f32[2,4,16]", "y"),
    ("BiasSplitGelu", {}, "f32[2,4,16] f32[16]", "y"),
    ("GroupNorm", {"groups": 2, "channels_last": 1, "activation": 0},
     "f32[2,8,8,4] f32[4] f32[4]", "y"),
    ("NhwcConv", {"kernel_shape": [3, 3]}, "f32[2,8,8,4] f32[6,3,3,4] f32[6]", "y"),
    ("GemmFastGelu", {}, "f32[2,4,16] f32[16,8] f32[8]", "y"),
    ("Rfft", {"normalized": 0, "onesided": 1, "signal_ndim": 1}, "f32[2,16]", "y"),
    ("Unique", {}, "f32[4]{1,2,3,4}", "y y y"),
    ("WordConvEmbedding", {"embedding_size": 5, "conv_window_size": 3, "char_embedding_size": 4},
     "i32[2,8] f32[5,1,3,4] f32[5] f32[100,4]", "y"),
    ("AttnLSTM", {"hidden_size": 5},
     "f32[3,2,4] f32[1,20,6] f32[1,20,5] _ _ _ _ _ f32[1,5,3] f32[1,6,3] f32[1,3] f32[2,7,6] _ f32[1,11,2]",
     "y y y"),
    ("BifurcationDetector", {}, "i64[7] i64[3] i64[]{0}", "y y"),
    ("ConvTransposeWithDynamicPads", {"strides": [2, 2], "kernel_shape": [3, 3]},
     "f32[1,3,4,4] f32[3,2,3,3] w:i64[4]{1,1,1,1}", "y"),
    ("MoE", {"k": 1, "activation_type": "relu"},
     "f32[4,16] f32[4,3] f32[3,32,16] _ f32[3,16,32] _", "y"),
]

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "i8": TensorProto.INT8,
         "u8": TensorProto.UINT8, "i16": TensorProto.INT16, "i32": TensorProto.INT32,
         "i64": TensorProto.INT64, "bool": TensorProto.BOOL, "u4": TensorProto.UINT4}


def _tensor(text, name, rng):
    """(TensorProto, whether it is a weight) of "w:f32[2,3]" or "i32[2]{3,3}"."""
    weight, kind, dims, values = re.fullmatch(r"(w:)?(\w+)\[([\d,]*)\](?:\{(.*)\})?", text).groups()
    shape = [int(d) for d in dims.split(",") if d]
    dtype = helper.tensor_dtype_to_np_dtype(TYPES[kind])
    if values:
        data = np.array([float(v) for v in values.split(",")]).reshape(shape).astype(dtype)
    elif np.issubdtype(dtype, np.floating):
        data = rng.standard_normal(shape).astype(dtype)
    else:
        data = rng.integers(0, 2, shape).astype(dtype)
    return numpy_helper.from_array(np.asarray(data), name), bool(weight)


def model(case):
    """The case as a model, and the feed of its inputs."""
    op, attributes, inputs, outputs = case
    rng = np.random.default_rng(0)
    names, infos, stored, feed = [], [], [], {}
    for i, text in enumerate(inputs.split()):
        if text == "_":
            names.append("")
            continue
        name = f"input_{i}"
        tensor, weight = _tensor(text, name, rng)
        names.append(name)
        if weight:
            stored.append(tensor)
        else:
            infos.append(helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims)))
            feed[name] = numpy_helper.to_array(tensor)
    results = [f"output_{i}" if o == "y" else "" for i, o in enumerate(outputs.split())]
    node = helper.make_node(op, names, results, op, domain="com.microsoft", **attributes)
    graph = helper.make_graph([node], op, infos,
                              [helper.make_empty_tensor_value_info(r) for r in results if r], stored)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feed
