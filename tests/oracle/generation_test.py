"""Text generation of onnxruntime: the multiply-accumulates of every run of its subgraphs, as the
profile of a real run shows them, and the shapes of the outputs.

usage: generation_test.py DLCOST WORK_FOLDER
"""

import json
import math
import pathlib
import sys

import numpy as np
import onnxruntime
from onnx import numpy_helper, parser

import harness
import onnx_models
from estimator import Estimator, EstimatorError, unknown

# What follows token ids: an embedding of 8, new keys of 2 heads, scores of 10 words. Undefined names are weights.
TOKENS = """e = Gather(words, {ids}) h = MatMul(e, project) logits = MatMul(h, score)
    split = Reshape(h, heads) new = Transpose<perm = [0,2,1,3]>(split)"""
WEIGHTS = "float[10,8] words, float[8,8] project, float[8,10] score, int64[4] heads = {0,0,2,4}"
LOOK = """turned = Transpose<perm = [0,1,3,2]>({keys}) looked = MatMul(new, turned)
    looked_at = ReduceSum(looked) """

GPT = """decoder = d (int32[rows, tokens] input_ids, int32[rows, tokens] position_ids,
      int32[rows, keys] attention_mask, float[2, rows, 2, past, 4] past_0)
      => (float[rows, tokens, 10] logits, float[2, rows, 2, keys, 4] present_0)
      <""" + WEIGHTS + """, int64[1] front = {0}, int64 first = {0}> {
    """ + TOKENS.format(ids="input_ids") + """
    one_new = Unsqueeze(new, front) both = Concat<axis = 0>(one_new, one_new)
    present_0 = Concat<axis = 3>(past_0, both) key = Gather(present_0, first)
    """ + LOOK.format(keys="key") + "}"

CROSS = """source_split = Reshape(s, heads)
    present_key_cross_0 = Transpose<perm = [0,2,1,3]>(source_split)
    present_value_cross_0 = Identity(present_key_cross_0)"""
# The encoder that makes the first token itself, and the one that does not.
ENCODER_WITH_TOKEN = """encoder = c (int32[batch, source] encoder_input_ids,
      int32[batch, source] encoder_attention_mask, int32[batch, 1] decoder_input_ids)
      => (float[batch, 1, 10] logits, float[batch, source, 8] encoder_hidden_states,
          float[batch, 2, 1, 4] present_key_self_0, float[batch, 2, 1, 4] present_value_self_0,
          float[batch, 2, source, 4] present_key_cross_0, float[batch, 2, source, 4] present_value_cross_0)
      <""" + WEIGHTS + """, float[10,8] source_words, float[8,8] source_project> {
    se = Gather(source_words, encoder_input_ids) s = MatMul(se, source_project)
    encoder_hidden_states = Identity(s)
    """ + TOKENS.format(ids="decoder_input_ids") + """
    present_key_self_0 = Identity(new) present_value_self_0 = Identity(new)
    """ + CROSS + "}"
ENCODER_ALONE = """encoder = c (int32[batch, source] encoder_input_ids,
      int32[batch, source] encoder_attention_mask)
      => (float[batch, 2, source, 4] present_key_cross_0, float[batch, 2, source, 4] present_value_cross_0)
      <int64[4] heads = {0,0,2,4}, float[10,8] source_words, float[8,8] source_project> {
    se = Gather(source_words, encoder_input_ids) s = MatMul(se, source_project)
    """ + CROSS + "}"
DECODER = """decoder = d (int32[rows, 1] input_ids, int32[rows, source] encoder_attention_mask, %s
      float[rows, 2, past, 4] past_key_self_0, float[rows, 2, past, 4] past_value_self_0,
      float[rows, 2, source, 4] past_key_cross_0, float[rows, 2, source, 4] past_value_cross_0)
      => (float[rows, 1, 10] logits, float[rows, 2, keys, 4] present_key_self_0,
          float[rows, 2, keys, 4] present_value_self_0)
      <""" + WEIGHTS + """> {
    """ + TOKENS.format(ids="input_ids") + """
    present_key_self_0 = Concat<axis = 2>(past_key_self_0, new)
    present_value_self_0 = Concat<axis = 2>(past_value_self_0, new)
    """ + LOOK.format(keys="present_key_self_0") + """
    crossed = Transpose<perm = [0,1,3,2]>(past_key_cross_0) looked_across = MatMul(new, crossed)
    looked_across_at = ReduceSum(looked_across) }"""
