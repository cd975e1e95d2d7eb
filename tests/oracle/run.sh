#!/usr/bin/env bash
# Runs an oracle program in the environment; skipped (exit code 77) where there is none.
# usage: run.sh ENVIRONMENT PROGRAM.py ARGUMENTS...
set -euo pipefail
environment=$1 program=$2
shift 2
if [[ ! -f $environment/requirements.sha256 ]]; then
  echo "[  SKIPPED ] $program: no environment at $environment (tests/oracle/environment.sh makes it)"
  exit 77
fi
here=$(cd "$(dirname "$0")" && pwd)
# Nothing is downloaded at run time, and results do not depend on hashing.
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1
exec "$environment/bin/python" "$here/$program" "$@"
