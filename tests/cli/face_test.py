"""What a person meets in a terminal: widths, colours, options that apply or are refused, and files that are no models.

Run by ctest with the program and the source tree as arguments; needs nothing but Python's standard library.
"""

import csv
import fcntl
import gzip
import json
import os
import pickle
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata
import unittest
import xml.etree.ElementTree
import zipfile

import sanitizers
import terminal

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
NETWORKS = os.path.join(SOURCE, "models", "networks")
ALEXNET = os.path.join(NETWORKS, "alexnet.onnx")
BERT = os.path.join(NETWORKS, "bert-base.onnx")
LONG_SWEEP, DEEP_LAYERS = (30, 200) if sanitizers.watch(PROGRAM) else (300, 1000)  # what takes seconds
ON_BERT = (BERT, "--dim", "sequence=128", "--gpu", "a100")


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=120, check=False, **options)


def raw_screen(columns, *arguments, **environment):
    """What a terminal of so many columns gets, and the exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen([PROGRAM, *arguments], stdout=slave, stderr=slave, stdin=subprocess.DEVNULL,
                          env={**variables, **environment}) as process:
        shown = terminal.read_all(master, slave, process.wait)
    return shown.decode().replace("\r\n", "\n"), process.returncode


def screen(columns, *arguments, **environment):
    """What it shows in the end: lines of progress are gone."""
    shown, code = raw_screen(columns, *arguments, **environment)
    return re.sub(r"(\r[^\r\n]*)+\r\x1b\[K", "", shown), code


def width(line):
    plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in plain)


def table(text):
    """The lines of the table: from its head to the line behind its totals."""
    lines = text.splitlines()
    rules = [i for i, line in enumerate(lines) if line and not line.strip("-")]
    return lines[rules[0] - 1 : rules[-1] + 2]


class Terminal(unittest.TestCase):
    def test_long_sweeps_show_how_far_they_are(self):
        def swept(last, *more):
            with tempfile.TemporaryDirectory() as folder:
                began = time.monotonic()
                shown, code = raw_screen(100, "sweep", BERT, "--batch", f"1:{last}", "--dim", "sequence=13:512", "--gpu", "a100",
                                         "--format", "csv", "-o", os.path.join(folder, "points.csv"), *more)
                self.assertEqual(code, 0)
                return shown, time.monotonic() - began

        shown, took = swept(1)
        if took < 1:
            self.assertEqual(shown, "")
        shown, took = swept(LONG_SWEEP)
        if took > 2:  # on many cores it is done before the bar comes
            self.assertRegex(shown, rf"\[=+ *\] \d+ of {500 * LONG_SWEEP} points, \d+ s left")
            self.assertTrue(shown.endswith("\r\x1b[K"), shown[-40:])  # nothing stays
        self.assertEqual(swept(LONG_SWEEP, "--quiet")[0], "")

    def test_whatever_is_long_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            length = ("--dim", "sequence=32")
            deep, page = os.path.join(folder, "deep.onnx"), os.path.join(folder, "page.html")
            self.assertEqual(run("network", "bert-base", f"layers={DEEP_LAYERS}", "width=64", "inner=64", "heads=2", "vocabulary=100", "-o", deep).returncode, 0)
            for command, says in ((("html", deep, *length, "--gpu", "a100", "-o", page), r"\rhtml: \d+ s\x1b"),
                                  ((deep, *length, "--gpu", "all", "--top", "3"), r"\[=* *\] \d+ of \d+ devices"),
                                  (("check", deep, *length, "--gpu", "t4", "--batch", "1:12", "--max", "macs=1P"), r"\[=* *\] \d+ of 12 sizes")):
                began = time.monotonic()
                shown, code = raw_screen(60, *command)
                self.assertEqual(code, 0, (command, shown))
                if time.monotonic() - began > 2:
                    self.assertRegex(shown, says)
                    for drawn in re.findall(r"\r([^\r\x1b]+)\x1b", shown):
                        self.assertLess(len(drawn), 60)
                    self.assertNotIn("\x1b[K", re.sub(r"(\r[^\r\n]*)+\r\x1b\[K", "", shown))
                    self.assertNotRegex(raw_screen(60, *command, "--quiet")[0], says)
                    # Not while a pager reads.
                    master, slave = pty.openpty()
                    with subprocess.Popen([PROGRAM, *command], stdout=subprocess.PIPE, stderr=slave) as process:
                        process.communicate(timeout=120)
                    os.set_blocking(master, False)
                    self.assertRaises(BlockingIOError, os.read, master, 100)
                    os.close(slave)
                    os.close(master)

    def test_help_stands_under_headings(self):
        top, report = run("--help").stdout.decode(), run("report", "--help").stdout.decode()
        for heading in ("A model:", "What was measured:", "Many devices:", "What dlcost knows:"):
            self.assertIn("\n" + heading + "\n", top)
        places = [report.index("\n" + heading + ":\n") for heading in ("Model and its sizes", "Training", "Device", "How it runs and counts")]
        self.assertEqual(places, sorted(places))
        self.assertLess(places[2], report.index("  --gpu,--device"))
        for command in ("html", "sweep"):
            text = run(command, "--help").stdout.decode()
            self.assertLess(text.index("\nDevice:\n"), text.index("  --gpu,--device"))

    def test_tables_fit_and_say_what_they_left_out(self):
        for columns in (60, 80, 120, 200):
            for by in ("op", "node", "kernel", "scope"):
                text, code = screen(columns, *ON_BERT, "--by", by, "--top", "5")
                self.assertEqual(code, 0, text)
                for line in table(text):
                    self.assertLessEqual(width(line), max(columns, 77), (columns, by, line))
                head = table(text)[0]
                whole = table(screen(400, *ON_BERT, "--by", by, "--top", "5")[0])[0]
                missing = [name for name in ("MACs", "FLOPs", "bytes", "FLOP/B", "share", "nodes", "limited by")
                           if name in whole and name not in head]
                told = re.search(r"^%d columns leave out ([^;]*);\s--columns all shows them$" % columns, text, re.M)
                self.assertEqual(sorted(re.split(r",\s", told[1])) if told else [], sorted(missing), (columns, by, text))

    def test_everything_for_people_fits(self):
        resnet = os.path.join(NETWORKS, "resnet50.onnx")
        measured = os.path.join(SOURCE, "docs", "examples", "measured")
        commands = (("--help",), ("report", "--help"), ("sweep", "--help"), ("gpus",), ("gpus", "h100"), ("systems",),
                    ("systems", "dgx-h100"), ("runtimes",), ("runtimes", "tensorrt"), ("ops", "--domain", "ai.onnx.ml"),
                    ("network",), ON_BERT, (*ON_BERT, "--by", "layer"), (resnet, "--gpu", "p4", "--view", "gemm"),
                    (resnet, "--gpu", "a100,h100,mi300x"), ("explain", resnet, "--gpu", "p4", "--node", "/conv1/Conv"),
                    ("diff", ALEXNET, resnet, "--gpu", "p4"), ("formula", BERT, "--dim", "sequence=128"),
                    ("sweep", ALEXNET, "--gpu", "p4", "--batch", "1:64:x2"), ("sweep", ALEXNET, "--gpu", "p4,t4", "--batch", "1:4", "--price", "2/h"),
                    ("compare", resnet, "--batch", "1", "--fusion", "none", "--gpu", os.path.join(measured, "two-zen5-cores.yaml"), "--top", "3",
                     "--by", "op,kernel,algorithm", "--measured", os.path.join(measured, "resnet50.json.gz")),
                    ("measured", os.path.join(measured, "resnet50.json.gz"), "--top", "3"),
                    ("parallel", ALEXNET, "--system", "dgx-h100", "--train", "sgd", "--devices", "16", "--global-batch", "64"),
                    ("collective", "all_reduce", "--system", "dgx-h100", "--devices", "8", "--bytes", "1MB:64MB:x8"),
                    ("scale", resnet, "--train", "sgd", "--batch", "8", "--system", "dgx-h100", "--devices", "1,8"))
        for columns in (60, 80, 120, 200):
            for command in commands:
                text, code = screen(columns, *command)
                self.assertEqual(code, 0, (command, text))
                lines = text.splitlines()
                for line, after in zip(lines, lines[1:] + [""]):
                    if len(line.split()) > 1 and SOURCE not in line:  # a word, a path: nothing breaks it
                        self.assertLessEqual(width(line), columns, (command, line))
                    # Rows of tables keep to their line.
                    if line and not line.strip("-") and after:
                        self.assertFalse(after.startswith(" " * 15), (command, columns, after))

    def test_bars_where_a_terminal_shows_them(self):
        bar = "[\u2588-\u258f]"
        self.assertRegex(screen(160, *ON_BERT, LC_ALL="C.UTF-8")[0], r"\d% +\u2588" + bar)
        self.assertNotRegex(screen(160, *ON_BERT, LC_ALL="C")[0], bar)
        self.assertNotRegex(run(*ON_BERT, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout.decode(), bar)
        curve = screen(120, "sweep", ALEXNET, "--gpu", "p4", "--batch", "1:64:x2", LC_ALL="C.UTF-8")[0]
        self.assertRegex(curve, r"\n {10}[\u2581-\u2588]{7}  [\d.]+ to [\d.]+ k? ?items/s")

    def test_kernels_at_eighty_columns_say_where_the_time_goes(self):
        head = table(screen(80, *ON_BERT, "--by", "kernel")[0])[0]
        for name in ("bound", "expected", "share", "limited by"):
            self.assertIn(name, head)
        text = screen(80, *ON_BERT, "--by", "kernel", "--top", "4")[0]
        self.assertRegex(text, r"\n/encoder/0/feed_forward/inner/MatMul .*\n    mat_mul \+ add \+ gelu \(gemm 32x128x8")

    def test_columns_are_chosen(self):
        text, code = screen(60, *ON_BERT, "--columns", "expected,limited-by")
        self.assertEqual((code, table(text)[0].split()), (0, ["operator", "expected", "limited", "by"]))
        everything = table(screen(60, *ON_BERT, "--columns", "all")[0])[0]
        self.assertEqual(everything.split(), table(screen(400, *ON_BERT)[0])[0].split())
        wrong = run(*ON_BERT, "--columns", "expcted")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn(b"did you mean 'expected'?", wrong.stderr)

    def test_device_tables_fit(self):
        for columns in (80, 120):
            text, code = screen(columns, ALEXNET, "--gpu", "a100,h100-sxm5,mi300x")
            self.assertEqual(code, 0, text)
            for line in table(text):
                self.assertLessEqual(width(line), columns, line)
            left_out = "leave out" in text
            self.assertEqual(left_out, columns == 80, text)

    def test_colours_only_where_a_terminal_wants_them(self):
        self.assertIn("\x1b[", screen(120, ALEXNET)[0])
        self.assertNotIn("\x1b[", screen(120, ALEXNET, NO_COLOR="1")[0])
        self.assertNotIn(b"\x1b[", run(ALEXNET).stdout)

    def test_names_in_chinese_line_up(self):
        with open(ALEXNET, "rb") as file:
            content = file.read()
        old, new = b"/fc6/Gemm", "卷积层".encode()
        self.assertEqual(len(old), len(new))
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(content.replace(old, new))
            file.flush()
            text = run(file.name, "--gpu", "p4", "--by", "node", "--top", "3").stdout.decode()
        lines = table(text)
        row = next(line for line in lines if "卷积层" in line)
        end = width(lines[0][: lines[0].index("MACs") + 4])
        cell = re.search(r"37\.75 M", row)
        self.assertEqual(width(row[: cell.end()]), end, text)

    def test_a_page_is_not_for_a_terminal(self):
        for command in ((ALEXNET, "--format", "html"), ("html", ALEXNET)):
            text, code = screen(80, *command)
            self.assertEqual((code, text.count("\n")), (2, 1), text[:300])
            self.assertIn("-o page.html", text)
        self.assertIn(b"<!doctype html>", run("html", ALEXNET).stdout[:100].lower())


class Rows(unittest.TestCase):
    def test_attention_is_a_row_of_its_own(self):
        lines = table(run(*ON_BERT).stdout.decode())
        rows = {line.split("  ")[0]: line.split() for line in lines}
        self.assertIn("attention", rows)
        # Scores and values of 12 layers: 2 x 12 heads x 128 x 128 x 64 MACs each.
        self.assertEqual(rows["attention"][2:4], ["%.1f" % (12 * 2 * 12 * 128 * 128 * 64 / 1e6), "M"])
        self.assertNotIn("Softmax", rows)
        apart = table(run(*ON_BERT, "--attention", "materialized").stdout.decode())
        self.assertTrue(any(line.startswith("Softmax") for line in apart))
        self.assertFalse(any(line.startswith("attention") for line in apart))

    def test_unknown_rows_stand_first_in_red(self):
        with open(BERT, "rb") as file:
            content = file.read()
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(content.replace(b"Tanh", b"Tanx"))  # the last operator: nothing depends on it
            file.flush()
            command = (file.name, "--gpu", "p4", "--dim", "sequence=128", "--top", "2")
            lines = table(run(*command).stdout.decode())
            self.assertTrue(lines[2].startswith("Tanx"), lines)
            self.assertEqual(lines[3].strip("-"), "")  # stands apart
            self.assertTrue(lines[6].startswith("... "), lines)  # and is none of the two that were asked for
            self.assertIn("\n\x1b[31mTanx", screen(120, *command)[0])
            self.assertNotIn("\x1b[31m", screen(120, *command, NO_COLOR="1")[0])

    def test_stories_name_what_kernels_do(self):
        rows = list(csv.DictReader(run(*ON_BERT, "--by", "story", "--format", "csv").stdout.decode().splitlines()))
        report = json.loads(run(*ON_BERT, "--format", "json").stdout)
        self.assertEqual(sum(int(row["flops"]) for row in rows), report["totals"]["flops"])
        self.assertEqual(sum(int(row["kernels"]) for row in rows), len([k for k in report["kernels"] if k["launches"] > 0]))
        by_name = {row["story"]: row for row in rows}
        self.assertEqual(by_name["attention"]["kernels"], "12")
        self.assertIn("MatMul x2", by_name["attention"]["operators"])
        self.assertEqual(by_name["mat_mul + add + gelu"]["operators"], "MatMul, Add, Gelu")
        times = [float(row["expected_s"]) for row in rows]
        self.assertEqual(times, sorted(times, reverse=True))
        text = run(*ON_BERT, "--by", "story", "--top", "2").stdout.decode()
        self.assertRegex(text, r"\nmat_mul \+ add x2  x 24 +MatMul, Add x2 ")
        self.assertRegex(text, r"\n\.\.\. \d+ more ")

    def test_repeated_layers_are_one(self):
        rows = list(csv.DictReader(run(*ON_BERT, "--by", "layer", "--format", "csv").stdout.decode().splitlines()))
        report = json.loads(run(*ON_BERT, "--format", "json").stdout)
        for key in ("macs", "flops"):
            self.assertEqual(sum(int(row[key]) for row in rows if row["depth"] == "0"), report["totals"][key])
        self.assertAlmostEqual(sum(float(row["expected_s"]) for row in rows if row["depth"] == "0"), report["totals"]["expected_s"], 12)
        layer = next(i for i, row in enumerate(rows) if row["layer"] == "0..11")
        self.assertEqual(rows[layer]["times"], "12")
        below = [row for row in rows[layer + 1:] if row["depth"] == str(int(rows[layer]["depth"]) + 1)][:2]
        self.assertEqual(sum(int(row["flops"]) for row in below), int(rows[layer]["flops"]))
        self.assertIn(("q, k, v", "3"), [(row["layer"], row["times"]) for row in rows])
        text = run(*ON_BERT, "--by", "layer", "--depth", "2").stdout.decode()
        self.assertIn("\n  0..11  x 12 ", text)
        self.assertNotIn("q, k, v", text)

    def test_a_cut_counts_what_it_hides(self):
        whole = table(run(ALEXNET, "--gpu", "a100").stdout.decode())
        cut = table(run(ALEXNET, "--gpu", "a100", "--top", "2").stdout.decode())
        free = lambda lines: [line for line in lines if line.startswith("views, ")]
        self.assertEqual(free(whole), free(cut))
        hidden = next(line for line in cut if line.startswith("..."))
        self.assertEqual(len(whole) - 4 - len(free(whole)) - 2, int(hidden.split()[1]), cut)

    def test_csv_and_markdown_take_by_and_top(self):
        table_csv = run(ALEXNET, "--gpu", "p4", "--by", "node", "--format", "csv", "--top", "2").stdout.decode().splitlines()
        self.assertEqual([line.split(",")[0] for line in table_csv], ["node", "/fc6/Gemm", "/fc7/Gemm"])
        markdown = run(ALEXNET, "--gpu", "p4", "--by", "kernel", "--format", "markdown", "--top", "2").stdout.decode()
        self.assertIn("| /fc6/Gemm | gemm + relu (matrix\\_vector) |", markdown)
        self.assertIn("| ... 9 more |", markdown)

    def test_a_ranking_is_cut(self):
        text = run(ALEXNET, "--gpu", "all", "--top", "3").stdout.decode()
        everything = run(ALEXNET, "--gpu", "all", "--format", "csv").stdout.decode().splitlines()
        self.assertIn("note      %d more devices; without --top: all" % (len(everything) - 1 - 3), text)


class Options(unittest.TestCase):
    def test_what_would_change_nothing_is_refused_with_a_command_that_works(self):
        several = ("--gpu", "a100,h100-sxm5")
        for options in (("--node", "/fc6/Gemm"), ("--node", "/fc6/Gemm", "--view", "gemm"), ("--depth", "3"),
                        ("--depth", "3", "--format", "csv"), ("--plot", "--format", "csv", "--gpu", "p4"),
                        ("--by", "node", "--format", "json"), ("--top", "3", "--format", "json"),
                        ("--by", "kernel", "--view", "work"), ("--view", "gemm", "--format", "json"),
                        ("--columns", "macs", "--format", "csv"), (*several, "--by", "node"), (*several, "--top", "3"),
                        (*several, "--plot"), (*several, "--view", "work"), ("--gpu", "all", "--depth", "1"),
                        ("--by", "layer", "--top", "3", "--gpu", "p4")):
            result = run(ALEXNET, *options)
            error = result.stderr.decode()
            self.assertEqual((result.returncode, result.stdout, error.count("\n")), (2, b"", 1), (options, error))
            self.assertIn("changes nothing", error)
            words = shlex.split(error.strip().split("; try: dlcost ")[1])
            works = run(*words)
            self.assertEqual(works.returncode, 0, (words, works.stderr))

    def test_so_do_the_other_commands(self):
        resnet = os.path.join(NETWORKS, "resnet50.onnx")
        swept = ("sweep", ALEXNET, "--gpu", "p4", "--batch", "1,2")
        profile = os.path.join(SOURCE, "tests", "profiles", "fixtures", "ncu_details.csv")
        folder = os.path.join(SOURCE, "docs", "examples", "measured")
        compared = ("compare", resnet, "--batch", "1", "--fusion", "none", "--gpu", os.path.join(folder, "two-zen5-cores.yaml"),
                    "--measured", os.path.join(folder, "resnet50.json.gz"))
        for words in ((*swept, "--format", "csv", "--top", "1"), (*swept, "--format=json", "--plot"), (*swept, "--format", "csv", "--rank", "latency"),
                      (*swept, "--format", "svg", "--for", "latency<=1ms"), ("diff", ALEXNET, resnet, "--format", "json", "--top", "1"),
                      ("gpus", "h100", "--vendor", "AMD"), ("gpus", "h100", "--sort", "fp16"), ("formula", ALEXNET, "--format", "latex", "--by", "scope"),
                      ("ops", "Conv", "--domain", "ai.onnx.ml"), ("ops", "--format", "markdown", "--domain", "ai.onnx.ml"),
                      ("measured", profile, "--format", "csv", "--top", "1"), (*compared, "--format", "csv", "--top", "3"),
                      (*compared, "--format", "json", "--by", "op"), ("explain", ALEXNET, "--gpu", "p4", "--convention", "mac")):
            result = run(*words)
            error = result.stderr.decode()
            self.assertEqual((result.returncode, result.stdout, error.count("\n")), (2, b"", 1), (words, error))
            self.assertIn("changes nothing", error)
            works = run(*shlex.split(error.strip().split("; try: dlcost ")[1]))
            self.assertEqual(works.returncode, 0, (error, works.stderr))
        self.assertIn(b"--format html -o page.html", run("measured", profile, "--title", "x").stderr)
        for options in (("--set", "memory.bandwidth=1TB/s"), ("--cache", "warm"), ("--launch", "eager"), ("--math", "tf32")):
            for command in (("report", ALEXNET), ("html", ALEXNET), ("check", ALEXNET, "--max", "macs=1T"), ("measured", profile),
                            ("sweep", ALEXNET, "--batch", "1,2"), ("diff", ALEXNET, resnet), ("plot", "memory", ALEXNET)):
                if options[0] == "--set" or command[0] != "measured":  # which has no other
                    self.assertIn(b"add --gpu", run(*command, *options).stderr, (command, options))

    def test_a_finished_report_is_as_it_is(self):
        resnet = os.path.join(NETWORKS, "resnet50.onnx")
        with tempfile.TemporaryDirectory() as folder:
            report, other, page = (os.path.join(folder, name) for name in ("report.json", "other.json", "page.html"))
            for model, path in ((ALEXNET, report), (resnet, other)):
                self.assertEqual(run(model, "--batch", "2", "--gpu", "p4", "--format", "json", "-o", path).returncode, 0)
            for words in (("html", report, "--cache", "warm", "-o", page), ("html", report, other, "--math", "tf32", "-o", page),
                          ("diff", report, other, "--launch", "eager"), ("plot", "memory", report, "--batch", "4"),
                          ("check", report, "--max", "macs=1T", "--dtype", "f16"), ("check", report, "--baseline", other, "--runtime", "tensorrt", "--max", "macs=1T"),
                          ("html", report, "--train", "sgd", "-o", page), ("diff", report, report, "--convention", "mac")):
                result = run(*words)
                error = result.stderr.decode()
                self.assertEqual((result.returncode, result.stdout, error.count("\n")), (2, b"", 1), (words, error))
                self.assertRegex(error, "changes nothing of (a finished report|finished reports); try: ")
                works = run(*shlex.split(error.strip().split("; try: dlcost ")[1]))
                self.assertEqual((works.returncode, works.stderr), (0, b""), error)
            self.assertIn(b"--after-... changes nothing of a finished report", run("diff", report, "--after-batch", "4").stderr)
            # One of the two is a model, which they are about.
            self.assertEqual(run("diff", report, resnet, "--cache", "warm").returncode, 0)
            self.assertEqual(run("check", resnet, "--baseline", report, "--math", "tf32", "--max", "macs=1T").returncode, 0)

    def test_one_device_where_one_is_taken(self):
        for command in (("explain", ALEXNET), ("diff", ALEXNET, ALEXNET), ("check", ALEXNET, "--max", "macs=1T")):
            result = run(*command, "--gpu", "a100,h100")
            self.assertEqual(result.returncode, 2, result.stdout)
            self.assertIn(b"several devices where one is taken", result.stderr)

    def test_commands_and_nodes_have_nearest_spellings(self):
        for words, says in ((("expain", "R"), "did you mean 'explain'?"), (("resnet",), "neither a command nor a file"),
                            (("resnet50",), "dlcost network resnet50 -o resnet50.onnx"), ((ALEXNET, BERT), "two models side by side: dlcost diff"),
                            (("plot", ALEXNET), "which picture of it? dlcost plot roofline " + ALEXNET), (("plot", "memory"), "of which model?"),
                            ((ALEXNET, "--top", "-1"), "--top: -1 is below 0;"), (("formula", ALEXNET, "--by", "scope", "--depth", "-2"), "--depth: -2 is below 0;"),
                            ((ALEXNET, "--batch", "abc"), "--batch 'abc' is no size: a whole number, or max"),
                            ((ALEXNET, "--batch", str(2**63)), "--batch '9223372036854775808' is no size: a whole number, or max"),
                            (("explain", ALEXNET, "--gpu", "p4", "--node", "fc6"), "did you mean '/fc6/Gemm'?")):
            result = run(*words)
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertIn(says, result.stderr.decode())

    def test_devices_as_their_drivers_call_them(self):
        for name, known in (("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"), ("NVIDIA GeForce RTX 4090", "rtx-4090"), ("Tesla V100-SXM2-16GB", "v100-sxm2-16gb"),
                            ("NVIDIA H100 80GB HBM3", "h100-sxm5"), ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"), ("AMD Instinct MI300X", "mi300x")):
            report = json.loads(run(ALEXNET, "--gpu", name, "--format", "json").stdout)
            self.assertEqual(report["device"]["id"], known)

    def test_help_and_version_as_words(self):
        self.assertEqual(run("help").stdout, run("--help").stdout)
        self.assertEqual(run("help", "sweep").stdout, run("sweep", "--help").stdout)
        self.assertEqual(run("version").stdout, run("--version").stdout)

    def test_a_table_of_positions_that_is_too_short(self):
        result = run(BERT, "--dim", "sequence=1000")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"sequence = 1000, but what the file stores has 512 there: at most sequence = 512", result.stderr)

    def test_filters_are_no_size_that_a_batch_must_fit(self):
        result = run(ALEXNET, "--batch", str(2**53))
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"a count does not fit in 64 bits", result.stderr)
        self.assertNotIn(b"what the file stores", result.stderr)


class Viewers(unittest.TestCase):
    def test_sums_are_the_report(self):
        report = json.loads(run(*ON_BERT, "--format", "json").stdout)
        trace = json.loads(run(*ON_BERT, "--format", "perfetto").stdout)
        slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        kernels = [kernel for kernel in report["kernels"] if kernel["launches"] > 0]
        self.assertEqual([event["args"]["kernel"] for event in slices], [kernel["id"] for kernel in kernels])
        self.assertAlmostEqual(sum(event["dur"] for event in slices) / 1e6, report["totals"]["expected_s"], 12)
        for event, after in zip(slices, slices[1:]):
            self.assertAlmostEqual(event["ts"] + event["dur"], after["ts"], 6)
        scopes = json.loads(run(*ON_BERT, "--format", "speedscope").stdout)
        profile, frames = scopes["profiles"][0], scopes["shared"]["frames"]
        self.assertEqual(len(profile["samples"]), len(profile["weights"]))
        self.assertAlmostEqual(profile["endValue"] / 1e9, report["totals"]["expected_s"], 12)
        self.assertTrue(all(0 <= frame < len(frames) for sample in profile["samples"] for frame in sample))
        self.assertIn("encoder", [frames[sample[0]]["name"] for sample in profile["samples"]])

    def test_without_a_device_there_are_no_times(self):
        for name in ("perfetto", "speedscope"):
            result = run(ALEXNET, "--format", name)
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertIn(b"add --gpu a100", result.stderr)


def fields(message):
    """The fields of a protobuf message: number and value; strings and messages are bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
            continue
        size = varint() if tag & 7 == 2 else {1: 8, 5: 4}[tag & 7]
        yield tag >> 3, message[at : at + size]
        at += size


