"""The reference networks that dlcost writes: valid, runnable, with the shapes of a real run; and with
the multiply-accumulates of the same networks in torchvision and transformers.

usage: networks_test.py DLCOST WORK_FOLDER
"""

import json
import pathlib
import subprocess
import sys

import onnx

import harness
import onnx_models
import shapes_test
from estimator import Estimator, EstimatorError, unknown

# Options that make a network small enough to run here.
SMALL = {
    "lstm": ["hidden=32", "vocabulary=50"],
    "transformer-base": ["layers=2", "width=32", "inner=64", "heads=4", "vocabulary=50"],
    "transformer-big": ["layers=1", "width=48", "inner=96", "heads=4", "vocabulary=50"],
    "bert-base": ["layers=2", "width=32", "inner=64", "heads=4", "vocabulary=50"],
    "bert-large": ["layers=1", "width=48", "inner=96", "heads=4", "vocabulary=50"],
    "gpt2": ["layers=2", "width=32", "heads=4", "vocabulary=50"],
    "t5-small": ["layers=2", "width=32", "inner=64", "heads=4", "head_width=8", "vocabulary=50"],
    "t5-base": ["layers=2", "width=32", "inner=48", "heads=2", "head_width=24", "vocabulary=50",
                "version=1.1"],
    "t5-large": ["layers=1", "width=32", "inner=64", "heads=4", "head_width=8", "vocabulary=50"],
    "t5-3b": ["layers=1", "width=24", "inner=64", "heads=4", "head_width=12", "vocabulary=50"],
    "llama3-8b": ["layers=2", "width=32", "inner=64", "heads=4", "kv_heads=2", "vocabulary=50",
                  "dtype=f32"],
}
# By the beginning of a network's name or a configuration's type, where there are several.
PHASES = {"gpt2": ("prefill", "decode"), "llama3": ("prefill", "decode"),
          "t5": ("prefill", "encoder", "decoder", "decode")}
PHASES["mt5"] = PHASES["t5"]
VISION = {"resnet18": "resnet18", "resnet34": "resnet34", "resnet50": "resnet50",
          "resnet101": "resnet101", "resnet152": "resnet152", "vgg16": "vgg16", "vgg19": "vgg19",
          "mobilenet-v2": "mobilenet_v2", "resnext50-32x4d": "resnext50_32x4d"}
SEQUENCE, TARGET = 16, 12


def phases(name, otherwise):
    """The settings that build each phase of a network."""
    found = next((PHASES[start] for start in PHASES if name.startswith(start)), otherwise)
    return [[f"phase={phase}"] for phase in found] or [[]]


