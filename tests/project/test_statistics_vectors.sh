#!/usr/bin/env bash
# tests/data/statistics/ holds what formulas of a second program give, and that program notices a wrong value.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
python3 "$top/tests/project/statistics_vectors.py" "$top/tests/data/statistics" || failed=1
# Every file is read, and every value in it counts.
for file in "$top"/tests/data/statistics/*.json; do
	kind=$(basename "$file" .json)
	cp "$file" "$folder"
	python3 - "$folder/$kind.json" <<'P' || failed=1
import json, sys
vectors = json.load(open(sys.argv[1]))
name, value = sorted(vectors[-1]["expected"].items())[-1]
vectors[-1]["expected"][name] = (not value) if isinstance(value, bool) else "?" if isinstance(value, str) else value + 1e-5
json.dump(vectors, open(sys.argv[1], "w"))
P
	python3 "$top/tests/project/statistics_vectors.py" "$folder" "$kind" >"$folder/log" && {
		echo "a wrong value in $(basename "$file") is not noticed"; cat "$folder/log"; failed=1; }
	grep -q "$kind.json, vector" "$folder/log" || failed=1
	grep -qF "\`$(basename "$file")\`" "$top/docs/statistics.md" || {
		echo "docs/statistics.md does not name $(basename "$file")"; failed=1; }
done
exit $failed
