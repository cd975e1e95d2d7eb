"""What a run in onnxruntime really does: the shapes of every tensor that it makes, and the multiply-accumulates
of every node as often as it runs, from the profile of a run with all graph optimizations off.
"""

import dataclasses
import json
import pathlib

import onnx
import onnxruntime
from onnx import helper, inliner

import mac_formulas

# onnxruntime's names of element types, and the estimator's.
DTYPES = {"float": "f32", "float16": "f16", "double": "f64", "bfloat16": "bf16", "bool": "bool", "string": "string"} | {
    f"{long}{bits}": f"{short}{bits}" for long, short in (("int", "i"), ("uint", "u")) for bits in (4, 8, 16, 32, 64)}
EVENT = "_kernel_time"


@dataclasses.dataclass
class Run:
    """A run: {tensor: [dtype, shape]} where it is the same whenever its node runs, {first output: (op, macs)},
    the outputs of nodes that ran, and the model as it ran."""
    tensors: dict
    macs: dict
    nodes: set
    model: onnx.ModelProto


def _graphs(node):
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _named(graph, nodes):
    """Gives every node, those of inner graphs too, a name of its own: {name: node}."""
    for node in graph.node:
        node.name = f"@{len(nodes)}"
        nodes[node.name] = node
        for inner in _graphs(node):
            _named(inner, nodes)
    return nodes


def prepared(model):
    """The model with local functions written out and every node named: (model, {name: node})."""
    if model.functions:
        model = inliner.inline_local_functions(model)
    del model.graph.value_info[:]
    return model, _named(model.graph, {})


def _session(path, prefix):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_prepacking", "1")  # else weights have no shape
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.enable_profiling = True
    options.profile_file_prefix = str(prefix)
    return onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])


def _events(path):
    """(name of the node, input shapes, [dtype, shape] of outputs) of every run of a node."""
    events = json.loads(path.read_text())
    path.unlink()
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith(EVENT):
            arguments = event["args"]
            inputs = [list(s.values())[0] for s in arguments["input_type_shape"]]
            outputs = [list(*s.items()) for s in arguments["output_type_shape"]]
            yield event["name"].removesuffix(EVENT), arguments["op_name"], inputs, outputs


def _by_position(names, found):
    """Shapes of the operands that are there, at the places of their names."""
    left = iter(found)
    return [next(left, None) if name else None for name in names]


def _attributes(node):
    plain = {a.name: helper.get_attribute_value(a) for a in node.attribute if not a.ref_attr_name}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in plain.items()}


def run(model, feed, work):
    """The Run of a model (a ModelProto that may be changed) on a feed."""
    model, nodes = prepared(model)
    path = pathlib.Path(work) / "probe.onnx"
    onnx.save(model, str(path))
    session = _session(path, path.with_name("profile"))
    session.run(None, feed)
    tensors, differs, counted, ran = {}, set(), {}, set()
    for name, op, inputs, outputs in _events(pathlib.Path(session.end_profiling())):
        node = nodes.get(name)
        if node is None:  # onnxruntime itself put it in, or wrote out an operator as a function
            if mac_formulas.macs_possible(op):
                raise RuntimeError(f"a node that the file does not have multiplies: {name} ({op})")
            continue
        ran.add(name)
        names = [o for o in node.output if o]
        if len(names) == len(outputs):  # sequences and optionals have no shape
            for tensor, (dtype, shape) in zip(names, outputs):
                known = tensors.setdefault(tensor, [DTYPES.get(dtype, dtype), shape])
                if known[1] != shape:
                    differs.add(tensor)
        count = mac_formulas.macs(node.op_type, node.domain, _attributes(node), _by_position(node.input, inputs),
                                  [shape for _, shape in outputs])
        if count is not None:
            before = counted.get(names[0], (None, 0))[1]
            counted[names[0]] = (node.op_type, before + count)
    for tensor in differs:
        del tensors[tensor]
    return Run(tensors, counted, {tuple(nodes[name].output) for name in ran}, model)
