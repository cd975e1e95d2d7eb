"""Parameters and weight bytes of a model, summed over the tensors of its file.

A parameter is a number that the run computes with: a floating-point tensor, or integers that stand for reals: 8 bits
and less, and wider ones that go into a product or a DequantizeLinear. It counts once, where a node that works on the input's
numbers reads it, itself or after nodes that are done when the model is loaded. Scalars, indices and shapes are none.
Zeros that a file does not spell out (ConstantOfShape) are as good as stored; classical models hold their numbers in
attributes.
"""

from math import prod

from onnx import TensorProto, helper

FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16, TensorProto.COMPLEX64}
SMALL = {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT4, TensorProto.UINT4}
WIDE = {TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32}  # and biases; 64 bits are sizes and places
PRODUCTS = {"Conv", "ConvTranspose", "ConvInteger", "MatMul", "MatMulInteger", "Gemm", "QLinearConv", "QLinearMatMul",
            "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QAttention", "DynamicQuantizeLSTM", "QGemm"}
# Operands that say where, not what, by position.
PLACES = {"Gather": [1], "GatherElements": [1], "GatherND": [1], "ScatterND": [1], "ScatterElements": [1], "Where": [0],
          "Slice": [1, 2, 3, 4], "Reshape": [1], "Expand": [1], "Tile": [1], "Unsqueeze": [1], "Squeeze": [1],
          "Pad": [1], "Split": [1]}
# A decision of a tree is a threshold, and a feature and two links of 4 bytes; a vote is a target and a weight.
LINK_BYTES, VOTE_BYTES = 12, 8
IN_ATTRIBUTES = {"coefficients", "intercepts", "support_vectors", "rho", "prob_a", "prob_b"}
# Inputs that say how an operator works, and are no parameters wherever they are stored.
SETTINGS = {"Resize": [1, 2], "Upsample": [1], "NonMaxSuppression": [3, 4]}


def _constant(node):
    """(type, dims) of a Constant node's tensor."""
    value = node.attribute[0]
    if value.name == "value":
        return value.t.data_type, list(value.t.dims)
    number = helper.get_attribute_value(value)
    kind = TensorProto.FLOAT if "float" in value.name else TensorProto.INT64
    return kind, [len(number)] if isinstance(number, (list, tuple)) else []


def _bits(kind):
    if kind in (TensorProto.INT4, TensorProto.UINT4):
        return 4
    return helper.tensor_dtype_to_np_dtype(kind).itemsize * 8


def _held(node):
    """(numbers, bytes) in the attributes of a node of ai.onnx.ml."""
    if node.domain != "ai.onnx.ml":
        return 0, 0
    attributes = {a.name: a for a in node.attribute}
    if node.op_type == "TreeEnsemble":
        splits = attributes["nodes_splits"].t
        decisions, votes = prod(splits.dims), prod(attributes["leaf_weights"].t.dims)
        return decisions + votes, decisions * (LINK_BYTES + _bits(splits.data_type) // 8) + votes * VOTE_BYTES
    if node.op_type.startswith("TreeEnsemble"):
        decisions = sum(mode != b"LEAF" for mode in attributes["nodes_modes"].strings)
        votes = sum(len(a.floats) for name, a in attributes.items() if name in ("class_weights", "target_weights"))
        return decisions + votes, decisions * (LINK_BYTES + 4) + votes * VOTE_BYTES
    if not node.op_type.startswith(("Linear", "SVM")):
        return 0, 0
    numbers = sum(len(a.floats) for name, a in attributes.items() if name in IN_ATTRIBUTES)
    return numbers, 4 * numbers


class _Counter:
    def __init__(self, run, touched):
        self.run, self.touched = run, touched
        self.stored, self.makers, self.seen = {}, {}, {}
        self.held, self.numbers = [0, 0], {}

    def visit(self, graph):
        """Inner graphs see the outer one's names; the names of a model differ."""
        for tensor in graph.initializer:
            self.stored[tensor.name] = (tensor.data_type, list(tensor.dims), False)
        for node in graph.node:
            if node.op_type == "Constant":
                self.stored[node.output[0]] = (*_constant(node), True)
            elif node.output and not any(name in self.touched for name in node.output):
                self.makers.update({name: node for name in node.output})
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    self.visit(attribute.g)
            if tuple(node.output) in self.run.nodes and any(name in self.touched for name in node.output):
                self.held = [a + b for a, b in zip(self.held, _held(node))]
                if node.op_type == "MatMulNBits":
                    self.packed(node)
                settings = SETTINGS.get(node.op_type, [])
                operands = [name for i, name in enumerate(node.input) if i not in settings]
                for name in [*operands, *self.handed_out(node)]:
                    self.read(name, node.op_type in PRODUCTS or node.op_type == "DequantizeLinear")

    def packed(self, node):
        """Elements of the weight hold two numbers of four bits, and rows are padded to whole blocks."""
        a = {a.name: a.i for a in node.attribute}
        self.numbers[node.input[1]] = a["N"] * a["K"]
        if len(node.input) > 3 and node.input[3]:
            self.numbers[node.input[3]] = a["N"] * -(-a["K"] // a["block_size"])

    def handed_out(self, node):
        """What the branch that ran gives to the outside as it found it; one of two that consist of weights alone."""
        branches = [a.g for a in node.attribute] if node.op_type == "If" else []
        ran = [graph for graph in branches if all(
            tuple(inner.output) in self.run.nodes or inner.op_type == "Constant" for inner in graph.node)]
        return [value.name for value in ran[0].output] if ran else []

    def zeros(self, name, maker):
        """Stands for stored zeros when the file alone says how many."""
        pending = list(maker.input)
        while pending:
            operand = pending.pop()
            if operand in self.stored:
                continue
            source = self.makers.get(operand)
            if source is None:
                return
            pending += source.input
        kind = maker.attribute[0].t.data_type if maker.attribute else TensorProto.FLOAT
        if kind in FLOATS:
            self.stored[name] = (kind, self.run.tensors[name][1], False)

    def read(self, name, computes):
        pending = [(name, computes)]
        while pending:
            name, computes = pending.pop()
            if self.seen.get(name, None) in (True, computes):
                continue
            self.seen[name] = computes
            maker = self.makers.get(name)
            if maker is None:
                continue
            if maker.op_type == "ConstantOfShape":
                self.zeros(name, maker)
                continue
            computes = computes or maker.op_type == "DequantizeLinear"
            places = PLACES.get(maker.op_type, [])
            pending += [(n, computes and i not in places) for i, n in enumerate(maker.input) if n]

    def total(self):
        parameters, size = self.held
        for name, computes in self.seen.items():
            if name not in self.stored:
                continue
            kind, dims, constant = self.stored[name]
            count = prod(dims)
            number = kind in FLOATS or kind in SMALL or (computes and kind in WIDE)
            if not number or not dims or (constant and count == 1):
                continue
            parameters += self.numbers.get(name, count)
            size += (count * _bits(kind) + 7) // 8
        return parameters, size


def weights(model, run, touched):
    """(parameters, bytes) of a model that ran."""
    counter = _Counter(run, touched)
    counter.visit(model.graph)
    return counter.total()
