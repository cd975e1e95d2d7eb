#!/usr/bin/env bash
# container.sh SOURCE_DIR: builds the image of Containerfile without a registry, on a Debian that mmdebstrap makes, and runs it on a
# model. Tens of minutes, so that it runs only where DLCOST_TEST_CONTAINER is set; exit code 77 elsewhere, and where buildah
# or mmdebstrap is missing.
set -euo pipefail
source=$1
skip() {
  echo "[  SKIPPED ] container: $1"
  exit 77
}
[[ -n ${DLCOST_TEST_CONTAINER:-} ]] || skip "set DLCOST_TEST_CONTAINER=1"
for tool in buildah mmdebstrap; do command -v "$tool" >/dev/null || skip "no $tool"; done
folder=$(mktemp -d)
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot XDG_RUNTIME_DIR=$folder
storage=(--root "$folder/storage" --runroot "$folder/run")
trap 'rm -rf "$folder"' EXIT
# The program finds the base's packages where this machine finds its own.
mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$folder/base.tar"
cat >"$folder/Base" <<<$'FROM scratch\nADD base.tar /'
buildah "${storage[@]}" build --quiet --tag base --file "$folder/Base" "$folder" >/dev/null
buildah "${storage[@]}" build --quiet --pull-never --build-arg BASE=localhost/base --tag dlcost --file "$source/Containerfile" "$source"
container=$(buildah "${storage[@]}" from --pull-never localhost/dlcost)
# As the entry point says; buildah runs no entry points.
counted=$(buildah "${storage[@]}" run --volume "$source/models/networks:/work:ro" "$container" -- /usr/bin/dlcost alexnet.onnx --gpu a100)
echo "$counted"
[[ "$counted" == *"AlexNet"* || "$counted" == *"alexnet"* ]]
