"""What really happens: one node, run by ONNX Runtime, or by onnx's reference evaluator where that has no kernel."""

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

DOMAIN = "local"  # of the functions that generated models define
SHAPE_ONLY = {"Shape", "Size", "EyeLike"}  # operators that read the shape alone of what they are given
MOST_ELEMENTS = 20_000  # larger results would only make every later node slow


class Rejected(Exception):
    """The node is not valid on these inputs, or too large to be of use."""


class Sequence(list):
    """The arrays of a sequence, with the type that its elements share."""

    def __init__(self, arrays, dtype):
        super().__init__(arrays)
        self.dtype = dtype


def ir_version(opset):
    """The first IR version that may import an opset, or a later one that every tool reads."""
    return max(8, onnx.helper.find_min_ir_version_for([helper.make_opsetid("", opset)]))


def elem_type(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def value_info(name, value):
    if isinstance(value, Sequence):
        return helper.make_tensor_sequence_value_info(name, elem_type(value.dtype), None)
    return helper.make_tensor_value_info(name, elem_type(value.dtype), value.shape)


def model_of(nodes, inputs, weights, outputs, opset, functions=()):
    """A model; `inputs` and `weights` are {name: value}, `outputs` names."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [value_info(n, v) for n, v in inputs.items()],
        [helper.make_empty_tensor_value_info(n) for n in outputs],
        [numpy_helper.from_array(v, n) for n, v in weights.items()],
    )
    imports = [
        helper.make_opsetid("", opset),
        helper.make_opsetid(DOMAIN, 1),
        helper.make_opsetid("com.microsoft", 1),
        helper.make_opsetid("ai.onnx.ml", 3),
    ]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version(opset), functions=functions)


def _names(graph, defined):
    """Names that a graph reads and does not define."""
    defined = defined | {i.name for i in graph.input} | {t.name for t in graph.initializer}
    for node in graph.node:
        yield from (n for n in reads(node) if n not in defined)
        defined |= set(node.output)
    yield from (o.name for o in graph.output if o.name not in defined)


def reads(node):
    """Names that a node reads, those that its graphs capture included, each once."""
    found = [n for n in node.input if n]
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            found += _names(graph, set())
    return list(dict.fromkeys(found))


def _session_options():
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    return options


OPTIONS = _session_options()


def _as_value(value, type_text):
    if isinstance(value, list):
        kind = type_text.removeprefix("seq(tensor(").removesuffix("))")
        dtype = {
            "float": np.float32,
            "double": np.float64,
            "string": np.object_,
            "float16": np.float16,
            "bool": np.bool_,
        }.get(kind) or np.dtype(kind)
        return Sequence([np.asarray(v) for v in value], dtype)
    if isinstance(value, np.ndarray) or np.isscalar(value):
        return np.asarray(value)
    raise Rejected(f"a result of type {type(value)}")


def _runtime(model, inputs):
    session = onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS, ["CPUExecutionProvider"])
    results = session.run(None, {k: list(v) if isinstance(v, Sequence) else v for k, v in inputs.items()})
    return [_as_value(v, o.type) for v, o in zip(results, session.get_outputs())]


def _errs_in_loops(graph):
    """The evaluator takes the absent condition of a Loop for false."""
    return any(
        (node.op_type == "Loop" and not node.input[1])
        or any(a.type == onnx.AttributeProto.GRAPH and _errs_in_loops(a.g) for a in node.attribute)
        for node in graph.node
    )


def _reference(model, inputs):
    """The evaluator runs much that the specification forbids: the strict checks come first."""
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    if _errs_in_loops(model.graph):
        raise Rejected("a Loop that the evaluator runs wrongly")
    results = ReferenceEvaluator(model).run(None, dict(inputs))
    return [_as_value(v, "") for v in results]


class Oracle:
    """Counts who answered."""

    def __init__(self):
        self.answers = {"runtime": 0, "reference": 0, "rejected": 0}

    def run(self, node, inputs, weights, opset, functions=()):
        """Values of the node's outputs, in their order without the omitted ones."""
        outputs = [o for o in node.output if o]
        model = model_of([node], inputs, weights, outputs, opset, functions)
        try:
            values, who = _runtime(model, inputs), "runtime"
        except Rejected:
            raise
        except Exception as error:  # pylint: disable=broad-except
            if "NOT_IMPLEMENTED" not in str(error):
                self.answers["rejected"] += 1
                raise Rejected(str(error)) from error
            try:
                values, who = _reference(model, inputs), "reference"
            except Exception as inner:  # pylint: disable=broad-except
                self.answers["rejected"] += 1
                raise Rejected(str(inner)) from inner
        self.answers[who] += 1
        for value in values:
            if not isinstance(value, Sequence) and value.size > MOST_ELEMENTS:
                raise Rejected("too large")
        return dict(zip(outputs, values))
