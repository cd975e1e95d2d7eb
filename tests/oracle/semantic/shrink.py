"""The smallest part of a draft that still shows a finding: nodes are dropped, and what they made is given instead."""

import copy

from semantic.compare import compare
from semantic.oracle import reads


def kind(finding):
    """Two findings are the same when they differ in names and numbers alone."""
    import re  # pylint: disable=import-outside-toplevel

    return re.sub(r"'[^']*'|-?\d+|\[[^\]]*\]|\bt\d+", "#", str(finding))[:160]


def part(draft, nodes):
    """The draft with these nodes alone; everything else that they read becomes a weight or an input."""
    small = copy.copy(draft)
    small.nodes = nodes
    made = {o for node in nodes for o in node.output}
    read = [n for n in dict.fromkeys(n for node in nodes for n in reads(node)) if n not in made]
    small.weights = [
        n
        for n in read
        if n in draft.known
        and hasattr(draft.values[n], "dtype")
        and type(draft.values[n]).__name__ != "Sequence"
    ]
    small.inputs = [n for n in read if n not in small.weights]
    return small


def shrink(draft, subject, wanted):
    """A smaller draft with a finding of the same kind; the draft itself when none has it."""

    def shows(nodes):
        smaller = part(draft, nodes)
        return any(kind(f) == kind(wanted) for f in compare(smaller, subject.ask(smaller.model())).findings)

    nodes = list(draft.nodes)
    alone = [n for n in nodes if n.name == wanted.node]
    if alone and shows(alone):
        return part(draft, alone)
    for node in list(nodes):
        rest = [n for n in nodes if n is not node]
        if rest and shows(rest):
            nodes = rest
    return part(draft, nodes)


def type_text(value):
    tensor = value.type.tensor_type
    return (
        f"{tensor.elem_type}{[d.dim_value for d in tensor.shape.dim]}"
        if value.type.HasField("tensor_type")
        else "sequence"
    )
