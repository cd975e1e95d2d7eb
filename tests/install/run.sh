#!/usr/bin/env bash
# run.sh BUILD_DIR SOURCE_DIR: installs into a fresh prefix, then builds and runs a project that finds dlcost there.
set -euo pipefail
build=$1 source=$2
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix" >/dev/null
cmake -S "$source/tests/install" -B "$prefix/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$prefix/build" >/dev/null
counted=$("$prefix/build/uses_dlcost" "$source/models/networks/alexnet.onnx")
echo "$counted"
# Half of the published FLOPs of this AlexNet's convolutions and affine layers: 1,428,376,960 / 2.
[[ "$counted" == *": 714188480 MACs" ]]
# The installed program finds its database without the source tree.
"$prefix/bin/dlcost" "$source/models/networks/alexnet.onnx" --gpu a100 >/dev/null
