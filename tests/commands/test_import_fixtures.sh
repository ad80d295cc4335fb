#!/usr/bin/env bash
# Real forms of other tools' output, one file for each tool and version, with what must come of it (FILE.expect); and an
# independent reader finds the same figures in them.
set -euo pipefail
program=$1
top=$(cd "$(dirname "$0")/.." && pwd)
data=$top/data/import
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 "$top"/commands/import_fixtures.py "$program" "$data"

pairs=()
for file in "$data"/nccl*.txt "$data"/nccl*.json "$data"/nvbandwidth* "$data"/babelstream* "$data"/google_benchmark* "$data"/field/*; do
	options=()
	case $file in *.expect) continue ;; esac
	operation=$(sed -n 's/^with --collective //p' "$file".expect)
	[ -z "$operation" ] || options=(--collective "$operation")
	result=$folder/$(basename "$file").json
	if "$program" import "$file" "${options[@]}" -o "$result" >/dev/null 2>&1 && ! grep -q '"imported from dcgmi' "$result"; then
		pairs+=("$file" "$result")
	fi
done
[ ${#pairs[@]} -ge 70 ] || { echo "only ${#pairs[@]} files for the independent reader"; exit 1; }
python3 "$top"/commands/imported_figures.py "${pairs[@]}"

# The reader notices a figure that is another one.
sed 's/"value": 1.54/"value": 1.55/' "$folder"/02-nccl-iters-column.txt.json >"$folder"/changed.json
! python3 "$top"/commands/imported_figures.py "$data"/field/02-nccl-iters-column.txt "$folder"/changed.json >/dev/null ||
	{ echo "the independent reader takes another figure"; exit 1; }
