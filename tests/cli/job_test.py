#!/usr/bin/env python3
"""A training on many devices, from the command line: job_test.py PROGRAM SOURCE."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import json_schema  # beside this file

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
BERT = os.path.join(SOURCE, "models/networks/bert-base.onnx")
RESNET = os.path.join(SOURCE, "models/networks/resnet50.onnx")


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)


def load(*arguments):
    result = run(*arguments, "--format", "json")
    assert result.returncode == 0, result.stderr
    wrong = json_schema.violations(result.stdout)
    assert not wrong, wrong
    return json.loads(result.stdout)


class Job(unittest.TestCase):
    def fails(self, *arguments, says):
        result = run(*arguments)
        self.assertEqual(result.returncode, 2, arguments)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("dlcost: "), result.stderr)
        self.assertIn(says, result.stderr)
        self.assertEqual(result.stdout, "")

    def test_ring_of_facenet(self):
        for bandwidth, seconds in (("100GB/s", 140895744 / 100e9), ("25Gbit/s", 140895744 / 3.125e9)):
            row = load("collective", "all_reduce", "--bandwidth", bandwidth, "--devices", "4",
                       "--bytes", "93930496")["rows"][0]
            self.assertEqual(row["ring_bytes"], 140895744)
            self.assertAlmostEqual(row["time_s"], seconds, 12)

    def test_a_stage_keeps_what_its_own_way_back_reads(self):
        """Of layers that are computed again their inputs, [32, 64] in float32, the input of the next stage's first layer
        on that stage; before the first layer the mask of a dropout and the tokens."""
        layer, embedding = 32 * 64 * 4, 32 * 64 + 32 * 8
        last = 2 * layer + 2 * 32 * 4  # what the last normalization and the head read, and its statistics
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gpt2.onnx")
            made = run("network", "gpt2", "layers=4", "width=64", "heads=4", "positions=32", "vocabulary=100",
                       "dropout=kept", "-o", path)
            self.assertEqual(made.returncode, 0, made.stderr)
            for plan, saved in (("pp=2", 2 * (2 * layer + embedding)), ("pp=4", 4 * (layer + embedding)),
                                ("dp=2", 4 * layer + embedding + last)):
                plans = load("parallel", path, "--system", "dgx-a100", "--loss", "none", "--train", "adamw", "--dim",
                             "sequence=32", "--micro-batch", "1", "--global-batch", "8", "--recompute", "scopes",
                             "--parallel", plan)["plans"]
                self.assertEqual(plans[0]["saved_bytes"], saved, plan)

    def test_sizes_of_a_collective(self):
        rows = load("collective", "all_gather", "--system", "dgx-a100", "--devices", "2,8", "--bytes",
                    "1KiB:1MiB:x32,3MB")["rows"]
        self.assertEqual([(r["devices"], r["bytes"]) for r in rows],
                         [(n, b) for n in (2, 8) for b in (1024, 32768, 1048576, 3000000)])

    def test_input_chain_as_published(self):
        arguments = ("input", "--item", "150528B", "--storage", "10GB/s", "--host-link", "32GB/s")
        raw = load(*arguments, "--compute", "1050")
        self.assertEqual([int(s["items_per_s"]) for s in raw["stages"]], [66432, 212585, 1050])
        self.assertEqual(round(raw["stages"][0]["items_per_s"]), 66433)
        self.assertEqual(raw["bound_by"], "compute")
        # 140 GB of JPEG for 1.2 million images; 20 GFLOP an image.
        stored = str(140_000_000_000 / 1_200_000) + "B"
        jpeg = load(*arguments, "--stored", stored, "--compute", "151TFLOP/s", "--work", "20e9")
        self.assertEqual(round(jpeg["stages"][0]["items_per_s"]), 85714)
        self.assertAlmostEqual(jpeg["items_per_s"], 7550)

    def test_a_slow_stage_bounds(self):
        chain = load("input", "--item", "150528B", "--decode", "250", "--cores", "8", "--compute", "7550")
        self.assertEqual((chain["bound_by"], chain["items_per_s"]), ("decode", 2000))

    def check_trace(self, trace):
        """What the Trace Event Format asks for, and Perfetto, which drops slices that overlap without nesting; returns
        the complete events."""
        threads, events = {}, []
        for event in trace["traceEvents"]:
            self.assertIsInstance(event["pid"], int)
            self.assertIn(event["ph"], "MX")
            if event["ph"] == "M":
                self.assertIn(event["name"], ("process_name", "thread_name"))
                self.assertIsInstance(event["args"]["name"], str)
                if event["name"] == "thread_name":
                    self.assertNotIn(event["tid"], threads)
                    threads[event["tid"]] = []
                continue
            self.assertTrue(event["name"])
            self.assertGreaterEqual(event["ts"], 0)
            self.assertGreaterEqual(event["dur"], 0)
            events.append(event)
            # To the nanosecond, as Perfetto keeps times.
            start, duration = (round(event[key] * 1000) for key in ("ts", "dur"))
            self.assertAlmostEqual(event["ts"] * 1000, start, 3)
            self.assertAlmostEqual(event["dur"] * 1000, duration, 3)
            threads[event["tid"]].append((start, start + duration))
        for slices in threads.values():
            slices.sort()
            for (_, end), (start, _) in zip(slices, slices[1:]):
                self.assertLessEqual(end, start)
        return events

    def test_trace_adds_up_to_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "step.json")
            job = ("scale", RESNET, "--system", "dgx-a100", "--devices", "8", "--train", "sgd", "--batch", "32")
            point = load(*job)["points"][0]
            self.assertEqual(run(*job, "--format", "perfetto", "-o", trace).returncode, 0)
            # Other commands read what --trace names; it wrote here, once.
            self.fails(*job, "--trace", trace, says=f"--format perfetto -o {trace}")
            self.assertNotIn("--trace", run("scale", "--help").stdout)
            with open(trace, encoding="utf-8") as file:
                events = self.check_trace(json.load(file))
            busy = {}
            for event in events:
                busy[event["tid"]] = busy.get(event["tid"], 0) + event["dur"] * 1e-6
            nanoseconds = len(events) * 1e-9  # each is rounded to one
            self.assertAlmostEqual(busy[1], point["compute_s"], delta=nanoseconds)
            self.assertAlmostEqual(busy[2], point["communication_s"], delta=nanoseconds)
            self.assertAlmostEqual(max(e["ts"] + e["dur"] for e in events) * 1e-6, point["step_s"], 9)
            # Our own reader reads it back: the time from the first start to the last end.
            back = load("measured", trace, "--gpu", "a100")
            self.assertIn("schema", back)

    def test_one_device_takes_as_long_as_the_report_says(self):
        """Kernels that wait for the host among them: a job of small ones is bound by it as a single run is."""
        runtimes = [r["id"] for r in load("runtimes")["runtimes"]]
        self.assertIn("pytorch-eager", runtimes)
        shape = ("--train", "adamw", "--dim", "sequence=16")
        steps = {}
        for runtime in runtimes:
            alone = run(BERT, "--gpu", "a100", "--batch", "2", *shape, "--runtime", runtime, "--format", "json")
            if alone.returncode != 0:  # of another vendor's devices
                self.assertIn(runtime, alone.stderr)
                continue
            steps[runtime] = json.loads(alone.stdout)["totals"]["expected_s"]
            plan = load("parallel", BERT, "--system", "dgx-a100", *shape, "--runtime", runtime, "--parallel", "dp=1",
                        "--micro-batch", "2")["plans"][0]
            self.assertAlmostEqual(plan["step_s"], steps[runtime], 12, runtime)
            point = load("scale", BERT, "--system", "dgx-a100", *shape, "--runtime", runtime, "--devices", "1", "--batch",
                         "2")["points"][0]
            self.assertAlmostEqual(point["step_s"], steps[runtime], 12, runtime)
        self.assertGreater(steps["pytorch-eager"], 1.5 * steps["pytorch-compile"])

    def test_whole_experts_and_sequences(self):
        with tempfile.TemporaryDirectory() as folder:
            config = os.path.join(folder, "config.json")
            with open(config, "w", encoding="utf-8") as file:
                json.dump({"model_type": "mixtral", "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 2,
                           "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 4096,
                           "num_local_experts": 8, "num_experts_per_tok": 2}, file)  # fmt: skip
            common = ("parallel", config, "--system", "dgx-h100", "--train", "adamw", "--dim", "sequence=1024")

            def plan(text, *more):
                return load(*common, "--parallel", text, "--micro-batch", "1", "--global-batch", "8", *more)

            whole, shared = plan("dp=8")["plans"][0], plan("dp=8,ep=8")["plans"][0]
            # Two there and two back in each layer: 1,024 tokens for two experts, of 512 numbers in f32.
            self.assertEqual(shared["split_exchanges"], 2 * 4)
            self.assertEqual(shared["split_sent_bytes"], 8 * 1024 * 2 * 512 * 4 * 7 // 8)
            # Seven of eight experts' weights, gradients, and the optimizer's two states, in f32.
            experts = 2 * 8 * 3 * 512 * 2048
            self.assertEqual(whole["lasting_bytes"] - shared["lasting_bytes"], experts * 7 // 8 * 4 * 4)
            self.assertLess(plan("dp=8,ep=4,zero=1")["plans"][0]["lasting_bytes"], shared["lasting_bytes"] * 2)
            busy = plan("dp=8,ep=8", "--expert-load", "1.5")["plans"][0]
            self.assertEqual(busy["split_sent_bytes"] * 2, shared["split_sent_bytes"] * 3)
            self.assertGreater(busy["step_s"], shared["step_s"])
            parts = plan("cp=8")["plans"][0]
            self.assertLess(parts["saved_bytes"], whole["saved_bytes"] / 7)
            # Keys and values of 4 heads of 64, gathered, gathered again on the way back, and their gradients.
            self.assertEqual(parts["split_exchanges"], 2 * 2 * 3)
            best = load(*common, "--parallel", "auto", "--devices", "8", "--global-batch", "8")["plans"]
            self.assertTrue(any("ep=8" in p["plan"] for p in best))
            self.fails(*common, "--parallel", "dp=3,ep=2", says="dp=4 would do")
            # Experts have no replicas that could share them out; all else is gathered before it is read.
            gathered = plan("dp=8,ep=8,zero=3")["plans"][0]
            self.assertLess(gathered["lasting_bytes"], plan("dp=8,ep=8,zero=2")["plans"][0]["lasting_bytes"])
            halves = plan("dp=8,ep=4,zero=3")["plans"][0]
            self.assertAlmostEqual(halves["lasting_bytes"] / gathered["lasting_bytes"], 1, 2)
            hidden = load(*common, "--parallel", "dp=8,ep=8", "--global-batch", "32", "--overlap", "ep")["plans"][0]
            # Three of four micro-batches, but for the 16 of 132 processors that the collectives hold.
            share = hidden["split_hidden_s"] / (hidden["split_hidden_s"] + hidden["split_communication_s"])
            self.assertAlmostEqual(share, 3 / 4 * (1 - 16 / 132), 6)
            self.fails(*common, "--parallel", "dp=8", "--overlap", "ep", says="--overlap ep: the plan has ep=1")
            self.fails(*common, "--parallel", "dp=8,ep=8", "--expert-load", "0.5", says="1 to 1000")

    def test_weak_and_strong(self):
        arguments = ("scale", RESNET, "--system", "dgx-1", "--devices", "1,4", "--train", "sgd", "--batch")
        weak = load(*arguments, "64", "--samples", "1e6", "--price", "3/h")["points"]
        strong = load(*arguments, "64", "--strong")["points"]
        self.assertEqual([p["batch_per_device"] for p in weak], [64, 64])
        self.assertEqual([p["batch_per_device"] for p in strong], [64, 16])
        self.assertEqual(weak[0]["efficiency"], 1)
        self.assertLess(strong[1]["efficiency"], weak[1]["efficiency"])
        self.assertAlmostEqual(weak[1]["hours"], 1e6 / weak[1]["items_per_s"] / 3600)
        self.assertAlmostEqual(weak[1]["price"], weak[1]["hours"] * 4 * 3)

    def test_plans(self):
        common = ("parallel", RESNET, "--system", "dgx-1", "--train", "sgd", "--global-batch", "64")
        best = load(*common, "--parallel", "auto", "--devices", "8")
        times = [p["step_s"] for p in best["plans"]]
        self.assertEqual(times, sorted(times))
        one = load(*common, "--parallel", "dp=2,pp=4", "--micro-batch", "4")["plans"][0]
        self.assertEqual((one["devices"], one["micro_batches"]), (8, 8))
        self.assertGreater(one["bubble"], 3 / 11 - 1e-9)  # equal stages would wait so long

    def test_a_plan_sends_gradients_as_scaling_does(self):
        for how in (("--bucket", "1MB"), ("--no-overlap",), ("--gradients", "fp16"), ("--bucket", "64MiB", "--gradients", "bf16")):
            common = (RESNET, "--system", "dgx-1", "--train", "sgd", *how)
            plan = load("parallel", *common, "--parallel", "dp=8", "--micro-batch", "4", "--global-batch", "32")["plans"][0]
            point = load("scale", *common, "--devices", "8", "--batch", "4")["points"][0]
            self.assertEqual([plan[k] for k in ("step_s", "sent_bytes")], [point[k] for k in ("step_s", "sent_bytes")])
        common = ("parallel", RESNET, "--system", "dgx-1", "--train", "sgd")
        self.fails(*common, "--parallel", "pp=2", "--no-overlap", says="without a pipeline")
        self.fails(*common, "--parallel", "dp=8", "--gradients", "int8", says="fp32, fp16 or bf16")

    def test_gradients_are_sent_whatever_the_update_makes_of_them(self):
        common = ("scale", RESNET, "--system", "dgx-a100", "--devices", "8", "--train", "sgd", "--batch", "8",
                  "--spread", "0")
        sent = {name: load(*common, "--precision", name)["points"][0]["sent_bytes"] for name in ("fp32", "amp-fp16", "fp16")}
        self.assertGreater(sent["fp32"], 0)
        self.assertEqual(sent["amp-fp16"], sent["fp32"])  # parameters and gradients in float32
        self.assertLessEqual(abs(sent["fp16"] - sent["fp32"] / 2), 100)

    def test_all_wait_for_the_slowest(self):
        common = ("scale", RESNET, "--system", "dgx-a100", "--devices", "1,8", "--train", "sgd", "--batch", "8")
        even, uneven = (load(*common, "--spread", percent)["points"] for percent in ("0", "2"))
        self.assertEqual(even[0]["step_s"], uneven[0]["step_s"])
        # Of 8 normally distributed times the largest is 1.42 standard deviations above the mean.
        self.assertAlmostEqual(uneven[1]["compute_s"] / even[1]["compute_s"], 1 + 0.02 * 1.4236, 3)
        self.fails(*common, "--spread", "-1", says="--spread -1: 0 to 20 percent")

    def test_input_in_the_step(self):
        common = ("scale", RESNET, "--system", "dgx-a100", "--devices", "1,16", "--train", "sgd", "--batch", "64")
        bare = load(*common)
        # 128 cores decode 10 images a second each: 50 ms for the 64 of one device, 400 for those of a node.
        slow = (*common, "--item", "150528B", "--decode", "10", "--cores", "128")
        prefetched, in_turn = load(*slow), load(*slow, "--prefetch", "0")
        self.assertEqual(prefetched["input_bound_by"], "decode")
        for before, point, other in zip(bare["points"], prefetched["points"], in_turn["points"]):
            self.assertAlmostEqual(point["input_s"], 0.05 if point["devices"] == 1 else 0.4, 12)
            self.assertAlmostEqual(point["step_s"], max(before["step_s"], point["input_s"]), 12)
            self.assertAlmostEqual(other["step_s"], before["step_s"] + point["input_s"], 12)
            self.assertAlmostEqual(point["waits_for_input_s"], point["step_s"] - before["step_s"], 12)
        self.assertIsNone(bare["input_bound_by"])
        self.fails(*common, "--item", "1MB", "--prefetch", "-1", says="--prefetch -1: 0 to 1024 batches")

    def test_budgets_over_a_job(self):
        check = ("check", RESNET, "--train", "sgd", "--system", "dgx-a100", "--parallel", "dp=8", "--micro-batch", "32")
        plan = load("parallel", *check[1:])["plans"][0]
        # A ring of eight sends 7/4 of 25,530,472 gradients in float32.
        self.assertEqual(plan["sent_bytes"], 25530472 * 4 * 7 // 4)
        self.assertEqual(run(*check, "--max", f"sent_bytes={plan['sent_bytes']} B").returncode, 0)
        self.assertEqual(run(*check, "--max", f"sent_bytes={plan['sent_bytes'] - 1} B").returncode, 1)
        self.assertEqual(run(*check, "--max", "exposed_s=1 us").returncode, 1)
        self.assertEqual(run(*check, "--max", "exposed_s=1 s", "--max", "step_s=1 s").returncode, 0)
        with tempfile.TemporaryDirectory() as folder:
            baseline = os.path.join(folder, "baseline.json")
            self.assertEqual(run(*check, "--baseline", baseline, "--update").returncode, 0)
            self.assertEqual(run(*check, "--baseline", baseline, "--max", "exposed_s=+0 %").returncode, 0)
            wider = [word.replace("dp=8", "dp=16") for word in check]
            self.assertEqual(run(*wider, "--baseline", baseline, "--max", "sent_bytes=+0 %").returncode, 1)
        self.fails("check", RESNET, "--system", "dgx-1", "--max", "step_s=1 s", says="--system needs --parallel PLAN")

    def test_batches_of_a_job(self):
        for command in (("scale", RESNET, "--batch", "8"), ("parallel", RESNET, "--parallel", "dp=2"),
                        ("check", RESNET, "--parallel", "dp=2", "--max", "step_s=1 s")):
            result = run(*command, "--system", "dgx-a100", "--train", "sgd", "--accumulate", "4")
            self.assertEqual(result.returncode, 2, command)
            self.assertIn("--global-batch", result.stderr)
        check = ("check", RESNET, "--system", "dgx-a100", "--parallel", "dp=2", "--train", "sgd", "--max", "step_s=1 s")
        self.assertEqual(run(*check, "--batch", "4").returncode, 2)
        self.assertIn("batch=4", run(*check, "--micro-batch", "4").stdout)
        sweep = ("sweep", RESNET, "--gpu", "a100", "--batch", "8", "--train", "sgd", "--format", "json", "--accumulate")
        once, twice = (json.loads(run(*sweep, n).stdout)["points"][0] for n in ("1", "2"))
        self.assertEqual((once["items"], twice["items"]), (8, 16))
        self.assertAlmostEqual(twice["joules_per_item"], once["joules_per_item"], delta=0.05)

    def test_split_operators(self):
        common = ("parallel", BERT, "--system", "dgx-a100", "--dim", "sequence=128", "--micro-batch", "2")
        alone, split = (load(*common, "--parallel", plan) for plan in ("dp=1", "tp=2,dp=2"))
        pooler = 2 * 768 * 768  # of every device
        self.assertEqual((split["macs"] - pooler) * 2, alone["macs"] - pooler)
        plan = split["plans"][0]
        self.assertEqual((plan["devices"], plan["split_exchanges"]), (4, 25))
        # [2, 128, 768] in float32, of which a ring of two sends half to and fro.
        self.assertEqual(plan["split_sent_bytes"], 25 * 2 * 128 * 768 * 4)
        self.assertGreater(plan["split_communication_s"], 0)
        step = load(*common, "--parallel", "tp=4,dp=2,pp=2", "--train", "adamw", "--global-batch", "8")
        self.assertEqual((step["plans"][0]["devices"], step["plans"][0]["split_exchanges"]), (16, 48))

    def test_same_input_same_bytes(self):
        arguments = ("scale", RESNET, "--system", "dgx-h100", "--devices", "1:64:x4", "--train", "adamw",
                     "--batch", "8", "--zero", "3")
        self.assertEqual(run(*arguments).stdout, run(*arguments).stdout)

    def test_errors(self):
        scale = ("scale", RESNET, "--train", "sgd", "--system")
        self.fails(*scale, "dgx-h10", says="did you mean 'dgx-h100'?")
        self.fails(*scale, "l40s-server", "--devices", "16", says="joins 1 to 8 devices")
        self.fails(*scale, "dgx-1", "--devices", "3", "--batch", "64", "--strong", says="63 would")
        self.fails(*scale, "dgx-1", "--batch", "0", says="--batch 0: 1 or more")
        self.fails(*scale, "dgx-1", "--devices", "99999999999", says="joins 1 to 1048576 devices")
        self.fails("scale", RESNET, "--system", "dgx-1", says="--train")
        self.fails(*scale, "dgx-1", "--price", "cheap", says="--price 'cheap'")
        self.fails("collective", "all_reduc", "--system", "dgx-1", says="did you mean 'all_reduce'?")
        self.fails("collective", "all_reduce", says="--system")
        self.fails("collective", "all_reduce", "--system", "dgx-1", "--bytes", "4GB:1MB", says="backwards")
        self.fails("collective", "all_reduce", "--system", "dgx-1", "--algorithm", "rings", says="did you mean 'ring'?")
        parallel = ("parallel", RESNET, "--system", "dgx-1", "--train", "sgd", "--parallel")
        self.fails(*parallel, "sp=1", says="needs tp=2 or more")
        bert = ("parallel", BERT, "--system", "dgx-a100", "--dim", "sequence=128", "--parallel")
        self.fails(*bert, "tp=8", says="tp=2, tp=3, tp=4, tp=6, tp=12 would do")
        self.fails(*bert, "annotated", says="no device configuration (IR version 11)")
        self.fails(*bert, "pp=2", says="pp=2 needs --train OPTIMIZER")
        self.fails(*bert, "auto", "--global-batch", "8", says="auto needs --train OPTIMIZER")
        self.fails(*parallel, "pp=400", says="56 kernels to cut between")
        self.fails(*parallel, "dp=2", "--global-batch", "-4", says="--global-batch -4")
        self.fails(*parallel, "dp=3", "--global-batch", "64", says="63 would")
        self.fails("input", "--item", "1MB", says="no stage given")
        self.fails("input", "--item", "1MB", "--decode", "100", says="--cores")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
