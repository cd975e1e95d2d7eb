#!/usr/bin/env bash
# Makes the virtual environment of the oracle tests, or brings it up to date.
# usage: environment.sh FOLDER        exit code 77: not possible here (no network, no venv module)
set -euo pipefail
folder=$1
here=$(cd "$(dirname "$0")" && pwd)
stamp=$folder/requirements.sha256
want=$(sha256sum <"$here/requirements.txt")
if [[ -f $stamp && $(<"$stamp") == "$want" ]]; then
  echo "[  PASSED  ] $folder is up to date"
  exit 0
fi
skip() {
  echo "[  SKIPPED ] oracle environment: $1"
  rm -rf "$folder"
  exit 77
}
# Debian's own interpreter, because Debian's PyTorch belongs to it.
python=/usr/bin/python3
[[ -x $python ]] || python=python3
"$python" -m venv --clear --system-site-packages "$folder" || skip "no python3-venv"
"$folder/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt" ||
  skip "pip could not install tests/oracle/requirements.txt"
echo "$want" >"$stamp"
echo "[  PASSED  ] $folder made"
