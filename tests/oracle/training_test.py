"""A training step against PyTorch's: what autograd multiplies and keeps, and, for small networks,
the numbers that the emitted backward graph computes.

- MACs: every convolution and product that the dispatcher sees in forward and backward, at the
  shapes and groups that they have.
- Saved bytes: what the nodes of autograd's graph keep, each storage once, parameters left out, and
  what no derivative reads: running statistics, and inputs of pools and means, kept for their shapes.
- Gradients: within 1e-4 of PyTorch's, relative to the largest.

usage: training_test.py DLCOST WORK_FOLDER [TORCHVISION_NETWORK...]
"""

import os
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import onnx

import harness
from estimator import Estimator, EstimatorError, unknown

try:
    import torch
    import torchvision
except ImportError as missing:
    harness.skip(f"no PyTorch: {missing}")

from onnx.reference import ReferenceEvaluator

import training_loops
import training_networks
import training_operators
import training_parts
from torch_counts import CountProducts, unset_weights

CLOSE = 1e-4
# What is computed again gives the same gradients.
RECOMPUTED = ("none", "scopes", "scopes:1", "full", "selective:pointwise")
# Products and saved bytes to the last digit.
SAVED = ("resnet18", "resnet50", "alexnet", "squeezenet1_1", "mobilenet_v2", "vgg11", "densenet121",
         "resnext50_32x4d")
# Products alone: the derivatives that these also use keep other values than autograd's.
COUNTED = ("shufflenet_v2_x0_5", "mnasnet0_5", "regnet_y_400mf", "efficientnet_b0",
           "convnext_tiny", "vit_b_32", "swin_t")
RANDOM = (torch.nn.Dropout, torchvision.ops.StochasticDepth)


def export(module, inputs, path, names):
    warnings.filterwarnings("ignore")
    module.train()
    torch.onnx.export(module, inputs, str(path), opset_version=17, input_names=names,
                      output_names=["y"], do_constant_folding=False,
                      training=torch.onnx.TrainingMode.TRAINING)
    return path


def step_macs(module, inputs):
    """Of forward and backward, with the sum of the output for a loss."""
    with CountProducts() as counter:
        module(*inputs).sum().backward()
    return counter.macs


def saved_bytes(module, inputs):
    """Of all that the nodes of autograd's graph keep, each storage once, without parameters, running
    statistics, and inputs of pools and means, whose derivatives only ask for their shape."""
    own = {t.storage().data_ptr() for t in [*module.parameters(), *module.buffers()]}
    sizes, seen, alive = {}, set(), []
    open_nodes = [module(*inputs).sum().grad_fn]
    while open_nodes:
        node = open_nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        open_nodes += [following for following, _ in node.next_functions]
        for name in dir(node):
            if not name.startswith("_saved_"):
                continue
            shape_only = "Pool" in node.name() or "Mean" in node.name()
            if shape_only and name in ("_saved_self", "_saved_input"):
                continue
            saved = getattr(node, name)
            for tensor in saved if isinstance(saved, (list, tuple)) else [saved]:
                if isinstance(tensor, torch.Tensor) and tensor.storage().data_ptr() not in own:
                    alive.append(tensor)
                    sizes[tensor.storage().data_ptr()] = tensor.storage().nbytes()
    return sum(sizes.values())


