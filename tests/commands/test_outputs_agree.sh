#!/usr/bin/env bash
# One verdict, told once: every pair of outputs over every fixture in tests/data, and over variants of one of each kind.
set -u
program=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
python3 "$here/commands/outputs_agree.py" "$program" "$here"/data/{acceptance,burn}_*.json "$here"/data/quick_h200.json -- \
	"$here"/data/{claims,compare,quick}_h200_x2.json
