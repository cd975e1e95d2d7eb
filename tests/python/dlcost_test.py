"""The Python module against the program: dlcost_test.py PROGRAM, in the source tree, with dlcost importable."""

import concurrent.futures
import contextlib
import functools
import importlib.util
import io
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import dlcost

PROGRAM = sys.argv[1]
NETWORKS = os.path.join("models", "networks")
RESNET = os.path.join(NETWORKS, "resnet50.onnx")
ALEXNET = os.path.join(NETWORKS, "alexnet.onnx")
BERT = os.path.join(NETWORKS, "bert-base.onnx")


def has(module):
    return importlib.util.find_spec(module) is not None


def program(*arguments):
    return json.loads(subprocess.run([PROGRAM, *arguments, "--format", "json"], capture_output=True, check=True).stdout)


def count_product(where, rows):
    """MACs and bytes of the weights of a product whose onnx.ModelProto keeps 4096 * rows bytes of them in itself."""
    import onnx
    model = onnx.ModelProto(ir_version=8, opset_import=[onnx.helper.make_opsetid("", 17)])
    graph = model.graph
    graph.name = "large"
    if where == "initializer":
        weights = graph.initializer.add()
    else:
        weights = graph.node.add(op_type="Constant", output=["w"]).attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t
    weights.name, weights.data_type = "w", onnx.TensorProto.FLOAT
    weights.dims.extend([1024, rows])
    weights.raw_data = bytes(4 * 1024 * rows)
    graph.node.add(op_type="MatMul", input=["x", "w"], output=["y"])
    graph.input.append(onnx.helper.make_tensor_value_info("x", 1, [3, 1024]))
    graph.output.append(onnx.helper.make_tensor_value_info("y", 1, [3, rows]))
    try:
        model.SerializeToString()
    except Exception:  # protobuf has none that says so
        made = dlcost.report(model)
        return made.totals.macs, made.model.weight_bytes
    raise AssertionError("protobuf writes it")


class SameAsProgram(unittest.TestCase):
    """Every function says what its command says, field by field."""

    maxDiff = 2000

    def test_report(self):
        for keywords, options in [
            (dict(), ()),
            (dict(gpu="a100", batch=8), ("--gpu", "a100", "--batch", "8")),
            (dict(gpu="v100", math="default", fusion="none"), ("--gpu", "v100", "--fusion", "none")),
            (dict(gpu="a100", changes="memory.bandwidth=8TB/s"), ("--gpu", "a100", "--set", "memory.bandwidth=8TB/s")),
            (dict(gpu="h100", dtype="f16", conv="implicit_gemm"),
             ("--gpu", "h100", "--dtype", "f16", "--algo", "conv=implicit_gemm")),
            (dict(gpu="a100", runtime="pytorch", launch="graph"),
             ("--gpu", "a100", "--runtime", "pytorch", "--launch", "graph")),
            (dict(train="adamw", batch=4, precision="amp-bf16", recompute="full"),
             ("--train", "adamw", "--batch", "4", "--precision", "amp-bf16", "--recompute", "full")),
            (dict(train="adamw", batch=4, freeze=["nothing*"] * 0), ("--train", "adamw", "--batch", "4")),
        ]:
            with self.subTest(options):
                self.assertEqual(dlcost.report(ALEXNET, **keywords).to_dict(), program(ALEXNET, *options))
        made = dlcost.report(BERT, gpu="a100", dims={"sequence": 64}, batch=2, depth=1)
        self.assertEqual(made.to_dict(),
                         program(BERT, "--gpu", "a100", "--dim", "sequence=64", "--batch", "2", "--depth", "1"))

    def test_diff(self):
        made = dlcost.diff(ALEXNET, gpu="a100", after_options={"gpu": "h100"})
        self.assertEqual(made.to_dict(), program("diff", ALEXNET, "--gpu", "a100", "--after-gpu", "h100"))

    def test_check(self):
        verdict = dlcost.check(ALEXNET, max=["macs=1G", "parameters=1M"])
        self.assertFalse(verdict)
        self.assertEqual([item.passed for item in verdict.runs[0].items], [True, False])
        self.assertTrue(dlcost.check(ALEXNET, ALEXNET))

    def test_sweep(self):
        made = dlcost.sweep(ALEXNET, batch=[1, 4], gpu=["t4", "a100"])
        self.assertEqual(made.to_dict(), program("sweep", ALEXNET, "--batch", "1,4", "--gpu", "t4,a100"))
        made = dlcost.sweep(BERT, batch=2, dims={"sequence": range(16, 49, 16)})
        self.assertEqual(made.to_dict(), program("sweep", BERT, "--batch", "2", "--dim", "sequence=16:48:16"))

    def test_devices(self):
        self.assertEqual([device.id for device in dlcost.devices()],
                         [device["id"] for device in program("gpus")["devices"]])
        self.assertEqual(dlcost.device("a100").to_dict(), program("gpus", "a100"))

    def test_train(self):
        step = dlcost.train(ALEXNET, "sgd")
        self.assertEqual(dlcost.report(step).totals.macs, dlcost.report(ALEXNET, train="sgd").totals.macs)

    def test_the_program_comes_with_the_module(self):
        command = [sys.executable, "-m", "dlcost"]
        ours = subprocess.run([*command, RESNET, "--gpu", "a100"], capture_output=True, check=True).stdout
        theirs = subprocess.run([PROGRAM, RESNET, "--gpu", "a100"], capture_output=True, check=True).stdout
        self.assertEqual(ours, theirs)
        wrong = subprocess.run([*command, "/nonexistent.onnx"], capture_output=True, check=False)
        self.assertEqual((wrong.returncode, wrong.stderr.count(b"\n")), (2, 1))
        version = subprocess.run([PROGRAM, "--version"], capture_output=True, check=True).stdout.decode()
        self.assertEqual(version.split(), ["dlcost", dlcost.__version__])

    def test_the_hook_checks_every_model_that_it_is_given(self):
        hook = [sys.executable, "-m", "dlcost.pre_commit", "--max", "macs=1G"]
        for models, code in (([ALEXNET], 0), ([ALEXNET, RESNET], 1), ([], 0)):
            said = subprocess.run([*hook, *models], capture_output=True, check=False, text=True)
            self.assertEqual(said.returncode, code, said.stderr)
            self.assertEqual(said.stdout.count("batch=1: "), len(models))
        against = subprocess.run([*hook[:3], "--baseline", ALEXNET, ALEXNET], capture_output=True, check=False, text=True)
        self.assertEqual((against.returncode, against.stdout.count("batch=1: ")), (0, 1))


