"""Every field of every JSON document has its meaning in docs/schema/fields.txt, and the schemas carry it as `description`.

usage: schema_fields.py SOURCE_DIR [--write]   --write puts the descriptions into docs/schema/*.schema.json
"""

import json
import pathlib
import sys


def read(path):
    """The end of a field's path -> what it means, in the order of the file."""
    meanings = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        key, meaning = line.split(": ", 1)
        if key in meanings:
            sys.exit(f"{path}: '{key}' is there twice")
        meanings[key] = meaning
    return meanings


def meaning_of(path, meanings):
    """The key of the longest end of the path that has a meaning, or None."""
    ends = (".".join(path[start:]) for start in range(len(path)))
    return next((end for end in ends if end in meanings), None)


def fields(schema, path):
    """(path, schema) of every field; a definition's path begins with the document and its name."""
    if isinstance(schema, list):
        for part in schema:
            yield from fields(part, path)
    if not isinstance(schema, dict):
        return
    for key, inner in schema.items():
        if key == "properties":
            for name, field in inner.items():
                yield (*path, name), field
                yield from fields(field, (*path, name))
        elif key == "$defs":
            for name, definition in inner.items():
                yield from fields(definition, (path[0], name))
        else:
            yield from fields(inner, path)


def described(field, meaning):
    """The field with its description in front; a reference keeps its own beside it (JSON Schema 2020-12)."""
    rest = {key: value for key, value in field.items() if key != "description"}
    field.clear()
    field.update({"description": meaning, **rest})


def main(source, write):
    folder = pathlib.Path(source) / "docs" / "schema"
    meanings = read(folder / "fields.txt")
    used, wrong, count = set(), [], 0
    for path in sorted(folder.glob("*.schema.json")):
        text = path.read_text(encoding="utf-8")
        schema = json.loads(text)
        for where, field in list(fields(schema, (path.name.split(".")[0],))):
            count += 1
            key = meaning_of(where, meanings)
            if key is None:
                wrong.append(f"{'.'.join(where)}: no meaning in docs/schema/fields.txt")
            else:
                used.add(key)
                described(field, meanings[key])
        new = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        if new != text and write:
            path.write_text(new, encoding="utf-8")
        elif new != text:
            wrong.append(f"{path.name}: descriptions are not those of fields.txt; write them with --write")
    wrong += [f"fields.txt: no field is called '{key}'" for key in meanings if key not in used]
    print("\n".join([*wrong, f"{count} fields, {len(meanings)} meanings, {len(wrong)} faults"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--write" in sys.argv[2:]))
