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
bad = [(c["id"], c["reason"]) for c in cases if c["status"] != "OK" and "more devices than the model has layers" not in c["reason"]]
assert not bad, bad
assert len([c for c in cases if c["status"] == "OK"]) == 2 + 6 + 12 + 3, len(cases)
assert {len(c["devices"]) for c in cases} == {2, 3, 4}
PY

# More communicators than ranks keep; ranks 0 and 1 are in all of them, ranks 2 and 3 in half.
{
	printf '[run]\nbackend = host\nhost_devices = 4\n[defaults]\nmin_samples = 3\nmax_samples = 3\nsample_time = 100us\n'
	for n in $(seq 10); do
		printf '[suite parallel n%d]\nlayers = 20, 24, 10\nbatch = 12\ndevices = 2, 4\nmodes = ddp\ncollective_multiprocessors = %d\n' "$n" "$n"
	done
} > "$dir/many.ini"
"$gpuproof" run "$dir/many.ini" -o "$dir/many" --no-report > "$dir/said" 2>&1 || fail "run ended with $?: $(cat "$dir/said")"
python3 - "$dir/many/result.json" <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
bad = [(c["id"], c["status"], c["reason"]) for c in cases if c["status"] != "OK"]
assert not bad and len(cases) == 20, (len(cases), bad)
PY

# A rank that cannot open what the soak needs ends the case with its reason, and no rank is out of step.
cat > "$dir/burn.ini" <<'INI'
[run]
backend = fake
[suite burn]
duration = 1s
loads = links
link_size = 1MiB
size = 256
INI
GPUPROOF_BACKENDS=$(dirname "$gpuproof")/tests/backends \
	GPUPROOF_FAKE="devices=2 clock=host memory=8GiB once=$dir/once fail@event_create:1" \
	"$gpuproof" run "$dir/burn.ini" -o "$dir/burn" --no-report -q > "$dir/said" 2>&1 && fail "a failed case, and exit 0"
grep -q 'ERROR burn/0001/links.*fake event_create: FAKE_ERROR_ONCE$' "$dir/said" || fail "$(cat "$dir/said")"
