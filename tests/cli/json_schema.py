"""Validates what dlcost writes against docs/schema/: every JSON names its schema, and the tests pass each one through here.

The schema files allow further fields, because fields are added within a version; here none may be there that no
schema names. Without the jsonschema package (Debian: python3-jsonschema) nothing is validated, and `AVAILABLE` says so.
"""

import json
import os
import re
import sys

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's, under another interpreter
try:
    import jsonschema
except ImportError:
    jsonschema = None

AVAILABLE = jsonschema is not None
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "schema")
_validators = {}


def _closed(schema):
    """The same schema, with no fields but those that it names."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(part) for key, part in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        closed["additionalProperties"] = False
    return closed


def _validator(name):
    if name not in _validators:
        with open(os.path.join(FOLDER, name + ".schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        kind = getattr(jsonschema, "Draft202012Validator", jsonschema.Draft7Validator)
        kind.check_schema(schema)
        assert schema["properties"]["schema"]["const"] == schema["$id"], name
        assert re.fullmatch(rf"dlcost\.{name}/\d+", schema["$id"]), name
        _validators[name] = kind(_closed(schema))
    return _validators[name]


def names():
    """The schemas that are there: "report", "diff", ..."""
    return sorted(name.removesuffix(".schema.json") for name in os.listdir(FOLDER)
                  if name.endswith(".schema.json"))


def violations(text):
    """What is wrong with a JSON text that dlcost wrote, at most three lines; [] when nothing is."""
    if not AVAILABLE:
        return []
    document = json.loads(text)
    version = re.fullmatch(r"dlcost\.([a-z-]+)/\d+", document.get("schema", ""))
    if not version or version.group(1) not in names():
        return [f"no schema file for '{document.get('schema', '')}'"]
    errors = _validator(version.group(1)).iter_errors(document)
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error, _ in zip(errors, range(3))]


def violations_of_command(arguments, output):
    """The same for what a command line printed; [] when it was not asked for JSON or wrote to a file."""
    words = list(arguments)
    if "json" not in words or words[words.index("json") - 1] != "--format" or not output.strip():
        return []
    return violations(output)
