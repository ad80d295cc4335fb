#!/usr/bin/env bash
# The main job on the CPU: every case of the shipped quick run is right or says why it was not run. Only how long it measures is
# cut and the largest sizes, and the self-test left out, which judges the machine it runs on.
set -euo pipefail
gpuproof=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$gpuproof" run quick --backend host -o "$dir/quick" --quiet --set defaults.max_time=2ms --set defaults.min_samples=3 --set defaults.settle_time=0s \
	--set 'suite transfer cpu.sizes=4KiB, 256KiB, 2MiB' --set 'suite stream cpu.sizes=2MiB' \
	--set 'suite matmul cpu.sizes=64, 256, 256x64x128' --set 'suite peak cpu.size=2MiB' \
	--set run.suites=launch,alloc,transfer,stream,matmul,peak,collective,parallel,trainmem > "$dir/said" 2>&1 ||
	{ echo "FAILED: quick ended with $?: $(cat "$dir/said")"; exit 1; }
python3 - "$dir/quick/result.json" <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
assert not [c["id"] for c in cases if c["status"] in ("FAILED", "ERROR")]
# A verdict would stay open for each.
assert not [c["id"] for c in cases if c["status"] == "OK" and not c["verification"]["done"]]
right = {c["suite"] for c in cases if c["status"] == "OK"}
assert {"alloc", "transfer", "stream", "matmul", "peak", "collective", "parallel", "trainmem"} <= right, right
PY
