#!/usr/bin/env bash
# One verdict, told once: every pair of outputs over every fixture in tests/data.
set -u
program=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
python3 "$here/commands/outputs_agree.py" "$program" "$here"/data/*.json