class Models(unittest.TestCase):
    def setUp(self):
        self.expected = dlcost.report(ALEXNET).totals.to_dict()
        with open(ALEXNET, "rb") as file:
            self.bytes = file.read()

    def check(self, model):
        self.assertEqual(dlcost.report(model).totals.to_dict(), self.expected)

    def test_bytes_and_paths(self):
        import pathlib
        for model in (self.bytes, bytearray(self.bytes), memoryview(self.bytes), pathlib.Path(ALEXNET),
                      dlcost.load(ALEXNET)):
            self.check(model)

    @unittest.skipUnless(has("onnx"), "onnx is not installed")
    def test_model_proto_with_weights(self):
        import numpy
        import onnx
        from onnx import numpy_helper
        model = onnx.load_model_from_string(self.bytes)
        self.check(model)
        weights = numpy.zeros((4096, 8192), numpy.float32)  # 128 MB: beyond what is copied
        node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
        info = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph([node], "product", [info("x", 1, [3, 4096])], [info("y", 1, [3, 8192])],
                                       [numpy_helper.from_array(weights, "w")])
        made = dlcost.report(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]))
        self.assertEqual(made.totals.macs, 3 * 4096 * 8192)
        self.assertEqual(made.model.weight_bytes, 4 * 4096 * 8192)
        self.assertEqual(made.model.path, "product")

    @unittest.skipUnless(has("onnx"), "onnx is not installed")
    def test_weights_wherever_a_proto_keeps_them(self):
        import onnx
        from unittest import mock
        k = 4096

        def tensor(added, name, typed):
            added.name, added.data_type = name, onnx.TensorProto.FLOAT
            added.dims.extend([k, k])
            if typed:
                added.float_data.extend([0] * (k * k))
            else:
                added.raw_data = bytes(4 * k * k)

        def branch(node, name):  # x times a weight of 64 MB, raw; and a constant of 64 MB
            attribute = node.attribute.add(name=name, type=onnx.AttributeProto.GRAPH)
            graph = attribute.g
            graph.name = name
            tensor(graph.initializer.add(), name + "w", typed=False)
            tensor(graph.node.add(op_type="Constant", output=[name + "c"]).attribute.add(
                name="value", type=onnx.AttributeProto.TENSOR).t, name + "c", typed=False)
            graph.node.add(op_type="MatMul", input=["x", name + "w"], output=[name + "h"])
            graph.node.add(op_type="MatMul", input=[name + "h", name + "c"], output=[name + "y"])
            graph.output.add(name=name + "y")

        model = onnx.ModelProto(ir_version=8, opset_import=[onnx.helper.make_opsetid("", 17)])
        model.graph.name = "everywhere"
        model.graph.input.extend([onnx.helper.make_tensor_value_info("given", 1, [3, k]),
                                  onnx.helper.make_tensor_value_info("which", 9, [])])
        tensor(model.graph.initializer.add(), "typed", typed=True)
        model.graph.node.add(op_type="MatMul", input=["given", "typed"], output=["x"])
        choice = model.graph.node.add(name="choice", op_type="If", input=["which"], output=["y"])
        branch(choice, "then_branch")
        branch(choice, "else_branch")
        model.graph.output.add(name="y")
        as_bytes = dlcost.report(model.SerializeToString())
        self.assertEqual(as_bytes.totals.macs, 3 * 3 * k * k)
        with mock.patch("dlcost._models._LARGE", 0), mock.patch("dlcost._models.Model.from_bytes") as from_bytes:
            dlcost.load(model)
            light, name = from_bytes.call_args.args
        self.assertEqual(name, "everywhere")
        self.assertLess(len(light), 2000)  # of 5 * 64 MB nothing is left
        from_light = dlcost.report(light)
        self.assertEqual(from_light.totals.to_dict(), as_bytes.totals.to_dict())
        self.assertEqual(from_light.model.weight_bytes, as_bytes.model.weight_bytes)
        self.assertEqual([node.to_dict() for node in from_light.nodes], [node.to_dict() for node in as_bytes.nodes])

    @unittest.skipUnless(has("onnx"), "onnx is not installed")
    def test_more_than_protobuf_can_write(self):
        if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 8 << 30:
            self.skipTest("less than 8 GB of memory are free")
        rows = 600_000  # times 1024 elements of four bytes: 2.46 GB
        for where in ("initializer", "constant"):
            with concurrent.futures.ProcessPoolExecutor(1) as executor:  # which gives its memory back
                counted = executor.submit(count_product, where, rows).result()
            self.assertEqual(counted, (3 * 1024 * rows, 4 * 1024 * rows), where)

    @unittest.skipUnless(has("onnx"), "onnx is not installed")
    def test_weights_in_a_file_that_is_not_there(self):
        import onnx
        model = onnx.load_model_from_string(self.bytes)
        for tensor in model.graph.initializer:
            if len(tensor.raw_data) > 4096:
                tensor.ClearField("raw_data")
                tensor.data_location = onnx.TensorProto.EXTERNAL
                tensor.external_data.add(key="location", value="gone.bin")
        self.check(model)
        self.check(model.SerializeToString())
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            onnx.save(model, file.name)
            self.check(file.name)
            if has("onnx_ir"):
                import onnx_ir
                self.check(onnx_ir.load(file.name))

    @unittest.skipUnless(has("onnxscript"), "onnxscript is not installed")
    def test_onnxscript(self):
        from scripted import outer
        report = dlcost.report(outer, batch=4, gpu="a100")
        self.assertEqual((report.totals.macs, report.model.path), (4 * 256 * 64, "outer"))
        self.assertEqual(dlcost.diff(outer, outer.to_model_proto(), batch=4).changes, [])

    @unittest.skipUnless(has("onnx_ir") and has("onnx"), "onnx-ir is not installed")
    def test_weights_wherever_onnx_ir_keeps_them(self):
        import onnx_ir as ir
        k = 4096

        def lazy():
            return ir.LazyTensor(lambda: self.fail("values are not asked for"), dtype=ir.DataType.FLOAT,
                                 shape=ir.Shape([k, k]))

        def product(x, name):  # with a weight, a weight that has only a type, and a constant
            weight = ir.Value(name=name + "w", const_value=lazy())
            absent = ir.Value(name=name + "a", shape=ir.Shape([k, k]), type=ir.TensorType(ir.DataType.FLOAT))
            constant = ir.Node("", "Constant", [], attributes=[ir.AttrTensor("value", lazy())],
                               outputs=[ir.Value(name=name + "c")])
            nodes = [constant]
            for factor in (weight, absent, constant.outputs[0]):
                last = nodes[-1].outputs[0] if len(nodes) > 1 else x
                nodes.append(ir.Node("", "MatMul", [last, factor], outputs=[ir.Value(name=f"{name}{len(nodes)}")]))
            return nodes, [weight, absent]

        x = ir.Value(name="x", shape=ir.Shape([2, k]), type=ir.TensorType(ir.DataType.FLOAT))
        nodes, weights = product(x, "top")
        which = ir.Value(name="which", shape=ir.Shape([]), type=ir.TensorType(ir.DataType.BOOL))
        branches = []
        for name in ("then_branch", "else_branch"):
            inside, held = product(nodes[-1].outputs[0], name)
            branches.append(ir.AttrGraph(name, ir.Graph([], [inside[-1].outputs[0]], nodes=inside, initializers=held, name=name)))
        nodes.append(ir.Node("", "If", [which], attributes=branches, name="choice"))
        graph = ir.Graph([x, which], [nodes[-1].outputs[0]], nodes=nodes, initializers=weights, name="everywhere",
                         opset_imports={"": 18})
        model = ir.Model(graph, ir_version=10)
        with concurrent.futures.ThreadPoolExecutor(4) as executor:
            for report in executor.map(dlcost.report, [model] * 8):
                self.assertEqual(report.totals.macs, 2 * 3 * 2 * k * k)
        # The caller's model is as it was.
        self.assertIsInstance(weights[0].const_value, ir.LazyTensor)
        self.assertIsNone(weights[1].const_value)
        self.assertIsInstance(nodes[0].attributes["value"].value, ir.LazyTensor)
        self.assertRaisesRegex(dlcost.Error, "onnx_ir.Graph is no model", dlcost.report, graph)

    @unittest.skipUnless(has("onnx_ir") and has("onnx"), "onnx-ir is not installed")
    def test_onnx_ir(self):
        import onnx
        import onnx_ir
        self.check(onnx_ir.serde.deserialize_model(onnx.load_model_from_string(self.bytes)))

    def test_configurations(self):
        path = os.path.join("tests", "networks", "configs", "qwen2.5-0.5b.json")
        with open(path, encoding="utf-8") as file:
            config = json.load(file)

        class Configuration:  # as transformers.PretrainedConfig tells itself
            model_type = config["model_type"]

            @staticmethod
            def to_json_string(use_diff=True):
                return json.dumps({} if use_diff else config)

        with open(path, "rb") as file:
            written = file.read()
        for model in (path, config, written, Configuration()):
            report = dlcost.report(model, dims={"sequence": 128})
            # 494,032,768 parameters on huggingface.co, and 32 rotary frequencies.
            self.assertEqual(report.model.parameters, 494032768 + 32)
        self.assertRaisesRegex(dlcost.Error, "no hidden_size", dlcost.report, {"model_type": "llama"})

    def test_wrong_input_is_an_error_of_one_line(self):
        for model in ("/nonexistent.onnx", b"", b"text", 17, None):
            with self.assertRaises(dlcost.Error) as caught:
                dlcost.report(model)
            self.assertNotIn("\n", str(caught.exception))
        self.assertRaisesRegex(dlcost.Error, "did you mean 'h100", dlcost.report, ALEXNET, gpu="h10o")
        self.assertRaisesRegex(dlcost.Error, "did you mean 'ideal'", dlcost.report, ALEXNET, fusion="idael")
        self.assertRaisesRegex(dlcost.Error, "sequence", dlcost.report, BERT)
        self.assertRaisesRegex(TypeError, "did you mean 'batch'", dlcost.report, ALEXNET, bacth=1)
        self.assertTrue(issubclass(dlcost.Error, ValueError))

    def test_errors_name_what_python_has(self):
        for words, call in [
            (r"^batch '8' is no whole number$", lambda: dlcost.report(ALEXNET, batch="8")),
            (r"^batch 8.0 is no whole number$", lambda: dlcost.report(ALEXNET, batch=8.0)),
            (r"^dims: sequence '128' is no whole number$", lambda: dlcost.report(BERT, dims={"sequence": "128"})),
            (r"^dims \['sequence=128'\] is no dictionary, such as \{'sequence': 128\}$",
             lambda: dlcost.report(BERT, dims=["sequence=128"])),
            (r"for example: dims=\{'sequence': 128\}$", lambda: dlcost.report(BERT)),
            (r": dims sequnce: no input .*did you mean 'sequence'", lambda: dlcost.report(BERT, dims={"sequnce": 8})),
            (r"^train 'adamm' is not one of", lambda: dlcost.train(ALEXNET, "adamm")),
            (r"^changes memory.bandwith: .*did you mean 'bandwidth'", lambda: dlcost.device("a100", changes="memory.bandwith=3TB/s")),
            (r"^gpu is one device here; dlcost.rank and dlcost.sweep take several$", lambda: dlcost.report(ALEXNET, gpu=["a100", "h100"])),
            (r"^gpu 5 is no device", lambda: dlcost.report(ALEXNET, gpu=5)),
            (r"^dtype 16 is no name$", lambda: dlcost.report(ALEXNET, dtype=16)),
            (r"^batch 8:1: the range runs backwards; write 1:8$", lambda: dlcost.sweep(ALEXNET, batch="8:1")),
            (r"^batch '8' is no whole number$", lambda: dlcost.sweep(ALEXNET, batch="8")),
        ]:
            self.assertRaisesRegex(dlcost.Error, words, call)
        self.assertRaisesRegex(TypeError, "did you mean 'gpu'", dlcost.report, ALEXNET, gpus="a100")
        self.assertEqual(str(dlcost.Error("a--dim/x--batch 2.onnx")), "a--dim/x--batch 2.onnx")  # names stay


