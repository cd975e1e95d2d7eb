"""A graph that grows node by node. Each node runs as soon as it is added, so that the draft always knows the true
type, shape and value of every tensor, and every finished graph is valid."""

import numpy as np
from onnx import helper, numpy_helper

from semantic.oracle import SHAPE_ONLY, Rejected, Sequence, model_of, reads

FLOATS = (np.float32, np.float32, np.float32, np.float64, np.float16)
INTS = (np.int64, np.int64, np.int32)
LARGEST, SMALLEST = 2**63 - 1, -(2**63)


class Draft:
    def __init__(self, rng, opset, oracle, prefix=""):
        self.rng, self.opset, self.oracle, self.prefix = rng, opset, oracle, prefix
        self.values = {}  # name: array or Sequence
        self.inputs = []  # names given at run time
        self.weights = []  # names stored in the file
        self.known = set()  # names whose values the file and the shapes tell
        self.perhaps = set()  # of graphs inside nodes and of sequences, which may hold no more than known ones
        self.nodes = []
        self.functions = []
        self.rejected = None  # the last node that the oracle refused, as a model
        self.count = 0

    # Sizes and values.

    def dim(self):
        return (
            self.rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5))
            if self.rng.random() < 0.3
            else self.rng.randint(1, 4)
        )

    def shape(self, rank=None, least=0, most=4):
        if rank is None:
            rank = self.rng.randint(least, most) if self.rng.random() < 0.95 else 6
            rank = max(rank, least)
        return [self.dim() for _ in range(rank)]

    def array(self, shape, dtype, low=-3, high=3):
        """Random content: whole numbers that every type holds exactly."""
        size = int(np.prod(shape, dtype=np.int64))
        if np.dtype(dtype) == np.bool_:
            data = [self.rng.random() < 0.5 for _ in range(size)]
        else:
            if np.dtype(dtype).kind == "u":
                low = max(low, 0)
            data = [self.rng.randint(low, high) for _ in range(size)]
        return np.array(data, dtype=dtype).reshape(shape)

    # Tensors.

    def name(self):
        self.count += 1
        return f"{self.prefix}t{self.count}"

    def input(self, value):
        name = self.name()
        self.values[name] = value
        self.inputs.append(name)
        return name

    def weight(self, value):
        name = self.name()
        self.values[name] = value
        self.weights.append(name)
        self.known.add(name)
        return name

    def fresh(self, shape=None, dtype=np.float32, stored=0.25, **limits):
        value = self.array(self.shape() if shape is None else shape, dtype, **limits)
        return self.weight(value) if self.rng.random() < stored else self.input(value)

    def matching(self, accept):
        return [n for n, v in self.values.items() if not isinstance(v, Sequence) and accept(v)]

    def pick(self, dtypes=(np.float32,), rank=None, least=0, accept=lambda v: True):
        """A tensor that the graph has already, more often the younger ones, or a new one."""
        kinds = {np.dtype(d) for d in dtypes}
        found = self.matching(
            lambda v: v.dtype in kinds and v.ndim >= least and (rank is None or v.ndim == rank) and accept(v)
        )
        if found and self.rng.random() < 0.75:
            return found[max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))]
        for _ in range(20):
            value = self.array(self.shape(rank, least), self.rng.choice(dtypes))
            if accept(value):
                return self.weight(value) if self.rng.random() < 0.25 else self.input(value)
        raise ValueError("nothing fits")

    def of(self, name):
        return self.values[name]

    # Nodes.

    def add(self, op, inputs, outputs=1, domain="", keep=None, **attributes):
        """Runs a node and keeps it; the names of its outputs ('' in `keep` omits one). Raises Rejected."""
        names = [self.name() for _ in range(outputs)]
        if keep is not None:
            names = [n if k else "" for n, k in zip(names, keep)]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        node = helper.make_node(
            op, inputs, names, name=f"{self.prefix}n{self.count}", domain=domain, **attributes
        )
        return self.place(node)

    def place(self, node):
        names = reads(node)
        weights = {
            n: self.values[n] for n in names if n in self.known and not isinstance(self.values[n], Sequence)
        }
        given = {n: self.values[n] for n in names if n not in weights}
        try:
            results = self.oracle.run(node, given, weights, self.opset, self.functions)
        except Rejected:
            self.rejected = model_of(
                [node], given, weights, [o for o in node.output if o], self.opset, self.functions
            )
            raise
        self.values.update(results)
        self.nodes.append(node)
        if all(n in self.known for n in names) or node.op_type in SHAPE_ONLY:
            self.known.update(results)
        elif (
            node.domain
            or any(a.HasField("g") for a in node.attribute)
            or any(isinstance(self.values[n], Sequence) for n in names)
            or self.perhaps.intersection(names)
        ):
            self.perhaps.update(results)
        outputs = [o for o in node.output]
        return outputs[0] if len(outputs) == 1 else outputs

    # Parameters: integers that inference has to know, written as exporters write them.

    def ints(self, values, dtype=np.int64):
        array = np.array(values, dtype=dtype)
        return self.known_array(array)

    def known_array(self, array):
        way = self.rng.random()
        if way < 0.55 or array.dtype not in (np.dtype(np.int64), np.dtype(np.int32)):
            return self.weight(array)
        if way < 0.65:
            return self.add("Constant", [], value=numpy_helper.from_array(array))
        if way < 0.72 and array.ndim == 1 and array.size > 1:
            cut = self.rng.randint(1, array.size - 1)
            return self.add("Concat", [self.weight(array[:cut]), self.ints(array[cut:], array.dtype)], axis=0)
        small = np.all(np.abs(array.astype(np.float64)) < 1000) and array.size
        if way < 0.80 and small:
            other = self.array(array.shape, array.dtype)
            op, rest = self.rng.choice((("Add", array - other), ("Sub", array + other)))
            return self.add(op, [self.weight(np.asarray(rest, array.dtype)), self.weight(other)])
        if way < 0.85 and small:
            other = np.int32 if array.dtype == np.int64 else np.int64
            return self.add(
                "Cast", [self.weight(array.astype(other))], to=helper.np_dtype_to_tensor_dtype(array.dtype)
            )
        if way < 0.92 and array.ndim == 1:
            around = np.concatenate([self.array([1], array.dtype), array, self.array([2], array.dtype)])
            index = self.weight(np.arange(1, 1 + array.size))
            return self.add("Gather", [self.weight(around), index], axis=0)
        if array.ndim == 1 and small and np.all(array >= 0) and array.dtype == np.int64:
            return (
                self.add("Shape", [self.input(np.zeros(array, np.float32))])
                if np.prod(array) < 5000
                else self.weight(array)
            )
        return self.weight(array)

    def model(self):
        outputs = [o for node in self.nodes for o in node.output if o]
        return model_of(
            self.nodes,
            {n: self.values[n] for n in self.inputs},
            {n: self.values[n] for n in self.weights},
            outputs,
            self.opset,
            self.functions,
        )
