#!/usr/bin/env bash
# package.sh BUILD_DIR SOURCE_DIR: the Debian package, installed by apt into a Debian that has nothing else, counts a model. Exit code
# 77 where mmdebstrap or a mirror of Debian is missing.
set -euo pipefail
build=$1 source=$2
skip() {
  echo "[  SKIPPED ] package: $1"
  exit 77
}
command -v mmdebstrap >/dev/null || skip "no mmdebstrap"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$folder/package" >/dev/null
mkdir "$folder/files"
cp "$folder"/package/*.deb "$folder/files/dlcost.deb"
cp "$source/models/networks/alexnet.onnx" "$folder/files/"
# shellcheck disable=SC2016  # mmdebstrap expands "$1"
mmdebstrap --quiet --variant=minbase --customize-hook="copy-in $folder/files /tmp" --customize-hook='
    chroot "$1" apt-get install -y -qq --no-install-recommends man-db /tmp/files/dlcost.deb
    (chroot "$1" dlcost /tmp/files/alexnet.onnx --gpu a100 --format json
     chroot "$1" man --warnings dlcost) >"$1/tmp/files/out"' \
  --customize-hook="download /tmp/files/out $folder/out" bookworm /dev/null >"$folder/log" 2>&1 || {
  # Whether the machine has no mirror, or the package is wrong.
  grep -q "E: .*apt-get update" "$folder/log" && skip "no mirror of Debian"
  tail -n 20 "$folder/log"
  exit 1
}
# Half of the published FLOPs of this AlexNet's convolutions and affine layers, 1,428,376,960 / 2.
grep -q '"macs": 714188480,' "$folder/out"
grep -q "DLCOST(1)" "$folder/out"
echo "installed, counts a model and has its manual page"