class Results(unittest.TestCase):
    def test_fields_are_attributes(self):
        report = dlcost.report(RESNET, gpu="a100")
        self.assertIsInstance(report.totals.macs, int)
        self.assertEqual(report.kernels[0].op, report["kernels"][0]["op"])
        self.assertIn("totals", dir(report))
        self.assertRaisesRegex(AttributeError, "no field 'makcs'", lambda: report.totals.makcs)
        self.assertIn("resnet50.onnx on a100-sxm4-80gb", repr(report))
        self.assertIn("limited by", str(report))

    def test_tables(self):
        report = dlcost.report(RESNET, gpu="a100")
        columns = report.kernels.columns()
        self.assertEqual(sum(columns["macs"]), report.totals.macs)
        self.assertEqual({len(cells) for cells in columns.values()}, {len(report.kernels)})
        if has("pandas"):
            self.assertEqual(int(report.to_pandas("op")["macs"].sum()), report.totals.macs)
            self.assertEqual(len(dlcost.sweep(ALEXNET, batch=[1, 2]).to_pandas()), 2)
        if has("pyarrow"):
            self.assertEqual(report.to_arrow().num_rows, len(report.kernels))

    @unittest.skipUnless(has("pyarrow"), "pyarrow is not installed")
    def test_arrow_takes_the_columns_as_they_are(self):
        import pyarrow
        step = dlcost.report(ALEXNET, gpu="a100", train="adamw", batch=4)
        for by in ("op", "scope", "phase", "node", "kernel"):
            for report in (dlcost.report(BERT, dims={"sequence": 16}), step):
                # What pyarrow makes of the rows one value after the other.
                table = report.to_arrow(by)
                table.validate(full=True)
                self.assertEqual(table.to_pylist(), report.rows(by).to_arrow().to_pylist(), by)
        sweep = dlcost.sweep(ALEXNET, batch=[1, 2], gpu="t4")
        self.assertTrue(sweep.to_arrow().equals(sweep.points.to_arrow()))
        table, again = pyarrow.table(step), step._table()
        self.assertEqual(pyarrow.types.is_int64(table.schema.field("macs").type), True)
        self.assertEqual(sum(table["macs"].to_pylist()), step.totals.macs)
        # Nothing is copied: two tables of one are in the same memory, which outlives what made it.
        first, second = pyarrow.table(again), pyarrow.table(again)
        del again
        for name in ("macs", "expected_s", "op"):
            for one, other in zip(first[name].chunk(0).buffers(), second[name].chunk(0).buffers()):
                self.assertEqual(one and one.address, other and other.address, name)
        self.assertEqual(first["macs"].chunk(0).to_numpy(zero_copy_only=True).sum(), step.totals.macs)
        self.assertRaisesRegex(dlcost.Error, "not one of op, scope, phase", step.to_arrow, "colour")

    def test_columns_of_any_rows(self):
        from dlcost import _core
        self.assertEqual(len(_core.Table('{"a": {"b": []}}', "a.b")), 0)
        for json_text, path, words in (('{"a": 1}', "b", "no rows 'b'"), ('{"a": [1]}', "a", "other than rows"), ("{", "a", "parse"),
                                       ('{"a": [{"x": 1}, {"x": "y"}]}', "a", "several kinds"), ("[]", "", "no rows")):
            self.assertRaisesRegex(dlcost.Error, words, _core.Table, json_text, path)
        if not has("pyarrow"):
            self.skipTest("pyarrow is not installed")
        import pyarrow
        rows = [{"i": 1, "late": None, "in": {"x": 1.5, "deep": {"y": True}}, "list": [{"n": "a", "s": [1, 2]}, {"n": "b", "t": None}]},
                {"i": 2, "other": "\u00e9", "late": 7, "in": {"x": 2}, "list": []}, {},
                {"late": 8, "other": "", "list": [{"t": False}], "nothing": None, "i": -1}]
        table = pyarrow.table(_core.Table(json.dumps({"x": [{"rows": rows}], "rows": rows}), "rows"))
        table.validate(full=True)
        self.assertEqual(table.to_pylist(), dlcost.Rows(dlcost.Record(row) for row in rows).to_arrow().to_pylist())

    def test_notebooks_show_the_page(self):
        report = dlcost.report(ALEXNET, gpu="a100")
        self.assertIn("<iframe srcdoc=", report._repr_html_())
        self.assertIn("|", dlcost.diff(ALEXNET, RESNET)._repr_markdown_())

    def test_results_can_be_pickled(self):
        def copied(result):
            return pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(result))))

        report = dlcost.report(ALEXNET, gpu="a100")
        copy = copied(report)
        self.assertIsInstance(copy, dlcost.Report)
        self.assertEqual((copy.totals.macs, str(copy), copy.to_json()), (report.totals.macs, str(report), report.to_json()))
        # What a report can do it does from its JSON, which has all but the words in which kernels are told.
        for by in ("op", "scope", "node", "kernel"):
            self.assertEqual([line.split(",")[0] for line in copy.csv(by).splitlines()],
                             [line.split(",")[0] for line in report.csv(by).splitlines()])
        self.assertEqual(repr(copy), repr(report))
        self.assertIn("<html", copy.html())
        self.assertEqual(dlcost.diff(copy, report).changes, [])
        self.assertEqual(copy.rows("kernel").columns(), report.rows("kernel").columns())
        # Others keep their fields, their tables and their text.
        for result in (dlcost.diff(ALEXNET, RESNET), dlcost.check(report, max=["macs=1M"]), dlcost.sweep(ALEXNET, batch=[1, 2])):
            copy = copied(result)
            self.assertEqual((type(copy), copy.to_dict(), str(copy)), (type(result), result.to_dict(), str(result)))
            self.assertEqual(copy.text(), result.text())
            self.assertEqual(bool(copy), bool(result))
        self.assertRaisesRegex(dlcost.Error, "from another process", copy.csv)
        device = copied(dlcost.device("a100", changes=["memory.bandwidth=4TB/s"]))
        self.assertEqual(device.memory.bandwidth, 4e12)
        self.assertEqual(dlcost.report(ALEXNET, gpu=device).device.bytes_per_s, 4e12)

    def test_part_of_a_table_is_one(self):
        kernels = dlcost.report(ALEXNET).kernels
        self.assertEqual(kernels[:3].columns()["id"], ["k1", "k2", "k3"])
        self.assertEqual(kernels[-1].id, kernels.columns()["id"][-1])

    def test_a_written_report_reads(self):
        report = dlcost.report(ALEXNET, gpu="a100")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(report.to_json())
            file.flush()
            self.assertEqual(dlcost.read_report(file.name).totals.macs, report.totals.macs)
            self.assertTrue(dlcost.check(ALEXNET, file.name, gpu="a100"))