def write(binary, name, options, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([binary, "network", name, *options, "-o", str(path)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EstimatorError(done.stderr.strip())
    return path


def names(binary):
    """What `dlcost network` lists: a name at the beginning of a line."""
    done = subprocess.run([binary, "network"], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in done.stdout.splitlines() if line and line[0] != " "]


def check_run(checks, estimator, title, path):
    """Valid, inferred as onnxruntime runs it, nothing unknown."""
    model = onnx.load(path)
    try:
        onnx.checker.check_model(model, full_check=True)
        report = estimator.report(path, onnx_models.binding_options(model))
        checks.check(f"{title}: nothing unknown", unknown(report))
        truth = shapes_test.executed(onnx_models.bind(model))
        lines, count, _ = shapes_test.contradictions(report, truth, [])
        checks.check(f"{title}: {count} tensors as run", lines or ([] if count else ["none"]))
    except Exception as error:  # pylint: disable=broad-except
        checks.check(title, [str(error)[:400]])


# Sizes that make a configuration small enough to run here.
SMALL_CONFIG = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
    "vocab_size": 50, "head_dim": 8, "moe_intermediate_size": 16, "n_routed_experts": 8,
    "num_experts": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
    "shared_expert_intermediate_size": 24, "kv_lora_rank": 16, "q_lora_rank": 24,
    "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8,
    "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "max_position_embeddings": 64,
    "rotary_dim": 4, "partial_rotary_factor": 0.5,
    "d_model": 32, "d_ff": 64, "d_kv": 8, "num_heads": 4, "num_layers": 2, "num_decoder_layers": 3,
}
CONFIGS = pathlib.Path(__file__).parent.parent / "networks" / "configs"


def small_configs(work):
    """The configurations of tests/networks/configs with small sizes, as files."""
    folder = work / "configs"
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(CONFIGS.glob("*.json")):
        config = json.loads(path.read_text())
        for key, value in SMALL_CONFIG.items():
            if config.get(key) is not None:
                config[key] = value
        for key in ("num_key_value_heads", "num_kv_heads"):
            if config.get(key):
                config[key] = min(config[key], 2)
        for key in ("torch_dtype", "quantization_config"):
            config.pop(key, None)
        small = folder / path.name
        small.write_text(json.dumps(config))
        yield small, config["model_type"]


def check_configs(checks, estimator, work):
    for config, kind in small_configs(work):
        windowed = json.loads(config.read_text())
        if windowed.pop("sliding_window", None):
            # onnxruntime does not know the window of Attention-25 yet: onnx's checker does.
            path = write(estimator.binary, str(config), [], work / f"{config.stem}_window.onnx")
            onnx.checker.check_model(onnx.load(path), full_check=True)
            config.write_text(json.dumps(windowed))
        for phase in phases(kind, () if kind == "bert" else ("prefill", "decode")):
            title = " ".join([config.stem, *phase])
            path = write(estimator.binary, str(config), phase,
                         work / f"{title.replace(' ', '_')}.onnx")
            check_run(checks, estimator, title, path)


def torch_twins():
    """(name of the network, dimension options, module, inputs) of networks that Python packages have."""
    import torch
    import torchvision
    import transformers
    from torch_counts import unset_weights
    for name, other in VISION.items():
        with unset_weights():
            yield name, [], getattr(torchvision.models, other)(weights=None), (
                torch.zeros(1, 3, 224, 224),)
    ids = torch.ones(1, SEQUENCE, dtype=torch.long)
    dims = ["--dim", f"sequence={SEQUENCE}"]
    bert = transformers.BertConfig
    with unset_weights():
        yield "bert-base", dims, transformers.BertModel(bert()), (ids,)
        yield "bert-large", dims, transformers.BertModel(bert(
            hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
            intermediate_size=4096)), (ids,)
        yield "gpt2", dims, transformers.GPT2LMHeadModel(transformers.GPT2Config()), (ids,)
        target = torch.ones(1, TARGET, dtype=torch.long)
        dims = ["--dim", f"source={SEQUENCE}", "--dim", f"target={TARGET}"]
        for name, sizes in {"t5-small": {}, "t5-base": {
                "d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}}.items():
            yield name, dims, transformers.T5ForConditionalGeneration(
                transformers.T5Config(**sizes)), (ids, ids, target)


def check_twins(checks, estimator, work):
    try:
        from torch_counts import dispatched_macs
    except ImportError:
        checks.note("without PyTorch: no comparison with torchvision and transformers")
        return
    for name, dims, module, inputs in torch_twins():
        path = write(estimator.binary, name, [], work / f"{name}.onnx")
        report = estimator.report(path, dims)
        checks.equal(f"{name}: MACs in PyTorch", report["totals"]["macs"],
                     dispatched_macs(module, *inputs))


def main():
    estimator, work = Estimator(sys.argv[1]), pathlib.Path(sys.argv[2])
    checks = harness.Checks("reference networks")
    for name in names(estimator.binary):
        for variant in phases(name, ()):
            options = [*SMALL.get(name, []), *variant]
            title = " ".join([name, *options])
            path = write(estimator.binary, name, options, work / f"{title.replace(' ', '_')}.onnx")
            check_run(checks, estimator, title, path)
    check_configs(checks, estimator, work)
    check_twins(checks, estimator, work)
    checks.finish()


if __name__ == "__main__":
    main()
