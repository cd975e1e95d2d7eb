"""What a model knows before it runs: every tensor that no input's numbers reach. Such nodes are work that is done
once, when the model is loaded, and the estimator counts none of it. Shapes are known before the run as well; products
behind those of a model with open sizes run each time all the same (onnxruntime 1.2x keeps them at all levels of
optimization), and are counted.
"""

# Their results hold the sizes of their input, not its numbers.
SHAPES = {"Shape", "Size"}
# What they draw is new in every run.
RANDOM = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}


def _graphs(node):
    return [a.g for a in node.attribute if a.HasField("g")]


def open_sizes(graph):
    """Whether an input of a graph has a size that the file does not say."""
    stored = {t.name for t in graph.initializer}
    return any(not dim.HasField("dim_value") for value in graph.input if value.name not in stored
               for dim in value.type.tensor_type.shape.dim)


def _walk(graph, touched, sizes):
    """Adds the tensors of a graph that inputs reach; names of inner graphs are not used twice."""
    for node in graph.node:
        reached = node.op_type in RANDOM or any(name in touched for name in node.output) or (
            (sizes or node.op_type not in SHAPES) and any(name in touched for name in node.input))
        for inner in _graphs(node):
            # What a loop's body makes is what its next iteration starts from.
            if reached and node.op_type != "If":
                touched.update(value.name for value in inner.input)
            _walk(inner, touched, sizes)
            reached = reached or any(value.name in touched for value in inner.output)
        if reached:
            touched.update(name for name in node.output if name)


def reached(graph, sizes=False):
    """The names of all tensors that numbers from outside reach; those that sizes of inputs reach, too."""
    stored = {t.name for t in graph.initializer}
    touched = {value.name for value in graph.input if value.name not in stored}
    before = -1
    while before != len(touched):  # nodes may stand in any order, and loops go round
        before = len(touched)
        _walk(graph, touched, sizes)
    return touched
