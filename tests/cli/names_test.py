"""Names of any bytes: every output stays UTF-8, and XML, JSON and pages stay what they are.

Run by ctest with the program and the source tree as arguments.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
sys.path.insert(0, os.path.join(SOURCE, "tests", "compare"))
import small_model  # noqa: E402

LONG = "/модель/слой_%d/внимание/запрос_ключ_значение/очень_длинное_имя_узла_которое_нужно_сократить/МатУмн_%d"
MARKUP = "a<b>&\"c'|`x`, ]]> --> \t\n%d%d"
BROKEN = LONG.encode().replace("о".encode(), b"\xd0\x97\x97").replace("л".encode(), b"\xff")


def chain(name):
    """Products in a row."""
    nodes = [("MatMul", [f"x{i}", f"w{i}"], f"x{i + 1}", name % (i, i)) for i in range(4)]
    return small_model.model(nodes, [("x0", (64, 256))], [("x4", (64, 256))], [(f"w{i}", (256, 256)) for i in range(4)])


class Names(unittest.TestCase):
    def outputs(self, model):
        on = (model, "--gpu", "a100")
        limit = ("--max", "macs=1")
        for words in (("report", *on), *(("report", *on, "--by", by) for by in ("node", "kernel", "scope", "layer")),
                      ("explain", *on), ("diff", model, *on, "--after-gpu", "t4"), ("formula", model),
                      *(("check", *on, *limit, "--format", form) for form in ("text", "markdown", "github")),
                      *(("report", *on, "--by", by, "--format", "csv") for by in ("node", "kernel")),
                      ("check", *on, "--max", "macs[node:нет]=1"), ("sweep", *on, "--format", "html"), ("html", *on)):
            yield words, lambda text: None
        for words in (("check", *on, *limit, "--format", "junit"), *(("plot", kind, *on) for kind in ("icicle", "roofline", "memory"))):
            yield words, xml.etree.ElementTree.fromstring
        for words in (("report", *on), ("explain", *on), ("check", *on, *limit), ("diff", model, *on, "--after-gpu", "t4"),
                      ("formula", model), ("sweep", *on)):
            yield (*words, "--format", "json"), json.loads

    def test_every_output_is_text(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in (LONG, MARKUP, BROKEN):
                path = os.path.join(folder, "model.onnx")
                with open(path, "wb") as file:
                    file.write(chain(name))
                for words, read in self.outputs(path):
                    with self.subTest(words=words, name=name):
                        result = subprocess.run([PROGRAM, *words], capture_output=True, timeout=120, check=False)
                        self.assertIn(result.returncode, (0, 1) if "macs[node:нет]=1" not in words else (2,), result.stderr)
                        (result.stdout + result.stderr).decode()
                        read(result.stdout.decode())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