def nodes_of(path):
    """Of each node of a file's main graph: its fields without metadata, and its metadata."""
    with open(path, "rb") as file:
        graph = next(value for number, value in fields(file.read()) if number == 7)
    for number, node in fields(graph):
        if number == 1:
            remarks = [dict(fields(value)) for number, value in fields(node) if number == 9]
            yield [field for field in fields(node) if field[0] != 9], {entry[1].decode(): entry[2].decode() for entry in remarks}


class Annotated(unittest.TestCase):
    def test_costs_become_metadata_and_nothing_else_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "annotated.onnx")
            result = run(*ON_BERT, "--format", "onnx", "-o", path)
            self.assertEqual((result.returncode, result.stdout), (0, b""), result.stderr)
            before, after = list(nodes_of(BERT)), list(nodes_of(path))
            self.assertEqual([node for node, _ in before], [node for node, _ in after])
            report = json.loads(run(*ON_BERT, "--format", "json").stdout)
            flops = sum(int(remarks.get("dlcost.flops", 0)) for _, remarks in after)
            self.assertEqual(flops, report["totals"]["flops"])
            timed = [remarks for _, remarks in after if "dlcost.expected" in remarks]
            self.assertEqual(len(timed), len([k for k in report["kernels"] if k["launches"] > 0]))
            self.assertTrue(all("dlcost.limited_by" in remarks for remarks in timed))
            again = json.loads(run(path, *ON_BERT[1:], "--format", "json").stdout)
            self.assertEqual(again["totals"], report["totals"])

    def test_where_it_cannot_be_written(self):
        self.assertIn(b"add -o annotated.onnx", run(ALEXNET, "--format", "onnx").stderr)
        self.assertIn(b"this is the model itself", run(ALEXNET, "--format", "onnx", "-o", ALEXNET).stderr)
        with open(ALEXNET, "rb") as file:
            self.assertIn(b"give it as a file", run("-", "--format", "onnx", "-o", "/dev/null", stdin=file).stderr)