class Sum(torch.nn.Module):
    """All outputs of a module in one number's worth of outputs."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *inputs):
        outputs = self.module(*inputs)
        outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
        return torch.cat([o.reshape(-1) for o in outputs])


def text_networks():
    """Networks for text as they are, made small, and token ids; 0 is padding to BERT."""
    ids = torch.arange(1, 25).view(2, 12)
    try:
        from transformers import BertConfig, BertModel, GPT2Config, GPT2Model
    except ImportError:
        return
    bert = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                      intermediate_size=64, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    bert.return_dict = False
    yield "bert", Sum(BertModel(bert)), (ids,)
    gpt = GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0,
                     embd_pdrop=0, attn_pdrop=0, use_cache=False, return_dict=False)
    yield "gpt2", Sum(GPT2Model(gpt)), (ids,)


def check_text(checks, estimator, name, module, inputs, work):
    path = export(module, inputs, work / f"{name}.onnx", ["x"])
    report = estimator.report(path, ["--train", "sgd", "--loss", "sum"])
    checks.check(f"{name}: nothing unknown", unknown(report))
    checks.equal(f"{name}: MACs of a step", report["totals"]["macs"], step_macs(module, inputs))


def check_counts(checks, estimator, name, work):
    with unset_weights():
        module = getattr(torchvision.models, name)(weights=None)
    for parent in list(module.modules()):
        for child, layer in list(parent.named_children()):
            if isinstance(layer, RANDOM):
                setattr(parent, child, torch.nn.Identity())
    inputs = (torch.zeros(2, 3, 224, 224),)
    path = export(module, inputs, work / f"{name}.onnx", ["x"])
    report = estimator.report(path, ["--train", "sgd", "--loss", "sum"])
    checks.check(f"{name}: nothing unknown", unknown(report))
    checks.equal(f"{name}: MACs of a step", report["totals"]["macs"], step_macs(module, inputs))
    saved, want = report["step"]["saved_bytes"], saved_bytes(module, inputs)
    if name in SAVED:
        checks.equal(f"{name}: saved bytes", saved, want)
    else:
        checks.note(f"{name}: saved {saved} bytes, autograd {want} ({saved / want:.3f})")


class Missing(Exception):
    """The step has a node of unknown work."""


def gradients_of(module, inputs):
    module.zero_grad()
    module(*inputs).sum().backward()
    return {name: p.grad.numpy() for name, p in module.named_parameters() if p.grad is not None}


def stored_tensors(graph):
    """By name, those of graphs inside as well."""
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                stored.update(stored_tensors(attribute.g))
    return stored


FUSED = ("--attention", "flash")  # there and back in one kernel each


def run_step(binary, path, inputs, work, options=()):
    """The gradients that the emitted graph computes, by parameter."""
    step = work / f"{path.stem}.step.onnx"
    subprocess.run([binary, "train", str(path), "--train", "none", "--loss", "sum", "-o",
                    str(step), *options], check=True, capture_output=True, text=True)
    model = training_operators.prepare(onnx.load(str(step)))
    stored = stored_tensors(onnx.load(str(path)).graph)
    feeds = {}
    for value in model.graph.input:
        feeds[value.name] = inputs[value.name] if value.name in inputs else stored[value.name]
    wanted = [o.name for o in model.graph.output if o.name.endswith(".grad")]
    missing = [n.name for n in model.graph.node if n.op_type == "Gradient"]
    if missing:
        raise Missing(f"no derivative: {missing[0]}")
    backward = sum(n.op_type == "FusedAttentionGrad" for n in model.graph.node)
    if backward == 0 and any(n.op_type == "FusedAttention" for n in model.graph.node):
        raise Missing("attention in one kernel without its way back in one")
    run_step.fused = backward
    run = ReferenceEvaluator(model, new_ops=training_operators.OPERATORS)
    return {name[:-len(".grad")]: value for name, value in zip(wanted, run.run(wanted, feeds))}


def by_value(gradients, path, module):
    """The exporter renames weights that it transposes: found again by what they hold."""
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(str(path)).graph.initializer}
    found = {}
    for name, parameter in module.named_parameters():
        value = parameter.detach().numpy()
        for other, gradient in gradients.items():
            if other == name or (stored[other].shape == value.shape
                                 and np.array_equal(stored[other], value)):
                found[name] = gradient
            elif value.ndim == 2 and stored[other].shape == value.T.shape and np.array_equal(
                    stored[other], value.T):
                found[name] = gradient.T
    return found


def check_gradients(checks, binary, name, module, inputs, work, options=()):
    torch.manual_seed(1)
    for parameter in module.parameters():
        parameter.data.uniform_(-0.5, 0.5)
    names = [f"x{i}" for i in range(len(inputs))]
    path = export(module, inputs, work / f"{name}.onnx", names)
    feeds = {n: x.numpy() for n, x in zip(names, inputs)}
    try:
        got = by_value(run_step(binary, path, feeds, work, options), path, module)
    except (subprocess.CalledProcessError, Missing) as error:
        checks.check(f"{name}: a step", [getattr(error, "stderr", None) or str(error)])
        return
    want = gradients_of(module, inputs)
    problems = [f"no gradient of {n}" for n in want if n not in got]
    for n in want:
        if n not in got:
            continue
        scale = max(np.abs(want[n]).max(), 1e-2)
        error = np.abs(got[n].reshape(want[n].shape) - want[n]).max() / scale
        if not error < CLOSE:
            problems.append(f"{n}: off by {error:.2g} of the largest")
    checks.check(f"{' '.join([name, *options])}: gradients", problems)


def check_fused(checks, binary, name, model, weights, function, work, options=()):
    path = work / f"{name}.onnx"
    onnx.save(model, str(path))
    x = torch.rand(2, 5, 8)
    leaves = {n: value.clone().requires_grad_() for n, value in weights.items()}
    function(x, **leaves).sum().backward()
    try:
        got = run_step(binary, path, {"x": x.numpy()}, work, options)
    except (subprocess.CalledProcessError, Missing) as error:
        checks.check(f"{name}: a step", [getattr(error, "stderr", None) or str(error)])
        return
    problems = []
    for n, leaf in leaves.items():
        if leaf.grad is None:  # of a branch that does not run
            leaf.grad = torch.zeros_like(leaf)
            got.setdefault(n, leaf.grad.numpy())
        scale = leaf.grad.abs().max().item() or 1
        error = np.abs(got[n] - leaf.grad.numpy()).max() / scale
        if not error < CLOSE:
            problems.append(f"{n}: off by {error:.2g} of the largest")
    checks.check(f"{' '.join([name, *options])}: gradients", problems)


def check_loop(checks, binary, estimator, name, model, weights, function, work):
    """Gradients, and the MACs of the loop that autograd unrolls."""
    check_fused(checks, binary, name, model, weights, function, work)
    onnx.checker.check_model(str(work / f"{name}.step.onnx"))
    report = estimator.report(work / f"{name}.onnx", ["--train", "none", "--loss", "sum"])
    leaves = {n: value.clone().requires_grad_() for n, value in weights.items()}
    with CountProducts() as counter:
        function(torch.rand(2, 5, 8), **leaves).sum().backward()
    macs = report["totals"]["macs"]
    if name in training_loops.AT_MOST:
        checks.check(f"{name}: MACs at most", [] if macs >= counter.macs else [f"{macs} < {counter.macs}"])
    else:
        checks.equal(f"{name}: MACs", macs, counter.macs)
    checks.check(f"{name}: nothing unknown", unknown(report))


def orthogonal(x):
    """Five Newton-Schulz iterations, as published (Jordan et al. 2024)."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = x / x.norm()
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    for _ in range(5):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if tall else x


