"""Writes the small models that the oracles compare on, one folder per exporter; keeps what exists.

usage: make_models.py MODELS_FOLDER
"""

import contextlib
import importlib.util
import io
import logging
import pathlib
import shutil
import sys
import warnings

import onnx

import models_control
import models_quantized
import onnx_models


def control(folder):
    for name, model, twin in models_control.pairs():
        onnx_models.save(model, folder / f"{name}.onnx")
        if twin:
            onnx_models.save(twin, folder / f"{name}.twin.onnx")


def sklearn(folder):
    import models_sklearn
    for name, model in models_sklearn.models():
        onnx_models.save(model, folder / f"{name}.onnx")


def torch_exports(folder):
    import models_torch
    import torch
    torch.manual_seed(0)
    for name, module, inputs, names, axes in models_torch.language_models():
        models_torch.export(module, inputs, folder / f"{name}.onnx", names, axes)


def vision(folder):
    """Small networks for images, each in the newest opset that this exporter writes and in 9."""
    import models_torch
    import torch
    import torchvision
    for name in ("mobilenet_v3_small", "squeezenet1_1", "mnasnet0_5", "densenet121",
                 "regnet_y_400mf"):
        torch.manual_seed(0)
        module = getattr(torchvision.models, name)(weights=None)
        for opset, suffix in ((17, ""), (9, ".opset9")):
            models_torch.export(module, torch.zeros(2, 3, 64, 64), folder / f"{name}{suffix}.onnx",
                                ["image"], {"image": {0: "batch"}, "logits": {0: "batch"}}, opset)


def exported(folder):
    """Files that exporters wrote which are too large to install here (exported/README.md)."""
    for source in sorted((pathlib.Path(__file__).parent / "exported" / folder.name).glob("*.onnx")):
        shutil.copy(source, folder / source.name)


def optimized(folder):
    """Fused by onnxruntime's transformer optimizer into com.microsoft operators."""
    from onnxruntime.transformers import optimizer
    for name, kind in (("bert", "bert"), ("gpt2", "gpt2"), ("gpt2_past", "gpt2"), ("t5", "t5"),
                       ("llama", "gpt2")):
        model = optimizer.optimize_model(str(folder.parent / "torch" / f"{name}.onnx"),
                                         model_type=kind, num_heads=2, hidden_size=32, opt_level=0)
        model.save_model_to_file(str(folder / f"{name}.onnx"))


def runtime(folder):
    """What onnxruntime itself saves after its graph optimizations."""
    import onnxruntime
    level = onnxruntime.GraphOptimizationLevel
    for source in (folder.parent / "torch" / "bert.onnx", folder.parent / "torch" / "gpt2_past.onnx",
                   folder.parent / "quantized" / "cnn.onnx",
                   folder.parent / "quantized" / "cnn_qdq.onnx"):
        for name, value in (("extended", level.ORT_ENABLE_EXTENDED), ("all", level.ORT_ENABLE_ALL)):
            if not source.exists():
                continue
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = value
            options.log_severity_level = 4
            options.optimized_model_filepath = str(folder / f"{source.stem}_{name}.onnx")
            onnxruntime.InferenceSession(str(source), options, ["CPUExecutionProvider"])


def quantized(folder):
    model = models_quantized.float_network()
    source = onnx_models.save(model, folder / "cnn.onnx")
    list(models_quantized.quantize(source, folder, onnx_models.random_inputs(model), "cnn"))
    for name in ("bert", "gpt2"):
        source = folder.parent / "torch" / f"{name}.onnx"
        if source.exists():
            feed = onnx_models.random_inputs(onnx.load(source))
            list(models_quantized.quantize(source, folder, feed, name))
    source = folder.parent / "torch" / "llama.onnx"
    if source.exists():
        models_quantized.quantize_weights(source, folder / "llama_int4.onnx", "QOperator")
        models_quantized.quantize_weights(source, folder / "llama_int4_qdq.onnx", "QDQ")


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    root = pathlib.Path(sys.argv[1])
    steps = {"control": control, "sklearn": sklearn, "torch": torch_exports, "vision": vision,
             "quantized": quantized, "optimized": optimized, "runtime": runtime,
             "dynamo": exported, "keras": exported}
    if importlib.util.find_spec("torch") is None:
        print("[  SKIPPED ] no PyTorch: its exports, and what is made from them")
        steps = {name: step for name, step in steps.items() if name not in ("torch", "vision", "optimized")}
    for name, step in steps.items():
        folder, done = root / name, root / name / ".done"
        if done.exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.redirect_stdout(io.StringIO()):
            step(folder)
        done.touch()
    print(f"[  MODELS  ] {len(list(root.glob('*/*.onnx')))} in {root}")


if __name__ == "__main__":
    main()