class Pictures(unittest.TestCase):
    def picture(self, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        drawing = xml.etree.ElementTree.fromstring(result.stdout)
        texts = list(drawing.iter("{http://www.w3.org/2000/svg}text"))
        for text in texts:
            self.assertGreaterEqual(float(text.get("font-size")), 11, text.text)
            self.assertTrue(0 <= float(text.get("x")) <= 960 and 0 <= float(text.get("y")) <= 540, text.text)
        return drawing, [text.text for text in texts]

    def test_roofline(self):
        resnet = os.path.join(NETWORKS, "resnet50.onnx")
        drawing, texts = self.picture("plot", "roofline", resnet, "--gpu", "a100")
        self.assertIn("vector fp32 19.50 TFLOP/s", texts)
        self.assertIn("device memory 2.039 TB/s", texts)
        titles = [title.text for title in drawing.iter("{http://www.w3.org/2000/svg}title")]
        dots = [title for title in titles if title.startswith("/")]
        report = json.loads(run(resnet, "--gpu", "a100", "--format", "json").stdout)
        kernels = len([k for k in report["kernels"] if k["launches"] > 0 and k["flops"] > 0])
        kernels -= sum(int(far) for text in texts for far in re.findall(r"not here: (\d+) far away", text))
        self.assertEqual(len(dots) + sum(int(more) for title in dots for more in re.findall(r"with (\d+) more", title)), kernels)

    def test_the_shortest_kernels_take_no_decades(self):
        _, texts = self.picture("plot", "roofline", *ON_BERT, "--batch", "2")
        self.assertNotIn("100 M", texts)
        self.assertTrue(any("not here: 1 far away" in text for text in texts), texts)
        self.assertFalse([text for text in texts if "..." in text])

    def test_memory_icicle_and_curves(self):
        _, texts = self.picture("plot", "memory", os.path.join(NETWORKS, "resnet50.onnx"))
        self.assertTrue(any(text.startswith("peak 7.225 MB at /layer1/") for text in texts), texts)
        _, texts = self.picture("plot", "icicle", *ON_BERT, "--dark")
        self.assertTrue(any("0..11" in text and "12" in text for text in texts), texts)
        drawing, texts = self.picture("sweep", ALEXNET, "--gpu", "p4,t4", "--batch", "1:64:x2", "--format", "svg")
        self.assertEqual(len(list(drawing.iter("{http://www.w3.org/2000/svg}path"))), 2)
        self.assertIn("items/s", texts)

    def test_what_cannot_be_drawn(self):
        for words, says in ((("plot", "roofline", ALEXNET), "add --gpu a100"), (("plot", "rofline", ALEXNET), "did you mean 'roofline'?"),
                            (("plot", "curve", ALEXNET), "dlcost sweep"), (("sweep", ALEXNET, "--batch", "1,2", "--format", "svg"), "add --gpu")):
            result = run(*words)
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertIn(says, result.stderr.decode())
        self.assertIn("-o picture.svg", screen(80, "plot", "memory", ALEXNET)[0])

    def test_png_by_another_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "it's.png")
            result = run("plot", "memory", ALEXNET, "-o", path, env={**os.environ, "PATH": folder})
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, rb"\Adlcost: .*librsvg2-bin.*\n\Z")  # the shell says nothing
            with open(os.path.join(folder, "rsvg-convert"), "w", encoding="utf-8") as file:  # stands in for the real one
                file.write('#!/bin/sh\n[ "$1 $2 $3" = "--zoom 2 --output" ] && exec /bin/cat > "$4"\n')
            os.chmod(os.path.join(folder, "rsvg-convert"), 0o755)
            result = run("plot", "memory", ALEXNET, "-o", path, env={**os.environ, "PATH": folder})
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            with open(path, "rb") as file:
                self.assertEqual(file.read(), run("plot", "memory", ALEXNET).stdout)


