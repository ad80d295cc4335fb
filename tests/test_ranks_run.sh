#!/usr/bin/env bash
# Ranks of the suites that need several devices, through the whole program: those of two devices are the first ones of those
# of three and four, and what a rank keeps for one number of devices is not in the way of another.
set -euo pipefail
gpuproof=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() { echo "FAILED: $*"; exit 1; }

cat > "$dir/ranks.ini" <<'INI'
[run]
backend = host
host_devices = 4
[defaults]
min_samples = 3
max_samples = 3
sample_time = 100us
[suite collective]
operations = all_reduce
devices = 2, 4
sizes = 4KiB
[suite parallel]
layers = 20, 24, 10
batch = 12
devices = 2, 3, 4
modes = ddp, zero3
[suite collective again]
operations = broadcast, all_reduce
devices = 4, 2, 3
sizes = 4KiB, 8KiB
[suite parallel again]
layers = 20, 24, 16
batch = 24
devices = 4, 2
modes = ddp, layer_split
microbatches = 2
INI
"$gpuproof" run "$dir/ranks.ini" -o "$dir/out" --no-report > "$dir/said" 2>&1 || fail "run ended with $?: $(cat "$dir/said")"
python3 - "$dir/out/result.json" <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
bad = [(c["id"], c["reason"]) for c in cases if c["status"] != "OK" and "more devices than layers" not in c["reason"]]
assert not bad, bad
assert len([c for c in cases if c["status"] == "OK"]) == 2 + 6 + 12 + 3, len(cases)
assert {len(c["devices"]) for c in cases} == {2, 3, 4}
PY
