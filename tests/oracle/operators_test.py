"""Every operator that the newest onnx and onnxruntime define has a definition here, and every version
at which onnx changed one is known.

usage: operators_test.py DLCOST
"""

import subprocess
import sys

import onnx
import onnxruntime.capi.onnxruntime_pybind11_state as runtime

import harness

# Plugins of a provider: only that provider has them, and the shapes that they declare.
NOT_DEFINED = {"DisentangledAttention_TRT", "EfficientNMS_TRT", "MultilevelCropAndResize_TRT",
               "PyramidROIAlign_TRT"}


def listed(program):
    """{(domain, operator): versions} of the operator table."""
    table = subprocess.run([program, "ops", "--format", "markdown"], capture_output=True, text=True,
                           timeout=60, check=True).stdout
    domain, found = "", {}
    for line in table.splitlines():
        if line.startswith("## "):
            domain = line[3:].strip().removeprefix("ai.onnx") if line == "## ai.onnx" else line[3:].strip()
        elif line.startswith("| ") and not line.startswith("| operator "):
            cells = [cell.strip() for cell in line.split("|")]
            found[domain, cells[1]] = {int(v) for v in cells[2].split(", gone")[0].split(",")}
    return found


def main():
    checks = harness.Checks("operators")
    known = listed(sys.argv[1])
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.deprecated:  # a version that only says that the operator is gone
            continue
        name = f"{schema.domain or 'ai.onnx'} {schema.name} {schema.since_version}"
        versions = known.get((schema.domain, schema.name))
        if versions is None:
            checks.check(name, ["no definition"])
        else:
            checks.check(name, [] if schema.since_version in versions
                         else [f"the versions known are {sorted(versions)}"])
    for schema in runtime.get_all_operator_schema():
        if schema.name in NOT_DEFINED:
            checks.excuse(schema.name, "a plugin of TensorRT")
            continue
        checks.check(f"{schema.domain or 'ai.onnx'} {schema.name} of onnxruntime",
                     [] if (schema.domain, schema.name) in known else ["no definition"])
    checks.finish()


if __name__ == "__main__":
    main()