class Files(unittest.TestCase):
    def says(self, name, content):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(content)
            result = run(path)
            error = result.stderr.decode()
            self.assertEqual((result.returncode, result.stdout, error.count("\n")), (2, b"", 1), error)
            return error

    @staticmethod
    def zip_of(*names):
        with tempfile.TemporaryFile() as file:
            with zipfile.ZipFile(file, "w") as archive:
                for name in names:
                    archive.writestr(name, "x")
            file.seek(0)
            return file.read()

    def test_what_it_is_and_how_to_export_it(self):
        for name, content, *parts in (
            ("m.pt", self.zip_of("m/data.pkl", "m/version"), "PyTorch", "torch.onnx.export"),
            ("m.pt", self.zip_of("m/data.pkl", "m/code/__torch__.py"), "TorchScript", "torch.jit.load"),
            ("m.keras", self.zip_of("config.json", "model.weights.h5"), "Keras", "tf2onnx"),
            ("m.pth", pickle.dumps({"weight": [1.0]}, 2), "pickle", "torch.onnx.export"),
            ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(64), "HDF5", "tf2onnx"),
            ("m.tflite", b"\x1c\0\0\0TFL3" + bytes(64), "TensorFlow Lite", "--tflite"),
            ("m.ort", b"\x1c\0\0\0ORTM" + bytes(64), "ONNX Runtime's own format"),
            ("m.safetensors", struct.pack("<Q", 20) + b'{"a":{"dtype":"F32"}' + bytes(8), "safetensors", "optimum-cli"),
            ("m.gguf", b"GGUF" + bytes(64), "GGUF", "optimum-cli"),
            ("m.mlir", b"ML\xefR" + bytes(64), "StableHLO"),
            ("m.mlir", b"module @jit_f {\n}\n", "StableHLO"),
            ("m.plan", b"ftrt" + bytes(64), "TensorRT engine"),
            ("m.onnx.gz", gzip.compress(b"model"), "gzip", "| dlcost -"),
            ("m.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS", "git lfs pull"),
            ("m.onnx", b"\n<!DOCTYPE html>\n<html>", "web page"),
            ("m.xml", b'<?xml version="1.0"?>\n<net name="m" version="11">', "OpenVINO"),
            ("m.txt", b"ir_version: 8\ngraph {\n}\n", "protobuf's text", "textproto"),
            ("m.txt", b'<\n  ir_version: 8\n>\nagraph (float x) => (float y) {}', "text syntax", "onnxtxt"),
            ("m.pb", b"\x0a\x14\x0a\x05input\x12\x0bPlaceholder", "GraphDef", "tf2onnx"),
            ("report.json", run(ALEXNET, "--format", "json").stdout, "what dlcost wrote", "give the model that it is of"),
            ("config.json", b'{"architectures": ["Odd"]}', "transformers", "optimum-cli"),
            ("config.json", b'{"architectures": ["Odd"], "model_type": "od', "no whole JSON", "it may be cut"),
            ("config.json", b'{"model_type": "bert"}', "config.json: no num_hidden_layers"),
            ("config.json", b'{"model_type": "berd"}', "no network is built", "did you mean 'bert'?"),
        ):
            error = self.says(name, content)
            for part in parts:
                self.assertIn(part, error)

    def test_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn(b"is a directory", run(folder).stderr)
            with open(os.path.join(folder, "saved_model.pb"), "wb"):
                pass
            self.assertIn(b"tf2onnx.convert --saved-model", run(folder).stderr)
        self.assertIn(b"it holds ", run(NETWORKS).stderr)

    def test_standard_input(self):
        with open(ALEXNET, "rb") as file:
            piped = run("-", "--gpu", "p4", "--format", "csv", stdin=file)
        self.assertEqual((piped.returncode, piped.stderr), (0, b""))
        self.assertEqual(piped.stdout, run(ALEXNET, "--gpu", "p4", "--format", "csv").stdout)
        self.assertIn(b"standard input is empty", run("-", stdin=subprocess.DEVNULL).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
