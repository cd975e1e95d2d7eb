"""A small convolutional network as onnxruntime's quantization tools write it."""

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper


def float_network():
    """Convolutions (plain, depthwise, pointwise), a residual sum, pooling and a Gemm; batch `batch`."""
    rng = np.random.default_rng(0)
    weights = {"w1": (8, 3, 3, 3), "b1": (8,), "w2": (8, 1, 3, 3), "b2": (8,), "w3": (16, 8, 1, 1),
               "w4": (16, 8, 1, 1), "w5": (10, 16), "b5": (10,)}
    stored = [numpy_helper.from_array((rng.standard_normal(s) / 10).astype(np.float32), name)
              for name, s in weights.items()]
    stored += [numpy_helper.from_array(np.float32(v), n) for n, v in (("low", 0), ("high", 6))]
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], "c1", pads=[1] * 4, strides=[2, 2]),
        node("Relu", ["c1"], ["r1"], "r1"),
        node("Conv", ["r1", "w2", "b2"], ["c2"], "c2", pads=[1] * 4, group=8),
        node("Clip", ["c2", "low", "high"], ["r2"], "r2"),
        node("Conv", ["r2", "w3"], ["c3"], "c3"),
        node("Conv", ["r1", "w4"], ["c4"], "c4"),
        node("Add", ["c3", "c4"], ["a"], "a"),
        node("GlobalAveragePool", ["a"], ["g"], "g"),
        node("Flatten", ["g"], ["f"], "f"),
        node("Gemm", ["f", "w5", "b5"], ["y"], "y", transB=1),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "cnn", [info("x", TensorProto.FLOAT, ["batch", 3, 32, 32])],
                              [info("y", TensorProto.FLOAT, ["batch", 10])], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    return model


def quantize(source, folder, feed, prefix):
    """Dynamic, QDQ and QOperator versions of the model file `source`; yields their paths."""
    from onnxruntime import quantization as q

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.feeds = iter([feed])

        def get_next(self):
            return next(self.feeds, None)

    path = folder / f"{prefix}_dynamic.onnx"
    q.quantize_dynamic(source, path, weight_type=q.QuantType.QInt8)
    yield path
    for style in (q.QuantFormat.QDQ, q.QuantFormat.QOperator):
        for per_channel in (False, True):
            kind = style.name.lower() + ("_per_channel" if per_channel else "")
            path = folder / f"{prefix}_{kind}.onnx"
            q.quantize_static(source, path, Reader(), quant_format=style, per_channel=per_channel)
            yield path


def quantize_weights(source, path, style):
    """Four-bit block-quantized weights: MatMulNBits, or DequantizeLinear with blocks ("QDQ")."""
    import onnx.version_converter
    from onnxruntime.quantization import QuantFormat
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
    model = onnx.load(source)
    if style == "QDQ":  # blocks came with opset 21
        model = onnx.version_converter.convert_version(model, 21)
    quantizer = MatMulNBitsQuantizer(model, block_size=16, is_symmetric=True,
                                     quant_format=QuantFormat[style])
    quantizer.process()
    quantizer.model.save_model_to_file(str(path))
