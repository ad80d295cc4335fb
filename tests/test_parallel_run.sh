#!/usr/bin/env bash
# The suite `parallel` through the whole program on shares of the CPU: what is planned, what is skipped
# and why, and that every split that runs is verified and reports its figures.
set -euo pipefail
gpuproof=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() { echo "FAILED: $*"; exit 1; }

cat > "$dir/splits.ini" <<'INI'
[run]
backend = host
host_devices = 3
[suite parallel]
layers = 40,64,56,48,10
batch = 48
devices = 1,2,3,4,8
microbatches = 1,4
bucket = 1KiB,1MiB
precision = fp32,bf16
iterations = 12
sample_time = 100us
INI

refused() { # value of layers, words
	local status=0
	"$gpuproof" run "$dir/splits.ini" --set "parallel.layers=$1" --dry-run > "$dir/said" 2>&1 || status=$?
	[ $status = 2 ] || fail "layers = $1: exit $status instead of 2"
	grep -q "$2" "$dir/said" || fail "layers = $1: $(cat "$dir/said")"
}
refused 10 'layers: 1 widths, allowed are 2 to 65'
refused 10,1 'number of classes, at least 2'

"$gpuproof" run "$dir/splits.ini" --dry-run > "$dir/plan"
# Per precision: single; ddp with two buckets and layer_split with two micro-batch counts on 2, 3, 4
# and 8 devices, of which three exist.
[ "$(grep -c '^parallel/' "$dir/plan")" = 34 ] || { cat "$dir/plan"; fail "34 cases were expected"; }
grep -q 'ddp/4/.*needs 4 devices, host has 3' "$dir/plan" || fail "four of three devices not skipped"
grep -q 'layer_split/8/.*more devices than layers' "$dir/plan" || fail "8 stages of 4 layers"

"$gpuproof" run "$dir/splits.ini" -o "$dir/out" --quiet || fail "run ended with $?"
python3 - "$dir/out/result.json" <<'PY'
import json, sys
cases = json.load(open(sys.argv[1]))["cases"]
def text(c, name):
    p = c["parameters"][name]
    return str(p["text"] if isinstance(p, dict) else p)
done = [c for c in cases if c["status"] != "SKIPPED"]
assert len(done) == 18, [c["id"] for c in done]
for c in done:
    m, mode = c["metrics"], text(c, "mode")
    assert c["status"] == "OK", (c["id"], c["reason"])
    assert c["verification"]["done"] and c["verification"]["error"] <= c["verification"]["tolerance"]
    assert m["parallel.step_time"]["value"] > 0 and m["parallel.memory"]["value"] > 0, c["id"]
    split = {"parallel.speedup", "parallel.efficiency", "parallel.exposed_communication",
             "parallel.communication_time", "parallel.idle", "parallel.overlap"}
    assert split <= set(m) if mode != "single" else not split & set(m), (c["id"], sorted(m))
    assert ("microbatches" in c["parameters"]) == (mode == "layer_split"), c["id"]
    assert ("bucket" in c["parameters"]) == (mode == "ddp"), c["id"]
    parts = [v["value"] for k, v in m.items() if k.startswith("parallel.memory_")]
    assert sum(parts) == m["parallel.memory"]["value"], c["id"]
bubbles = {c["metrics"]["parallel.bubble_model"]["value"] for c in done
           if text(c, "mode") == "layer_split" and text(c, "microbatches") == "4"}
assert bubbles == {1 / 5, 2 / 6}, bubbles
PY
echo "18 splits measured"
