#!/usr/bin/env bash
# A result that no look supports is accepted in no output: doctored_results.py over an accepted run of two H200s.
set -u
program=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
python3 "$here/commands/doctored_results.py" "$program" "$here/data/acceptance_h200_x2.json"