class ManyModels(unittest.TestCase):
    def test_map(self):
        paths = [ALEXNET, RESNET] * 4
        expected = [report.to_json() for report in dlcost.map(dlcost.report, paths, gpu="t4")]
        for executor in (concurrent.futures.ThreadPoolExecutor(8), concurrent.futures.ProcessPoolExecutor(2)):
            with executor:
                made = dlcost.map(dlcost.report, paths, executor=executor, gpu="t4")
            self.assertEqual([report.to_json() for report in made], expected)

    def test_eight_threads_over_one_model(self):
        model, lengths = dlcost.load(BERT), [16 * (1 + i % 4) for i in range(32)]
        count = functools.partial(dlcost.report, model, gpu="h100")
        expected = {length: count(dims={"sequence": length}).to_json() for length in set(lengths)}
        with concurrent.futures.ThreadPoolExecutor(8) as executor:
            made = list(executor.map(lambda length: count(dims={"sequence": length}).to_json(), lengths))
        self.assertEqual(made, [expected[length] for length in lengths])

    @unittest.skipUnless(has("distributed"), "no distributed")
    def test_map_over_dask(self):
        import distributed
        paths = [ALEXNET, RESNET] * 2
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
                distributed.Client(cluster) as client, client.get_executor() as executor:
            made = dlcost.map(dlcost.report, paths, executor=executor, gpu="t4")
        self.assertEqual([report.to_json() for report in made],
                         [dlcost.report(path, gpu="t4").to_json() for path in paths])

    def test_counting_lets_other_threads_run(self):
        model, done, turns = dlcost.load(RESNET), threading.Event(), 0
        def work():
            for _ in range(20):
                dlcost.report(model, gpu="a100").to_json()
            done.set()
        worker = threading.Thread(target=work)
        worker.start()
        while not done.is_set():
            turns += 1
            time.sleep(0)
        worker.join()
        self.assertGreater(turns, 20)


