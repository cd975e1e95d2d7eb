#!/usr/bin/env bash
# run.sh BUILD_DIR SOURCE_DIR: installs into a fresh prefix, then builds and runs the program of docs/cpp.md against what
# is there, found by CMake and by pkg-config.
set -euo pipefail
build=$1 source=$2
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix" >/dev/null
mkdir "$prefix/program"
sed -n '/^```cpp$/,/^```$/p' "$source/docs/cpp.md" | sed '/^```/d' >"$prefix/program/main.cc"
model=$source/models/networks/alexnet.onnx
check() {  # a program: what it prints
  local counted
  counted=$("$1" "$model")
  echo "$counted"
  # Half of the published FLOPs of this AlexNet's convolutions and affine layers, 1,428,376,960 / 2, for 8 images.
  [[ "$counted" == *"5713507840 MACs"* && "$counted" == *"fails"* ]]
}
cmake -S "$source/tests/install" -B "$prefix/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DMAIN="$prefix/program/main.cc" >/dev/null
cmake --build "$prefix/build" >/dev/null
check "$prefix/build/uses_dlcost"
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name dlcost.pc)")
  # shellcheck disable=SC2046  # words are meant to be split
  g++ -std=c++20 "$prefix/program/main.cc" -o "$prefix/program/main" $(pkg-config --cflags --libs dlcost)
  check "$prefix/program/main" >/dev/null
else
  echo "[  SKIPPED ] no pkg-config"
fi
# The database is part of the program: alone in an empty folder, it knows its devices.
mkdir "$prefix/alone"
cp "$prefix/bin/dlcost" "$prefix/alone/dlcost"
rm -rf "$prefix/share"
(cd "$prefix/alone" && ./dlcost "$model" --gpu a100 >/dev/null && ./dlcost gpus h100 >/dev/null)
