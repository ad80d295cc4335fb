#!/usr/bin/env bash
# Cases of more devices than the 16 (of transfer 64) that one case could once have: planned, measured by a rank each, and verified.
set -euo pipefail
gpuproof=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/many.ini" <<'INI'
[run]
backend = host
host_devices = 70

[suite collective]
operations = all_reduce, send_recv
devices = 20, 24
sizes = 4KiB
min_samples = 3
max_time = 0.05s

[suite parallel]
modes = ddp, hybrid, layer_split
devices = 18, 20
hybrid = 2x3x3
depth = 20
width = 18
batch = 720
microbatches = 2
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
grep -q '^10 cases: 10 OK; complete' "$work/printed"
for case in collective/20/all_reduce collective/24/send_recv; do
	grep -q "OK $case.*host:19" "$work/printed"
done
for case in ddp/20 hybrid/18/2/2x3x3 layer_split/20/2; do
	grep -q "OK parallel/fp32/720/$case.*host:17" "$work/printed"
done
grep -q 'OK transfer/h2d_all.*host:69' "$work/printed"
# Each reaches all others, also those with higher numbers.
peers=$(seq -s ', ' 0 69)
[ "$(grep -c "\"peers\": \[$peers\]" "$work/out/result.json")" = 70 ]
