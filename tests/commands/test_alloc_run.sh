#!/usr/bin/env bash
# Suite `alloc` in workers, on the backend `fake` with memory of its own: what a crash in a fresh process costs, a card
# that is used up and filled.
set -euo pipefail
program=$1
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends; export GPUPROOF_BACKENDS
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0

cat > fake.ini <<-INI
	[run]
	backend = fake
	[defaults]
	min_samples = 5
	max_samples = 5
	max_time = 20ms
	[suite alloc]
	allocators = device
	sizes = 4KiB
INI

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
# expect CODE FAKE OPTION...: a run with this script of the backend
expect() {
	local code=$1 got=0
	export GPUPROOF_FAKE=$2
	shift 2
	rm -rf out
	"$program" run fake.ini -o out --no-report "$@" > log 2>&1 < /dev/null || got=$?
	[ "$got" = "$code" ] || { fail "$*: exit code $got, not $code"; cat log; }
}
says() { grep -qF -- "$1" out/result.json || { fail "no '$1' in the result:"; cat log; }; }
start=(--set "suite alloc.operations=start" --set "suite alloc.loadings=eager")

# The staircase; and a fresh process that dies, while the worker and its device live on.
expect 0 "" "${start[@]}"
says '"alloc.start_time_collectives"'
expect 4 "segfault@gemm" "${start[@]}"
says 'a fresh process ended: killed by signal 11'

# A pool has a figure of pairs in a row, next to that of a call after other work; an allocator that waits has none.
expect 0 "" --set "suite alloc.operations=alloc" --set "suite alloc.allocators=pool, device"
python3 - <<-'PY' || fail "allocations in a row"
	import json
	for case in json.load(open("out/result.json"))["cases"]:
	    row = case["metrics"].get("alloc.row")
	    assert (row is not None) == ("/pool/alloc/reused/" in case["id"]), case["id"]
	    assert row is None or (row["value"] > 0 and case["samples"]["alloc.row"]["batch"] > 1), row
PY

# A card of 64 MiB is used up, one of 256 MiB filled.
expect 0 "memory=64MiB" --set "suite alloc.operations=exhaust"
says '"alloc.granted_share"'
for allocator in caching bfc bfc_growth arena; do
	expect 0 "memory=256MiB" --set "suite alloc.operations=exhaust" --set "suite alloc.allocators=$allocator"
done
expect 0 "memory=256MiB" --set "suite alloc.operations=free" --set "suite alloc.fills=90 %"
says 'fill=90%'
# A failure in the middle of it is an ERROR with its reason, and the run ends well.
expect 4 "memory=64MiB error@memory_alloc:9" --set "suite alloc.operations=exhaust"
says 'FAKE'

exit $((failures > 0))