def check_muon(checks, binary, work):
    """The first update of a wide and a tall matrix, with a rate of 1."""
    torch.manual_seed(4)
    layers = torch.nn.Sequential(*(torch.nn.Linear(a, b, bias=False) for a, b in (
        (6, 8), (8, 5), (5, 2))))
    x = torch.rand(4, 6)
    path = export(layers, (x,), work / "muon.onnx", ["x"])
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(str(path)).graph.initializer}
    head = [n for n, value in stored.items() if sorted(value.shape) == [2, 5]][0]
    step = work / "muon.step.onnx"
    subprocess.run([binary, "train", str(path), "--train", "muon", "--loss", "sum", "--freeze", head,
                    "-o", str(step)], check=True)
    model = training_operators.prepare(onnx.load(str(step)))
    feeds = {}
    for value in model.graph.input:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        feeds[value.name] = stored.get(value.name, np.zeros(shape, np.float32))
    feeds["x"], feeds["learning_rate.muon"] = x.numpy(), np.float32(1)
    names = [o.name for o in model.graph.output]
    run = ReferenceEvaluator(model, new_ops=training_operators.OPERATORS).run(names, feeds)
    layers(x).sum().backward()
    problems = []
    for name, got in zip(names, run):
        if not name.endswith(".updated"):
            continue
        before = stored[name[:-len(".updated")]]
        own = [p for p in layers.parameters() if sorted(p.shape) == sorted(before.shape)][0]
        turned = tuple(own.shape) != before.shape or not np.array_equal(own.detach().numpy(), before)
        gradient = own.grad.T if turned else own.grad
        momentum = gradient * (1 - 0.95)
        update = orthogonal(gradient + 0.95 * (momentum - gradient))
        want = before - (max(1, before.shape[0] / before.shape[1]) ** 0.5 * update).numpy()
        if not np.abs(got - want).max() < CLOSE:
            problems.append(f"{name}: off by {np.abs(got - want).max():.2g}")
    checks.check("muon: updates", problems)
    checks.equal("muon: matrices", sum(n.endswith(".updated") for n in names), 2)


def main(binary, work, *only):
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    checks = harness.Checks("training steps against PyTorch")
    estimator = Estimator(binary)
    for name, module, inputs in [] if only else training_networks.small():
        check_gradients(checks, binary, name, module, inputs, work)
    for name, module, inputs in [] if only else training_networks.attention():
        check_gradients(checks, binary, name, module, inputs, work, FUSED)
        checks.equal(f"{name}: attention in one kernel", run_step.fused, 1)
    for fused in [] if only else training_networks.fused():
        check_fused(checks, binary, *fused, work)
        # A mask that is trained, or a projection in the same node, stays in products.
        if fused[0].startswith(("attention", "multi_head", "shared")):
            check_fused(checks, binary, *fused, work, FUSED)
            checks.equal(f"{fused[0]}: attention in one kernel", run_step.fused,
                         int(fused[0] != "shared_keys"))
    for mixture in [] if only else training_networks.experts():
        check_fused(checks, binary, *mixture, work)
    for alone in [] if only else training_networks.single():
        check_fused(checks, binary, *alone, work)
    for part in [] if only else training_parts.parts():
        check_fused(checks, binary, *part, work)
    for loop in [] if only else training_loops.loops():
        check_loop(checks, binary, estimator, *loop, work)
    if not only:
        check_muon(checks, binary, work)
    for name, module, inputs in [] if only else text_networks():
        check_text(checks, estimator, name, module, inputs, work)
        for what in RECOMPUTED:
            check_gradients(checks, binary, name, module, inputs, work, ("--recompute", what))
        for what in ("none", "scopes"):
            check_gradients(checks, binary, name, module, inputs, work, (*FUSED, "--recompute", what))
            checks.equal(f"{name}: attention in one kernel", run_step.fused, 2)
    full = bool(os.environ.get("DLCOST_ORACLE_FULL"))
    if not full:
        checks.note("every second of torchvision's networks; DLCOST_ORACLE_FULL=1 for all")
    for name in only or (SAVED + COUNTED if full else SAVED[::2] + COUNTED[1::2]):
        try:
            check_counts(checks, estimator, name, work)
        except EstimatorError as error:
            checks.check(f"{name}: a report", [str(error)])
    checks.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
