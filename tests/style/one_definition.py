#!/usr/bin/env python3
"""One name, one type: one_definition.py FOLDER.

Two classes of one name in one namespace, in different files, are undefined behaviour as soon as both are linked into a
program: their inline functions share a name, and the linker keeps either one. No compiler or linker has to say so. This
reads every C++ file under version control in FOLDER and fails for a struct, class, union or enum that is defined in two
of them; types in an anonymous namespace, in a class or in a function belong to their file and may repeat.
"""

import collections
import re
import subprocess
import sys

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/                       # comments
      |R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"   # raw strings
      |"(?:\\.|[^"\\\n])*"                       # strings
      |(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'       # characters, not the separators of digits
      |^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*            # preprocessor lines
      |\[\[.*?\]\]                            # attributes
      |[A-Za-z_]\w*|::|[{}();=<>,:&*]""",
    re.X | re.S | re.M,
)
KEYWORDS = {"struct", "class", "union", "enum"}


def tokens(text):
    for match in TOKEN.finditer(text):
        token = match.group().lstrip()
        if not token.startswith(("//", "/*", '"', "'", "#", 'R"', "[[")):
            yield token


def type_name(head):
    """The name of the type that `head`, the tokens before a '{', defines; None for anything else."""
    if head[:1] == ["template"]:  # a keyword may be one of the parameters
        depth = 0
        for at, token in enumerate(head):
            depth += {"<": 1, ">": -1}.get(token, 0)
            if token == ">" and depth == 0:
                return type_name(head[at + 1 :])
        return None
    at = next((i for i, token in enumerate(head) if token in KEYWORDS), None)
    if at is None or any(token in head for token in ("(", "=")):
        return None
    while at < len(head) and head[at] in KEYWORDS:
        at += 1
    if at == len(head) or not re.match(r"[A-Za-z_]", head[at]):
        return None
    following = head[at + 1] if at + 1 < len(head) else ""
    # "Name<int>" specialises, "Outer::Name" belongs to a class.
    return head[at] if following in ("", "final", ":") else None


def definitions(text):
    """Yields the qualified names of the types that a file defines at namespace scope."""
    scopes = []  # a namespace's name; None for an anonymous one and for every other pair of braces
    head = []
    for token in tokens(text):
        if token == "{":
            if head[:1] == ["namespace"] or head[:2] == ["inline", "namespace"]:
                name = "".join(head[head.index("namespace") + 1 :])
                scopes.append(name or None)
            else:
                name = type_name(head)
                if name and all(scopes):
                    yield "::".join([*scopes, name])
                scopes.append(None)
            head = []
        elif token == "}":
            if scopes:
                scopes.pop()
            head = []
        elif token == ";":
            head = []
        else:
            head.append(token)


def main():
    folder = sys.argv[1]
    listed = subprocess.run(["git", "-C", folder, "ls-files", "*.cc", "*.h"], capture_output=True, text=True, check=True)
    places = collections.defaultdict(set)
    for name in listed.stdout.split():
        with open(f"{folder}/{name}", encoding="utf-8") as file:
            for definition in definitions(file.read()):
                places[definition].add(name)
    double = {name: sorted(files) for name, files in places.items() if len(files) > 1}
    for name, files in sorted(double.items()):
        print(f"{name} is defined in {' and in '.join(files)}: give one of them another name")
    print(f"{len(places)} types, {len(double)} of them defined twice")
    sys.exit(1 if double else 0)


if __name__ == "__main__":
    main()
