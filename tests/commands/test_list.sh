#!/usr/bin/env bash
# gpuproof list: what there is to choose from, as a table and as JSON that scripts can read.
set -euo pipefail
program=$1

fail() {
	echo "$1"
	exit 1
}
says() { # command..., expected pattern last
	local pattern=${*: -1}
	"${@:1:$#-1}" | grep -E "$pattern" >/dev/null || fail "${*:1:$#-1} does not say: $pattern"
}

says "$program" list suites '^SUITE +MEASURES$'
says "$program" list suites '^transfer  +[a-z]'
says "$program" list metrics '^transfer\.bandwidth +B/s +higher  +[a-z]'
says "$program" list metrics '^node\.devices +1 +none  +[a-z]'
says "$program" list configs '^quick +A short run of every'
says "$program" list gpus '^k80  +Kepler +3\.7 +240\.5 GB/s'
says "$program" list devices '^host:0  +[0-9.]+ [GT]B'
# A table's cells, not its folds: elsewhere than on a terminal a row is a line.
[ "$("$program" list suites | wc -l)" -eq $(("$("$program" list suites --json | grep -c '"name"')" + 1)) ] ||
	fail "list suites is folded"

if ! command -v python3 >/dev/null; then
	echo "skipped in part: no python3 to read JSON with"
else
	for kind in suites metrics configs devices; do
		"$program" list $kind --json | python3 -c '
import json, sys
entries = json.load(sys.stdin)
assert entries, "empty"
names = [entry.get("name") for entry in entries]
assert all(names), "an entry has no name"
' || fail "list $kind --json is no array of named things"
	done
	"$program" list gpus --json | python3 -c '
import json, sys
known = json.load(sys.stdin)
assert any(gpu["id"] == "k80" and gpu["sheet"]["fp32"] == {"value": 4.37e12, "unit": "FLOP/s", "status": "read"}
                      for gpu in known), "no K80"
' || fail "list gpus --json lacks something"
	"$program" list metrics --json | python3 -c '
import json, sys
node = 0
for metric in json.load(sys.stdin):
    assert metric["name"].startswith(metric["suite"] + "."), metric
    assert metric["better"] in ("higher", "lower", "none") and metric["unit"] and metric["help"], metric
    assert isinstance(metric["headline"], bool), metric
    node += metric["name"].startswith("node.")
assert node >= 6, "metrics of the node are missing"
' || fail "a metric is not described"
fi

for arguments in "" "nothing" "suites metrics" "suites --jsn"; do
	code=0
	# shellcheck disable=SC2086
	"$program" list $arguments >/dev/null 2>&1 || code=$?
	[ $code -eq 2 ] || fail "list $arguments: exit code $code, not 2"
done
says "$program" list --help 'usage: gpuproof list devices'

code=0
"$program" list suites >/dev/full 2>/dev/null || code=$?
[ $code -eq 3 ] || fail "a full disk at standard output: exit code $code, not 3"
