#!/usr/bin/env bash
# Cases of more devices than the 16 that one case could once have: planned, measured by a rank each, and verified.
set -euo pipefail
gpuproof=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/many.ini" <<'INI'
[run]
backend = host
host_devices = 24

[suite collective]
operations = all_reduce, send_recv
devices = 20, 24
sizes = 4KiB
min_samples = 3
max_time = 0.05s

[suite transfer]
directions = h2d_all
memories = pinned
sizes = 4KiB
min_samples = 3
max_time = 0.05s
INI
"$gpuproof" run "$work/many.ini" -o "$work/out" >"$work/printed" 2>&1
grep -q '^5 cases: 5 OK; complete' "$work/printed"
for case in collective/20/all_reduce collective/24/send_recv; do
	grep -q "OK $case.*host:19" "$work/printed"
done
grep -q 'OK transfer/h2d_all.*host:23' "$work/printed"
# Each reaches all others, also those with higher numbers.
peers=$(seq -s ', ' 0 23)
[ "$(grep -c "\"peers\": \[$peers\]" "$work/out/result.json")" = 24 ]
