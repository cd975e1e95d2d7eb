#!/usr/bin/env bash
# run.sh BUILD_DIR SOURCE_DIR: the Python module, compiled against the library as it is installed, and its tests. Exit code
# 77: not possible here (no package index, no venv module), as for the oracles.
set -euo pipefail
build=$1 source=$2
folder=$build/python_test
environment=$folder/environment
python=${DLCOST_TEST_PYTHON:-/usr/bin/python3}  # Debian's own, because its PyTorch belongs to it
skip() {
  echo "[  SKIPPED ] python: $1"
  exit 77
}
stamp=$environment/requirements.sha256
want=$("$python" --version; sha256sum <"$source/tests/python/requirements.txt")
if [[ ! -f $stamp || $(<"$stamp") != "$want" ]]; then
  "$python" -m venv --clear --system-site-packages "$environment" || skip "no python3-venv"
  "$environment/bin/pip" install --quiet --disable-pip-version-check --requirement "$source/tests/python/requirements.txt" ||
    skip "pip could not install tests/python/requirements.txt"
  echo "$want" >"$stamp"
fi
rm -rf "$folder/prefix" "$folder/site"
cmake --install "$build" --prefix "$folder/prefix" >/dev/null
cmake -S "$source/python" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$folder/prefix" \
  -DPython_EXECUTABLE="$environment/bin/python" >/dev/null
cmake --build "$folder/build" --target dlcost_python >/dev/null
cmake --install "$folder/build" --prefix "$folder/site" --component python >/dev/null
cp -r "$source"/python/dlcost/* "$folder/site/dlcost/"
# As if it were installed: type checkers ask for nothing less.
"$environment/bin/python" -c 'import site; print(site.getsitepackages()[0])' >"$folder/packages"
echo "$folder/site" >"$(<"$folder/packages")/dlcost_test.pth"
export PYTHONDONTWRITEBYTECODE=1
cd "$source"
"$environment/bin/python" tests/python/dlcost_test.py "$folder/prefix/bin/dlcost"
"$environment/bin/python" tests/python/questions_test.py "$folder/prefix/bin/dlcost"
"$environment/bin/python" tests/python/commands_test.py "$folder/prefix/bin/dlcost"
"$environment/bin/python" tests/python/modules_test.py || [[ $? == 77 ]]
"$environment/bin/python" tests/python/examples_test.py docs/python.md
"$environment/bin/python" tests/python/notebook_test.py "$folder/tour.ipynb"
"$environment/bin/python" -m mypy --strict --python-executable "$environment/bin/python" \
  --cache-dir "$folder/mypy" tests/python/typed.py
