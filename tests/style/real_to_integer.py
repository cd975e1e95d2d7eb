#!/usr/bin/env python3
"""From a real number to an integer by one way only: real_to_integer.py FOLDER.

A cast of a real that the integer cannot hold is undefined, and 2^63 - 1 by way of a double is such a real: a loop
without a limit once ran zero times for it. core/integer.h has the checked conversions. This reads every C++ file under
version control in FOLDER/estimator and FOLDER/models and fails for a cast or a rounding function that converts by itself,
as far as text can tell: the operand is a literal, the result of a function of real numbers, or a name that the nearest
declaration above calls double or float.
"""

import re
import subprocess
import sys

ALLOWED = "estimator/core/integer.h"
ROUND = re.compile(r"\b(?:std::)?l?l(?:round|rint)\(")
CAST = re.compile(r"static_cast<(?:std::)?(?:u?int(?:8|16|32|64)?(?:_t)?|size_t|ptrdiff_t|long(?: long)?|unsigned)>\(")
REAL = re.compile(
    r"""\bReal\(|\bAsDouble\(|static_cast<(?:double|float)>|(?<![\w.])\d+\.\d*|\b\d+e\d
      |\bstd::(?:ceil|floor|round|trunc|rint|nearbyint|sqrt|cbrt|pow|log2?|log10|exp2?|fabs|fmod)\(""",
    re.X,
)
DECLARED = re.compile(r"\b((?:std::)?[A-Za-z_][\w:]*(?:<[^<>;(]*>)?)[&*]{0,2}\s+(?:const\s+)?([a-z]\w*)\s*(?=[=;,){:\[(])")
REAL_TYPE = re.compile(r"^(?:std::(?:optional|vector)<)?(?:double|float)>?$")


def argument(text, begin):
    depth = 1
    for end in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return text[begin:end]
    return text[begin:]


def is_real(operand, types):
    if REAL.search(operand):
        return True
    names = re.findall(r"(?<![\w.:>])([a-z]\w*)(?:\.(?:front|back|value)\()?(?![\w(.:]|->)", operand)
    return any(REAL_TYPE.match(types.get(name, "")) for name in names)


def findings(text):
    text = re.sub(r"//[^\n]*", "", text)
    for match in ROUND.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group() + "...)"
    declared = list(DECLARED.finditer(text))
    for match in CAST.finditer(text):
        types = {}
        for declaration in declared:
            if declaration.start() > match.start():
                break
            if declaration.group(1) not in ("return", "else", "typename", "const"):
                types[declaration.group(2)] = declaration.group(1)
        operand = argument(text, match.end())
        if is_real(operand, types):
            yield text.count("\n", 0, match.start()) + 1, match.group() + operand + ")"


def main():
    folder = sys.argv[1]
    patterns = [f"{top}/*.{ending}" for top in ("estimator", "models") for ending in ("cc", "h")]
    listed = subprocess.run(["git", "-C", folder, "ls-files", *patterns], capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.split() if name != ALLOWED]
    found = 0
    for name in names:
        with open(f"{folder}/{name}", encoding="utf-8") as file:
            for line, cast in findings(file.read()):
                found += 1
                print(f"{name}:{line}: {' '.join(cast.split())}: use Truncate or RoundToInteger of {ALLOWED}")
    print(f"{len(names)} files, {found} unchecked conversions of a real to an integer")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
