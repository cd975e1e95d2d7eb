"""The formulas that the comparisons with real runs stand on, against counts made by hand.

usage: mac_formulas_test.py
"""

import harness
import mac_formulas

MS = "com.microsoft"
# (what, operator, domain, attributes, input shapes, output shapes, MACs written out)
CASES = [
    ("3x3 filters, groups of 2 channels", "Conv", "", {"group": 2}, [[1, 4, 5, 5], [6, 2, 3, 3]], [[1, 6, 3, 3]],
     6 * 9 * 2 * 9),
    ("filters go over inputs", "ConvTranspose", "", {}, [[2, 3, 4, 4], [3, 5, 2, 2]], [[2, 5, 8, 8]], 2 * 3 * 16 * 5 * 4),
    ("quantized: the weight is the fourth", "QLinearConv", "",
     {}, [[1, 2, 4], [], [], [3, 2, 3], [], [], [], []], [[1, 3, 2]], 3 * 2 * 2 * 3),
    ("vector times matrix", "MatMul", "", {}, [[4], [4, 5]], [[5]], 20),
    ("batch dimensions broadcast", "MatMul", "", {}, [[2, 1, 3, 4], [7, 4, 5]], [[2, 7, 3, 5]], 14 * 60),
    ("turned operands", "Gemm", "", {"transA": 1, "transB": 1}, [[4, 3], [5, 4]], [[3, 5]], 60),
    ("turned on the way in", "FusedMatMul", MS, {"transB": 1}, [[2, 3, 4], [2, 5, 4]], [[2, 3, 5]], 2 * 60),
    ("a product", "Einsum", "", {"equation": "bij,bjk->bik"}, [[2, 3, 4], [2, 4, 5]], [[2, 3, 5]], 2 * 60),
    ("three operands in two pairs", "Einsum", "", {"equation": "ij,jk,kl->il"}, [[2, 3], [3, 4], [4, 5]], [[2, 5]],
     2 * 3 * 4 + 2 * 4 * 5),
    ("leading dimensions", "Einsum", "", {"equation": "...ij,jk"}, [[7, 2, 3], [3, 4]], [[7, 2, 4]], 7 * 24),
    ("two directions", "LSTM", "", {}, [[5, 2, 3], [2, 16, 3], [2, 16, 4]], [], 2 * 5 * 2 * 4 * 4 * (3 + 4)),
    ("batch first", "GRU", "", {"layout": 1}, [[2, 5, 3], [1, 12, 3], [1, 12, 4]], [], 5 * 2 * 3 * 4 * 7),
    ("weights stored turned", "DynamicQuantizeLSTM", MS, {"hidden_size": 4}, [[5, 2, 3], [1, 3, 16], [1, 4, 16]], [],
     5 * 2 * 4 * 4 * 7),
    ("heads apart, 3 keys before", "Attention", "", {}, [[1, 2, 4, 8], [1, 2, 4, 8], [1, 2, 4, 6], None, [1, 2, 3, 8]],
     [], 2 * 4 * 7 * (8 + 6)),
    ("projection and products", "Attention", MS, {"num_heads": 2}, [[1, 4, 8], [8, 24]], [], 4 * 8 * 24 + 4 * 4 * 16),
    ("k and v in one", "MultiHeadAttention", MS, {"num_heads": 2}, [[1, 4, 8], [1, 5, 2, 2, 4]], [], 2 * 4 * 5 * 8),
    ("the present is looked at", "GroupQueryAttention", MS, {"num_heads": 4, "kv_num_heads": 2},
     [[1, 1, 16], [1, 1, 8], [1, 1, 8]], [[1, 1, 16], [1, 2, 9, 4]], 4 * 9 * 8),
    ("4-bit weights", "MatMulNBits", MS, {"K": 32, "N": 5}, [[2, 3, 32], [5, 1, 16], [5]], [], 6 * 32 * 5),
    ("coefficients of more classes than intercepts", "LinearClassifier", "ai.onnx.ml",
     {"coefficients": [1.0] * 12, "intercepts": [1.0] * 3}, [[3, 2]], [[3], [3, 3]], 18),
    ("no product", "Relu", "", {}, [[4]], [[4]], None),
]


def main():
    checks = harness.Checks("formulas of multiply-accumulates")
    for what, op, domain, attributes, shapes, outputs, want in CASES:
        checks.equal(f"{op}: {what}", mac_formulas.macs(op, domain, attributes, shapes, outputs), want)
    checks.finish()


if __name__ == "__main__":
    main()
