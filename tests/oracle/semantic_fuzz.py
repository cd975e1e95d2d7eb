"""Random valid graphs: types, shapes, values and MACs that dlcost infers, against a run of every node.

Graph N of a seed is always the same. What the oracle refuses dlcost may refuse too, but it must answer.

usage: semantic_fuzz.py SHAPES_OF [--count N] [--first N] [--seed S] [--keep FOLDER]
"""

import argparse
import collections
import multiprocessing
import os
import pathlib
import resource
import traceback

import onnx

import harness
from semantic import generator, seeds, shrink
from semantic.compare import compare
from semantic.oracle import Oracle
from semantic.subject import Subject

SAMPLE = 3000
PATIENCE = 25  # seconds for one graph, dlcost's and the oracle's time together
MEMORY = 8 << 30


def examine(number, arguments, oracle, subject):
    """(findings as (kind, text, model), excuses, tensors compared, values compared, nodes) of one graph."""
    findings = []

    def refused(model):
        answer = subject.ask(model)
        if "crash" in answer:
            findings.append(
                (
                    f"crash on an invalid {model.graph.node[0].op_type}",
                    answer["crash"],
                    model.SerializeToString(),
                )
            )

    draft = generator.generate(arguments.seed, number, oracle, refused)
    if not draft.nodes:
        return findings, [], 0, 0, 0
    result = compare(draft, subject.ask(draft.model()))
    for line in result.findings[:1]:
        small = shrink.shrink(draft, subject, line)
        findings.append(
            (
                shrink.kind(line),
                f"graph {number}, opset {draft.opset}: {line}",
                small.model().SerializeToString(),
            )
        )
    return findings, result.excuses, result.compared, result.valued, len(draft.nodes)


def work(numbers, arguments, pipe):
    """Examines graphs in a process of its own, as an oracle may crash or not come back."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    oracle, subject = Oracle(), Subject(arguments.program)
    for number in numbers:
        pipe.send(("at", number))
        try:
            pipe.send(("done", examine(number, arguments, oracle, subject)))
        except Exception:  # pylint: disable=broad-except
            pipe.send(("broken", f"graph {number}: {traceback.format_exc()}"))
            return
    pipe.send(("end", oracle.answers))


def results(arguments):
    """What workers send, one after the other; ("lost", number) for a graph that took its worker along."""
    first, last = arguments.first, arguments.first + arguments.count
    while first < last:
        mine, theirs = multiprocessing.Pipe()
        worker = multiprocessing.Process(
            target=work, args=(range(first, min(last, first + 2000)), arguments, theirs)
        )
        worker.start()
        theirs.close()
        number = first
        try:
            while mine.poll(PATIENCE):
                kind, content = mine.recv()
                if kind == "at":
                    number = content
                    continue
                if kind == "broken":  # a mistake of this program
                    raise RuntimeError(content)
                yield kind, content
                if kind == "end":
                    break
            else:
                yield "lost", number
        except EOFError:
            yield "lost", number
        worker.kill()
        worker.join()
        first = number + 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=int(os.environ.get("DLCOST_SEMANTIC_GRAPHS", SAMPLE)))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    checks = harness.Checks("random graphs")
    seeds.by_operator()  # once, before the workers take copies
    found, answers, sums = {}, collections.Counter(), collections.Counter()
    for kind, content in results(arguments):
        if kind == "lost":
            checks.excuse(str(content), "the oracle crashed or did not come back")
            checks.note(f"lost: graph {content}")
        elif kind == "end":
            answers.update(content)
        else:
            findings, excuses, compared, valued, nodes = content
            sums.update({"nodes": nodes, "types and shapes": compared, "values": valued})
            for why in set(excuses):
                checks.excuse("", why)
            if not findings:
                checks.check("graph", [])
            for name, text, model in findings:
                if name not in found:  # told at once, as a long run may be stopped
                    print(f"[  FOUND   ] {text}", flush=True)
                found.setdefault(name, []).append((text, model))
    for name, cases in sorted(found.items(), key=lambda item: -len(item[1])):
        text, model = min(cases, key=lambda case: len(case[1]))
        parsed = onnx.load_from_string(model)
        weights = {t.name: onnx.numpy_helper.to_array(t).tolist() for t in parsed.graph.initializer}
        lines = [onnx.printer.to_text(n) for n in parsed.graph.node]
        checks.check(
            f"{len(cases)} x {name}",
            [
                text,
                ", ".join(f"{i.name}: {shrink.type_text(i)}" for i in parsed.graph.input),
                ", ".join(f"{k}={v}" for k, v in weights.items())[:300],
                *lines,
            ],
        )
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            (arguments.keep / f"{len(checks.failures)}.onnx").write_bytes(model)
    checks.note(f"compared: {dict(sums)}; nodes run: {dict(answers)}")
    checks.finish()


if __name__ == "__main__":
    main()
