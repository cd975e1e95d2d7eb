"""A function of onnxscript that calls another one; onnxscript wants their names at the top of a file."""

import onnxscript
from onnxscript import FLOAT, opset18 as op


@onnxscript.script(onnxscript.values.Opset("here", 1), default_opset=op)
def inner(x, y):
    return op.Relu(op.MatMul(x, y))


@onnxscript.script()
def outer(x: FLOAT["batch", 256], y: FLOAT[256, 64]) -> FLOAT["batch", 64]:
    return inner(x, y)
