"""What dlcost infers against what a run made: types, shapes, values and MACs, or an excuse."""

import re

import numpy as np

from semantic.excuses import excuse
from semantic.macs import Counter
from semantic.oracle import Sequence, reads

SHORT = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bool": "bool",
    "object": "string",
    "complex64": "c64",
    "complex128": "c128",
    "bfloat16": "bf16",
}


def short(dtype):
    text = np.dtype(dtype).name
    return SHORT.get(text) or (
        "string" if np.dtype(dtype).kind in "UT" else text.replace("uint", "u").replace("int", "i")
    )


class Finding(str):
    """One difference: its text, and the name of the node that makes it."""

    node = None


def finding(node, text):
    line = Finding(f"{node.op_type}: {text}")
    line.node = node.name
    return line


def _same_value(value, told):
    """Whether the elements that dlcost knows are the true ones (null stands for one that JSON cannot say)."""
    flat = value.reshape(-1).tolist()
    if len(flat) != len(told):
        return False
    for true, mine in zip(flat, told):
        if mine is None or true != true:  # not a number
            continue
        if isinstance(true, float):
            loose = {2: 5e-2, 4: 1e-4, 8: 1e-6}[value.dtype.itemsize]
            if abs(true - mine) > loose * max(1, abs(true)):
                return False
        elif int(true) != mine:
            return False
    return True


def _why_unknown(draft, answer, node):
    """The reason that dlcost gives for a node."""
    for row in answer["nodes"]:
        if row["name"] == node.name or row["name"].startswith(node.name + "/"):
            if row["why"]:
                return row["why"]
    return ""


class Comparison:
    def __init__(self):
        self.findings, self.excuses, self.compared, self.valued = [], [], 0, 0

    def tensor(self, draft, answer, node, name):
        value, told = draft.values[name], answer["tensors"].get(name)
        if told is None:
            self.findings.append(finding(node, f"{name} is missing"))
            return
        if isinstance(value, Sequence):
            if told["upper_bound"] and (told["elements"] or 0) >= len(value):
                self.excuses.append("sizes that depend on data: an upper bound")
            elif told["elements"] is not None and told["elements"] != len(value):
                self.findings.append(finding(node, f"{told['elements']} elements, want {len(value)}"))
            return
        self.compared += 1
        if told["dtype"] != short(value.dtype) and not (
            told["dtype"] == "undefined" and told["shape"] is None
        ):
            self.findings.append(finding(node, f"type {told['dtype']}, want {short(value.dtype)}"))
        shape = list(value.shape)
        if told["shape"] is None:
            self.unknown(draft, answer, node, name)
        elif told["upper_bound"]:
            if len(shape) != len(told["shape"]) or any(s > t for s, t in zip(shape, told["shape"])):
                self.findings.append(finding(node, f"at most {told['shape']}, is {shape}"))
            else:
                self.excuses.append("sizes that depend on data: an upper bound")
        elif told["shape"] != shape:
            self.findings.append(finding(node, f"shape {told['shape']}, want {shape}"))
        elif told["value"] is not None and value.dtype != np.object_:
            self.valued += 1
            if not _same_value(value, told["value"]):
                self.findings.append(
                    finding(node, f"value {told['value'][:8]}, want {value.reshape(-1).tolist()[:8]}")
                )

    def unknown(self, draft, answer, node, name):
        why = _why_unknown(draft, answer, node)
        blamed = re.search(r"the (?:value|shape|type|elements?|length) of '([^']*)'", why)
        if blamed and blamed[1] in draft.values and blamed[1] not in draft.known:
            self.excuses.append(f"{node.op_type}: decided by what only the run knows")
        elif any(n not in draft.known for n in reads(node)) and ("run time" in why or "data" in why):
            self.excuses.append(f"{node.op_type}: decided by what only the run knows")
        elif any(t and t["shape"] is None for t in (answer["tensors"].get(n) for n in reads(node))):
            self.excuses.append("behind a shape that is not known")
        elif any(t and t["upper_bound"] for t in (answer["tensors"].get(n) for n in reads(node))):
            self.excuses.append("sizes that depend on data: bounds that do not fit each other")
        else:
            self.findings.append(
                finding(node, f"{name} has no shape ({re.sub(chr(39) + '.*?' + chr(39), 'X', why)})")
            )

    def macs(self, draft, answer, node, counter):
        rows = [r for r in answer["nodes"] if r["name"] == node.name or r["name"].startswith(node.name + "/")]
        mine = sum(r["macs"] for r in rows)
        want = counter.node(node, draft.values, draft.known)
        if want is None or mine == want:
            return
        if any(r["upper_bound"] for r in rows) and mine >= want:
            self.excuses.append("MACs of upper bounds")
        elif (
            mine == 0
            and draft.perhaps.intersection(reads(node))
            and all(r["status"] == "metadata" for r in rows)
        ):
            self.excuses.append("known behind a graph that reads nothing of the run")
        elif any(r["status"] == "unknown" for r in rows):
            self.excuses.append("MACs of what is unknown")
        else:
            self.findings.append(finding(node, f"{mine} MACs, want {want}"))


def compare(draft, answer):
    """A Comparison of a draft and dlcost's answer."""
    result = differences(draft, answer)
    by_name = {node.name: node for node in draft.nodes}
    reasons = {}  # of nodes, and of everything that follows from them
    for line in result.findings:
        reason = excuse(draft, by_name.get(line.node), line)
        if reason is not None:
            reasons.setdefault(line.node, reason)
    for node in draft.nodes:
        made = {o for n in draft.nodes if n.name in reasons for o in n.output}
        if made & set(reads(node)):
            reasons.setdefault(node.name, "behind something excused")
    result.excuses += reasons.values()
    left = [line for line in result.findings if line.node not in reasons]
    result.findings = left
    return result


def differences(draft, answer):
    """A Comparison that excuses nothing yet but upper bounds and what only the run knows."""
    result = Comparison()
    for key in ("crash", "error"):
        if key in answer:
            line = Finding(f"{key}: {answer[key]}")
            named = re.search(r"node '([^'/]*)", answer[key])
            line.node = named[1] if named else None
            result.findings.append(line)
            return result
    counter = Counter(draft.oracle, draft.opset, draft.functions)
    for node in draft.nodes:
        for name in node.output:
            if name:
                result.tensor(draft, answer, node, name)
        result.macs(draft, answer, node, counter)
    return result
