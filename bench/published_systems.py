"""Systems of published runs that the database does not have."""

# DLPerf's nodes: a DGX-1's mesh, and one card between nodes.
DLPERF = """name: DLPerf, four nodes of eight V100
vendor: NVIDIA
year: 2020
device: v100-sxm2-16gb
node:
  devices: 8 [dlperf]
links:
  NVLink2:
    source: dlperf
    shape: mesh
    joins: 8
    bandwidth: 150 GB/s [dlperf]
    timing: nvlink2
network:
  name: InfiniBand EDR
  shape: rails
  cards: 1 [dlperf]
  bandwidth: 100 Gbit/s [dlperf]
  timing: infiniband
sources:
  dlperf: Oneflow-Inc/DLPerf (PCIe and NVLink hybrid mesh, InfiniBand 100 Gb/s)
"""


# Lambda's machines, whose script turns peer-to-peer off (NCCL_P2P_DISABLE=1 in pytorch/scripts/benchmark_pytorch.sh): what
# devices exchange passes the host's memory, bridges and NVLink or not. Nobody measured that on them: the links are those
# above its PCIe switches of hw_specs/systems/l40s-server.yaml, which were measured so.
HOST_MEMORY = """name: Lambda, through host memory
vendor: Lambda
year: 2022
device: {device}
node:
  devices: 8 [lambda]
links:
  host bridge:
    source: l40s
    shape: tree
    joins: 4
    bandwidth: 3.91 GB/s [l40s]
    timing: pcie4
  socket:
    source: l40s
    shape: tree
    joins: 8
    bandwidth: 0.504 GB/s [l40s]
    timing: pcie4
sources:
  lambda: lambdal/deeplearning-benchmark
  l40s: hw_specs/systems/l40s-server.yaml
"""


def write(folder, devices):
    """Their files, and those of Lambda's machines with each of the devices."""
    texts = {"dlperf": DLPERF, **{f"lambda-{device}": HOST_MEMORY.format(device=device) for device in devices}}
    for name, text in texts.items():
        with open(f"{folder}/{name}.yaml", "w", encoding="utf-8") as file:
            file.write(text)