class Costs(unittest.TestCase):
    """What users wait for, in processor time; limits are loose, for machines that are busy."""

    def test_import(self):
        def seconds(code):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        took = min(seconds("import dlcost") for _ in range(5)) - min(seconds("pass") for _ in range(5))
        print(f"import dlcost: {1e3 * took:.1f} ms", file=sys.stderr)
        self.assertLess(took, 0.05)

    def test_a_call_parses_nothing(self):
        model = dlcost.load(RESNET)
        report = dlcost.report(model)
        self.assertIsNone(report._parsed)  # fields are read when they are asked for
        self.assertGreater(report.totals.macs, 0)
        self.assertIsNotNone(report._parsed)


@unittest.skipUnless(has("torch"), "PyTorch is not installed")
class Torch(unittest.TestCase):
    def test_counts_and_names(self):
        import torch

        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = torch.nn.Conv2d(3, 8, 3)
                self.norm = torch.nn.BatchNorm2d(8)

            def forward(self, x):
                return torch.relu(self.norm(self.conv(x)))

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.stem = Block()
                self.head = torch.nn.Linear(8 * 30 * 30, 10)

            def forward(self, x):
                return self.head(self.stem(x).flatten(1))

        net = Net().eval()
        report = dlcost.torch.report(net, torch.zeros(2, 3, 32, 32), gpu="a100")
        self.assertEqual(report.totals.macs, 2 * (8 * 3 * 9 * 30 * 30 + 8 * 30 * 30 * 10))
        learned = sum(p.numel() for p in net.parameters())
        self.assertEqual(report.model.parameters, learned + 2 * 8)  # and the statistics of the norm
        scopes = {node.op: node.scope for node in report.nodes}
        self.assertEqual((scopes["Conv"], scopes["Gemm"]), ("stem/conv", "head"))
        self.assertFalse(next(net.parameters()).is_meta)  # the user's module is as it was

    def test_no_weight_has_to_exist(self):
        import torch
        layers = [torch.nn.Linear(8192, 8192, bias=False, device="meta") for _ in range(100)]  # 27 GB in single precision
        report = dlcost.torch.report(torch.nn.Sequential(*layers), torch.empty(4, 8192, device="meta"), gpu="h100")
        self.assertEqual(report.totals.macs, 100 * 4 * 8192 * 8192)
        self.assertEqual(report.model.parameters, 100 * 8192 * 8192)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 4 << 20)  # KiB

    def test_tied_weights_count_once(self):
        import torch

        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = torch.nn.Embedding(100, 16)
                self.head = torch.nn.Linear(16, 100, bias=False)
                self.head.weight = self.embed.weight

            def forward(self, ids):
                return self.head(self.embed(ids))

        report = dlcost.torch.report(Tied(), torch.ones(2, 8, dtype=torch.long), input_names=["ids"],
                                     dynamic_axes={"ids": {1: "sequence"}}, dims={"sequence": 32})
        self.assertEqual(report.totals.macs, 2 * 32 * 16 * 100)
        self.assertEqual(report.model.parameters, 1600)

    def test_torch_export_counts_the_same(self):
        import torch
        if not hasattr(torch.onnx, "ONNXProgram"):
            self.skipTest(f"PyTorch {torch.__version__} has no torch.export to ONNX")

        class Mixer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
                self.conv = torch.nn.Conv1d(64, 64, 3, padding=1)

            def forward(self, x):
                return self.conv(self.layer(x).transpose(1, 2))

        mixer, x = Mixer().eval(), torch.empty(2, 16, 64)
        # Four projections and two products of attention, two of the feed-forward layer, a convolution.
        tokens = 2 * 16
        macs = tokens * (4 * 64 * 64 + 2 * 16 * 64 + 2 * 64 * 128 + 64 * 64 * 3)
        for exporter in ("export", "torchscript"):
            report = dlcost.torch.report(mixer, x, exporter=exporter)
            self.assertEqual(report.totals.macs, macs, exporter)
            self.assertEqual({node.scope for node in report.nodes if node.op == "Conv"}, {"conv"})
            self.assertEqual([scope for scope in {node.scope for node in report.nodes} if "hook" in scope], [])
        learned = sum(p.numel() for p in mixer.parameters())
        self.assertEqual(dlcost.torch.report(mixer, x, exporter="export").model.parameters, learned)
        batch = torch.export.Dim("batch")
        opened = dlcost.torch.report(mixer, x, dynamic_shapes=({0: batch},), dims={"batch": 6})
        self.assertEqual(opened.totals.macs, 3 * macs)

    def test_inputs_have_names_and_results_may_be_objects(self):
        import torch

        class Chat(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Linear(16, 16))

            def forward(self, ids=None, mask=None, scale=None, keep=True):
                x = self.layers(ids) * scale
                return {"hidden": x if mask is None else x * mask, "cache": object() if keep else None}

        chat, x = Chat(), torch.zeros(5, 16)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for inputs in ({"ids": x, "scale": 2.0, "mask": x}, (x, None, 2.0), (x, {"scale": 2.0}), (x, x, 2.0, False)):
                report = dlcost.torch.report(chat, inputs)
                self.assertEqual(report.totals.macs, 2 * 5 * 16 * 16)
                self.assertEqual({node.scope for node in report.nodes if node.macs}, {"layers/0", "layers/1"})
        self.assertEqual(printed.getvalue(), "")

    def test_what_cannot_be_traced_without_values_says_nothing(self):
        # Its output is smaller than what is pooled, by a factor that the exporter wants to know.
        code = ("import torch, dlcost\n"
                "pool = torch.nn.Sequential(torch.nn.MaxPool2d(2), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(),"
                " torch.nn.Linear(12, 4))\n"
                "print(dlcost.torch.report(pool, torch.zeros(1, 3, 8, 8)).totals.macs)\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "48\n")

    def test_wrong_input(self):
        import torch
        self.assertRaises(dlcost.Error, dlcost.torch.report, 17, None)
        line = torch.nn.Linear(2, 2)
        with self.assertRaisesRegex(dlcost.Error, "not one of torchscript, export"):
            dlcost.torch.report(line, torch.empty(1, 2), exporter="dynamo")
        with self.assertRaisesRegex(dlcost.Error, "dynamic_shapes of export|has no"):
            dlcost.torch.report(line, torch.empty(1, 2), exporter="export", dynamic_axes={"x": {0: "n"}})

    def test_the_command_counts_what_a_function_builds(self):
        def run(*arguments):
            return subprocess.run([sys.executable, "-m", "dlcost", *arguments], capture_output=True, text=True, check=False)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "models.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import torch\n"
                           "def narrow(): return torch.nn.Linear(64, 32), torch.empty(5, 64)\n"
                           "def wide(): return {'module': torch.nn.Linear(64, 128), 'example_inputs': torch.empty(5, 64)}\n"
                           "def broken(): raise RuntimeError('no\\nluck')\n"
                           "def number(): return 17\n")
            done = run(f"{path}:narrow", "--format", "json")
            report = json.loads(done.stdout)
            self.assertEqual(report["totals"]["macs"], 5 * 64 * 32)
            self.assertEqual(report["model"]["path"], f"{path}:narrow")
            done = run("diff", f"{path}:narrow", f"{path}:wide", "--format", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            for function, words in (("broken", "RuntimeError: no luck"), ("number", "returned int"), ("absent", "no function 'absent'")):
                done = run(f"{path}:{function}")
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
                self.assertIn(words, done.stderr)
        done = subprocess.run([PROGRAM, "models.py:build"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn("runs no Python", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
