#!/usr/bin/env python3
"""Expected times of a denoising step of Stable Diffusion 1.5 against those that diffusers publishes.

Each row of published/diffusion.csv becomes the command line that a user of its run would write: a U-Net in fp16,
channels last, in PyTorch's eager mode or compiled (mode reduce-overhead: a graph), with PyTorch 2.0's
scaled_dot_product_attention. A step runs the network on two latent images of 64x64 for each that is made, with the text
and without. What the scheduler does between steps is not asked. No constant of dlcost was fitted to these rows.

usage: diffusion.py DLCOST diffusion.csv FOLDER_OF_UNET [--rows]
       diffusion.py --export FOLDER    write unet.onnx, of weights its shapes alone (diffusers 0.17, PyTorch 1.13)
"""

import collections
import sys

import published_runs

# The configuration of runwayml/stable-diffusion-v1-5, unet/config.json.
UNET = {
    "sample_size": 64,
    "in_channels": 4,
    "out_channels": 4,
    "block_out_channels": (320, 640, 1280, 1280),
    "layers_per_block": 2,
    "cross_attention_dim": 768,
    "attention_head_dim": 8,
}


def export(folder):
    """The network without its weights, which a file with 0.86 billion of them would not hold."""
    import onnx  # pylint: disable=import-outside-toplevel
    import torch  # pylint: disable=import-outside-toplevel
    from diffusers import UNet2DConditionModel  # pylint: disable=import-outside-toplevel

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.unet = UNet2DConditionModel(**UNET).eval()

        def forward(self, sample, timestep, text):
            return self.unet(sample, timestep, encoder_hidden_states=text, return_dict=False)[0]

    path = f"{folder}/unet.onnx"
    names = ["sample", "timestep", "text"]
    axes = {name: {0: "batch"} for name in ("sample", "text", "noise")}
    example = (torch.randn(2, 4, 64, 64), torch.tensor([10.0]), torch.randn(2, 77, 768))
    torch.onnx.export(Step(), example, path, opset_version=14, input_names=names, output_names=["noise"],
                      export_params=False, dynamic_axes=axes)  # fmt: skip
    model = onnx.load(path, load_external_data=False)
    published_runs.weights_of_shapes(model, names)
    onnx.save(model, path)


def options(row):
    runtime = "pytorch-compile" if row["compile"] == "yes" else "pytorch-eager"
    launch = ["--launch", "graph"] if row["compile"] == "yes" else []
    return ("--gpu", row["device"], "--dim", f"batch={2 * int(row['images'])}", "--precision", "fp16", "--runtime",
            runtime, "--layout", "kernels", "--attention", "flash-1", *launch)  # fmt: skip


def main():
    if sys.argv[1:2] == ["--export"]:
        export(sys.argv[2])
        return
    arguments = published_runs.folder_arguments().parse_args()
    rows = published_runs.read(arguments.table)
    answers = published_runs.totals_all(arguments.dlcost, [(f"{arguments.folder}/unet.onnx", options(r)) for r in rows])
    groups = collections.defaultdict(list)
    for row, totals in zip(rows, answers):
        seconds, time = float(row["seconds_per_step"]), totals["expected_s"]
        how = "compiled" if row["compile"] == "yes" else "eager"
        error = time / seconds - 1
        if arguments.rows:
            print(f"{row['device']} {row['torch']} {how} {row['images']}: {seconds * 1e3:.1f} ms, expected"
                  f" {time * 1e3:.1f} ms ({100 * error:+.0f}%)")  # fmt: skip
        parts = [(0, f"{row['device']} {how}"), (1, f"{how}, {row['images']} images"), (2, f"all {how}"), (3, "all")]
        for part in parts:
            groups[part].append(error)
    print(published_runs.head("device, mode"))
    for (_, name), errors in sorted(groups.items()):
        print(published_runs.line(name, errors))


if __name__ == "__main__":
    main()
