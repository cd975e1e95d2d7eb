"""Every operator of the package onnxruntime-extensions has a definition, with its output types.

usage: extensions_test.py DLCOST WORK_FOLDER
"""

import importlib.util
import json
import pathlib
import subprocess
import sys

from onnx import TensorProto, helper

import harness
import onnx_models
from estimator import Estimator, EstimatorError

if importlib.util.find_spec("onnxruntime_extensions") is None:
    harness.skip("the package onnxruntime-extensions is not installed")

# In a process of its own: the library keeps what stands in for onnxruntime until it ends.
ASK = """
import json, os, sys
import onnxruntime, onnxruntime_extensions
import extension_operators
found = extension_operators.registered(onnxruntime.__path__[0],
                                       onnxruntime_extensions.get_library_path())
print(json.dumps(found), flush=True)
os._exit(0)
"""


def model_of(domain, name, inputs, outputs):
    values = [helper.make_tensor_value_info(f"in{i}", t or TensorProto.FLOAT, [2, 2])
              for i, t in enumerate(inputs)]
    results = [f"out{i}" for i in range(len(outputs))]
    node = helper.make_node(name, [v.name for v in values], results, domain=domain)
    graph = helper.make_graph([node], name, values, [
        helper.make_tensor_value_info(r, t, None) for r, t in zip(results, outputs)])
    for output in graph.output:
        output.ClearField("type")  # the definition tells it, not the file
    return helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)])


def main():
    estimator, work = Estimator(sys.argv[1]), pathlib.Path(sys.argv[2])
    checks = harness.Checks("operators of onnxruntime-extensions")
    done = subprocess.run([sys.executable, "-c", ASK], cwd=pathlib.Path(__file__).parent,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        harness.skip(f"the library cannot be asked: {done.stderr.strip()[-300:]}")
    for domain, name, inputs, outputs in json.loads(done.stdout):
        path = onnx_models.save(model_of(domain, name, inputs, outputs),
                                work / f"{domain}_{name}.onnx")
        title = f"{domain} {name}"
        try:
            (node,) = estimator.report(path)["nodes"]
        except EstimatorError as error:
            checks.check(title, [str(error)])
            continue
        got = [tensor["dtype"] for tensor in node["outputs"]]
        want = [onnx_models.dtype_name(t) for t in outputs]
        checks.check(title, [f"status {node['status']}"] * (node["status"] == "unknown") +
                     [f"got {got}, want {want}"] * (got != want))
    checks.finish()


if __name__ == "__main__":
    main()
