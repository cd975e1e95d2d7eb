"""Writes the types of results for type checkers: schema_types.py SCHEMA_FOLDER OUTPUT.pyi.

One class for every object of the JSON schemas, named by where it stands: `Report`, `ReportTotals`, `ReportKernel`. So the
list of fields is kept in one place, the schemas, which the tests hold against every JSON that dlcost writes. Their
descriptions are what editors show beside a field.
"""

import json
import keyword
import os
import sys

SINGLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# The schemas that results of dlcost's functions follow, and what their classes are called.
SCHEMAS = {"report": "Report", "diff": "Diff", "check": "Check", "compare": "Compare", "sweep": "Sweep", "device": "Device",
           "formula": "Formula", "explain": "Explanation", "parallel": "ParallelPlans", "scale": "Scaling",
           "collective": "Collectives", "measured": "Measured", "system": "System",
           "comparison": "Ranking", "input": "InputBounds", "fit": "FittedRuns", "runtimes": "Runtimes"}


def title(name):
    return "".join(part.capitalize() for part in name.split("_"))


def singular(name):
    if name.endswith("ies"):
        return name[:-3] + "y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


class Types:
    def __init__(self, prefix, schema):
        self.prefix, self.root = prefix, schema
        self.classes = {}  # name -> lines

    def of(self, schema, name):
        """The annotation for a schema; `name` is for the class of an object."""
        if "$ref" in schema:
            target = schema["$ref"].rsplit("/", 1)[-1]
            return self.of(self.root["$defs"][target], self.prefix + title(target))
        if "const" in schema:
            return "str"
        if "enum" in schema:
            return "Literal[{}]".format(", ".join(repr(value) for value in schema["enum"]))
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self.union([self.of(part, name) for part in schema[key]])
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if not kinds:
            return "Any"
        return self.union([self.kind(kind, schema, name) for kind in kinds])

    @staticmethod
    def union(parts):
        parts = list(dict.fromkeys(parts))
        if "None" in parts and len(parts) > 1:
            parts.remove("None")
            return f"Optional[{Types.union(parts)}]"
        return parts[0] if len(parts) == 1 else "Union[{}]".format(", ".join(parts))

    def kind(self, kind, schema, name):
        if kind == "array":
            item = self.of(schema.get("items", {}), singular(name))
            return f"Rows[{item}]" if item.startswith(chr(34)) else f"List[{item}]"
        if kind != "object":
            return SINGLE[kind]
        if "properties" not in schema:
            more = schema.get("additionalProperties")
            inner = self.of(more, name) if isinstance(more, dict) else "Any"
            return f"Dict[str, {inner}]"
        if name not in self.classes:
            self.classes[name] = []  # before its fields: schemas may hold themselves
            self.classes[name] = self.fields(schema, name)
        return f'"{name}"'

    def fields(self, schema, name):
        lines = []
        for field, inner in schema["properties"].items():
            if not field.isidentifier() or keyword.iskeyword(field):
                continue  # reached as record["..."]
            annotation = self.of(inner, name + title(field))
            if field not in schema.get("required", []) and not annotation.startswith("Optional["):
                annotation = f"Optional[{annotation}]"
            lines += ["    @property", f"    def {field}(self) -> {annotation}:", f"        {inner['description']!r}"]
        return lines or ["    ..."]


def main(folder, output):
    lines = ["# Written by schema_types.py from docs/schema.", "from typing import Any, Dict, List, Literal, Optional, Union", "",
             "from ._records import Record, Rows"]
    for schema, prefix in SCHEMAS.items():
        with open(os.path.join(folder, schema + ".schema.json"), encoding="utf-8") as file:
            types = Types(prefix, json.load(file))
        types.of(types.root, prefix + "Json")
        for name, fields in types.classes.items():
            lines += ["", f"class {name}(Record):", *fields]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