HIDDEN = "float[rows, source, 8] encoder_hidden_states,"

BEAMS = "sequences, scores = com.microsoft.BeamSearch <{attributes}>(prompt, longest, longest, beams, one, penalty, penalty)"
CASES = {
    "beam_search": (BEAMS, GPT),
    "greedy_search": ("sequences = com.microsoft.GreedySearch <{attributes}>(prompt, longest, longest)", GPT),
    "sampling": ("sequences = com.microsoft.Sampling <{attributes}>(prompt, longest, longest)", GPT),
    "encoder_with_token": (BEAMS, f"model_type: int = 1, decoder_start_token_id: int = 2, {ENCODER_WITH_TOKEN}, {DECODER % HIDDEN}"),
    "encoder_alone": (BEAMS, f"model_type: int = 1, decoder_start_token_id: int = 2, {ENCODER_ALONE}, {DECODER % ''}"),
}


def fill(graph, rng):
    """Undefined names become weights."""
    for value in graph.value_info:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        graph.initializer.append(
            numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), value.name))
    del graph.value_info[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                fill(attribute.g, rng)


def model_of(call, subgraphs):
    """Two prompts of 3 tokens, 2 beams, sequences of exactly 7: none may end before."""
    attributes = "eos_token_id: int = 1, pad_token_id: int = 0, " + subgraphs
    outputs = "int32[b,r,l] sequences, float[b,r] scores" if "scores =" in call else "int32[b,l] sequences"
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>\n'
        f"g (int32[2,3] prompt) => ({outputs}) <int32[1] longest = {{7}}, int32[1] beams = {{2}}, "
        "int32[1] one = {1}, float[1] penalty = {1.0}> {\n" + call.format(attributes=attributes) + "}")
    fill(model.graph, np.random.default_rng(0))
    return model


def profiled(path, work):
    """(shapes of the outputs, multiply-accumulates of all products in a run)"""
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(work / path.stem)
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    results = session.run(None, {"prompt": np.array([[2, 3, 4], [5, 6, 7]], np.int32)})
    shapes = {o.name: list(r.shape) for o, r in zip(session.get_outputs(), results)}
    macs = 0
    for event in json.loads(pathlib.Path(session.end_profiling()).read_text()):
        if event.get("cat") != "Node" or not event["name"].endswith("_kernel_time"):
            continue
        if event["args"]["op_name"] == "MatMul":
            left = list(event["args"]["input_type_shape"][0].values())[0]
            out = list(event["args"]["output_type_shape"][0].values())[0]
            macs += math.prod(out) * left[-1]
    return shapes, macs


def main():
    estimator, work = Estimator(sys.argv[1]), pathlib.Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    checks = harness.Checks("text generation")
    for name, (call, subgraphs) in CASES.items():
        path = onnx_models.save(model_of(call, subgraphs), work / f"{name}.onnx")
        try:
            shapes, macs = profiled(path, work)
            report = estimator.report(path)
        except (EstimatorError, RuntimeError) as error:
            checks.check(name, [str(error)[:300]])
            continue
        except Exception as error:  # pylint: disable=broad-except
            checks.check(name, [f"onnxruntime does not run the case: {str(error)[:300]}"])
            continue
        checks.check(f"{name}: nothing unknown", unknown(report))
        checks.equal(f"{name}: MACs", report["totals"]["macs"], macs)
        got = {t["name"]: t["shape"] for t in report["nodes"][0]["outputs"]}
        checks.check(f"{name}: outputs", [f"{n}: got {got.get(n)}, want {s}" for n, s in shapes.items()
                                          if got.get(n) != s])
    checks.finish()


if __name__ == "__main__":
    main()
