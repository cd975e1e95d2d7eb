"""PyTorch's networks through dlcost.torch, against torch.utils.flop_counter.FlopCounterMode: the classification networks of
torchvision, and architectures of transformers, built on the meta device. Multiply-accumulates are equal, nothing is unknown,
and rows that hold some are named after the network's own modules.

By default a network of most families; DLCOST_ORACLE_FULL=1 tries all of torchvision (5 minutes). It runs wherever dlcost is
installed; exit code 77 where PyTorch has no FlopCounterMode (before 2.1).

usage: modules_test.py [NAME...]: only these networks
"""

import os
import sys
import time

import dlcost


def skip(why):
    print(f"[  SKIPPED ] networks of PyTorch: {why}")
    sys.exit(77)


try:
    import torch
    from torch.utils.flop_counter import FlopCounterMode
except ImportError as missing:
    skip(missing)

SUBSET = ("alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "googlenet", "inception_v3", "maxvit_t", "mnasnet0_5",
          "mobilenet_v2", "mobilenet_v3_small", "regnet_y_400mf", "resnet18", "resnet50", "resnext50_32x4d",
          "shufflenet_v2_x0_5", "squeezenet1_1", "swin_t", "swin_v2_t", "vgg11", "vit_b_32")
SIZES = {"inception_v3": 299}  # of images that are not 224 x 224
ARGUMENTS = {"googlenet": {"init_weights": False}, "inception_v3": {"init_weights": False}}
TOKENS = 48
# Architectures of transformers, with few layers where one is like the other.
LAYERS = {"bert": 2, "distilbert": 2, "gpt2": 2, "llama": 2, "mistral": 2, "qwen2": 2, "t5": 2, "vit": 2}


def of_torchvision():
    """Name -> a function that makes the module and the keywords of its forward()."""
    try:
        from torchvision import models
    except ImportError as missing:
        print(f"[  SKIPPED ] torchvision: {missing}")
        return {}

    def make(name):
        size = SIZES.get(name, 224)
        return getattr(models, name)(weights=None, **ARGUMENTS.get(name, {})), {"x": torch.empty(1, 3, size, size)}

    full = bool(os.environ.get("DLCOST_ORACLE_FULL"))
    return {name: lambda name=name: make(name) for name in models.list_models(module=models) if full or name in SUBSET}


def of_transformers():
    try:
        import transformers
    except ImportError as missing:
        print(f"[  SKIPPED ] transformers: {missing}")
        return {}

    def make(name):
        config = transformers.AutoConfig.for_model(name)
        config.num_hidden_layers = LAYERS[name]
        module = transformers.AutoModel.from_config(config)
        ids = torch.zeros(1, TOKENS, dtype=torch.long)
        if name == "vit":
            return module, {"pixel_values": torch.empty(1, 3, 224, 224)}
        return module, {"input_ids": ids, **({"decoder_input_ids": ids} if name == "t5" else {})}

    return {name: lambda name=name: make(name) for name in LAYERS}


def on_meta(make):
    try:
        with torch.device("meta"):
            module, keywords = make()
    except NotImplementedError:  # regnet computes its widths with tensors
        module, keywords = make()
    return module.to("meta").eval(), {name: tensor.to("meta") for name, tensor in keywords.items()}


def faults(module, keywords):
    """What is wrong with the report, and its MACs."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(**keywords)
    report = dlcost.torch.report(module, keywords)
    found = []
    # Products of constants (swin_v2's table of positions) run in PyTorch; the report tells them apart from its totals.
    products = 2 * (report.totals.macs + report.certainty.folded.macs)
    if products != counter.get_total_flops():
        found.append(f"{products} FLOPs of products, FlopCounterMode counts {counter.get_total_flops()}")
    found += [f"unknown: {row.node}: {row.why}" for row in report.unknown]
    names = {name for name, _ in module.named_modules()}
    found += [f"{node.name} is of no module: '{node.scope}'" for node in report.nodes
              if node.macs and node.scope.replace("/", ".") not in names]
    return found, report.totals.macs


def main():
    networks = {**of_torchvision(), **of_transformers()}
    unknown = set(sys.argv[1:]) - networks.keys()
    if unknown:
        sys.exit(f"no network {', '.join(sorted(unknown))}")
    failed = 0
    for name in sys.argv[1:] or networks:
        start = time.time()
        found, macs = faults(*on_meta(networks[name]))
        failed += bool(found)
        print(f"{name}: " + ("; ".join(found[:3]) if found else f"{macs} MACs, {time.time() - start:.1f} s"), flush=True)
    if not networks:
        skip("neither torchvision nor transformers")
    print(f"{len(sys.argv[1:] or networks)} networks, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
