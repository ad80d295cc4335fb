#!/usr/bin/env bash
# A run as a person at a terminal treats it: the window changes its size, Ctrl-C at any moment, Ctrl-Z and bg, the window
# is closed. Whatever happens: no process is left, the result is whole, --resume does the rest (tests/resilience/terminal.py).
set -euo pipefail
program=$(realpath "$1") here=$(cd "$(dirname "$0")/.." && pwd)
command -v python3 > /dev/null || { echo "skipped: no python3 to open a terminal with"; exit 77; }
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends TERM=xterm OMP_NUM_THREADS=1; export GPUPROOF_BACKENDS TERM OMP_NUM_THREADS
unset NO_COLOR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 "$here/resilience/terminal.py" "$program"
