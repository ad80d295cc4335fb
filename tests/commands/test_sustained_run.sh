#!/usr/bin/env bash
# Burst and sustained rate on the backend `fake`, with the host's time: figures of a load are of its mean, next to the burst,
# power is traced, and a run without a load says that its rates are of a burst.
set -uo pipefail
program=$(realpath "$1")
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends; export GPUPROOF_BACKENDS
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
run() {
	rm -rf out
	"$program" run load.ini --backend fake --launches 1 -o out "$@" > log 2>&1 < /dev/null || { fail "run $*: exit code $?"; cat log; }
}
cat > load.ini <<-INI
	[defaults]
	min_samples = 3
	sustained_time = 200ms
	[suite matmul]
	precisions = fp32
	sizes = 256
	concurrent = yes
	[suite peak]
	units = fma
	precisions = fp32
	[suite convolution]
	passes = forward
	precisions = fp32
	batch = 1
	image = 8
	channels = 16
	[suite attention]
	passes = forward
	implementations = fused
	masks = causal
	head_size = 64
	sequence = 64
	tokens = 64
	hidden = 64
	precisions = fp32
INI
export GPUPROOF_FAKE="devices=2 clock=host watts=70 busy_watts=400 power=100%"

run
python3 - <<-'PY' || fail "figures of a load"
	import json
	cases = [c for c in json.load(open("out/result.json"))["cases"] if c["status"] == "OK"]
	assert len(cases) == 8, [c["id"] for c in cases]
	for c in cases:
	    suite, m, series = c["suite"], c["metrics"], c["samples"]
	    load, burst = series[suite + ".sustained"], series[suite + ".time"]
	    assert load["load"] and not burst.get("load"), c["id"]
	    mean = sum(load["values"]) / len(load["values"])
	    assert abs(m[suite + ".time"]["value"] / mean - 1) < 1e-6, c["id"]
	    rate = m[suite + ".throughput"]
	    assert rate["series"] == suite + ".sustained" and abs(rate["value"] * mean / rate["amount"] - 1) < 1e-6, rate
	    assert abs(m[suite + ".burst"]["value"] * burst["statistics"]["median"] / rate["amount"] - 1) < 1e-6, c["id"]
	    share = rate["value"] / m[suite + ".burst"]["value"]
	    assert abs(m[suite + ".sustained_share"]["value"] / share - 1) < 1e-6, c["id"]
	    assert "burst" not in c["notes"] and not load.get("unsettled"), c["notes"]
	    watch, = c["watches"].values()
	    assert "power_watts" in watch["quantities"], watch
PY
grep -q 'Sampled together with 1 other device' out/result.json || fail "products were not sampled together"
grep -qF 'Sustained and burst' out/report.html || fail "the page does not show both"
grep -qF 'Power over time' out/report.html || fail "the page has no trace of power"

# A figure that the mean of its load does not give is impossible.
run --suites matmul --set defaults.min_samples=8 --no-report
python3 - <<-'PY'
	import json
	result = json.load(open("out/result.json"))
	for c in result["cases"]:
	    for name, m in c["metrics"].items():
	        if name.endswith(".throughput"):
	            for key in ("value", "low", "high"):
	                m[key] *= 1.5
	json.dump(result, open("doctored.json", "w"))
PY
printf '[limit gemm]\nmetric = matmul.throughput\nmin = 1 FLOP/s\n' > limits.ini
"$program" check out --limits limits.ini > log 2>&1 || { fail "what the mean gives: exit code $?"; cat log; }
"$program" check doctored.json --limits limits.ini > log 2>&1 && fail "1.5 times of what the samples give is accepted"
grep -q 'contradicts its samples' log || { fail "the reason is not named"; cat log; }

# No load: the same metrics, and a word about it.
run --set defaults.sustained_time=0s
python3 - <<-'PY' || fail "figures of a burst"
	import json
	for c in json.load(open("out/result.json"))["cases"]:
	    suite, m = c["suite"], c["metrics"]
	    assert suite + ".sustained" not in c["samples"] and suite + ".sustained_share" not in m, c["id"]
	    assert m[suite + ".burst"]["value"] == m[suite + ".throughput"]["value"], c["id"]
	    assert "The throughput is that of a burst" in c["notes"] and not c.get("watches"), c["notes"]
PY
# Training steps: the load gives step time and what is derived of it, on one device and on two.
cat > steps.ini <<-INI
	[defaults]
	min_samples = 3
	sustained_time = 200ms
	[suite parallel]
	layers = 16, 32, 10
	batch = 32
	modes = single, ddp, tensor
	devices = 1, 2
	search_time = 0
INI
"$program" run steps.ini --backend fake --launches 1 -o steps > log 2>&1 < /dev/null || { fail "steps: exit code $?"; cat log; }
"$program" run steps.ini --backend fake --launches 1 -o short --set defaults.sustained_time=0s --no-report > log 2>&1 < /dev/null || { fail "steps without load: exit code $?"; cat log; }
python3 - <<-'PY' || fail "steps under load"
	import json
	cases = json.load(open("steps/result.json"))["cases"]
	assert len(cases) == 3 and all(c["status"] == "OK" for c in cases), [(c["id"], c["reason"]) for c in cases]
	for c in cases:
	    m, series = {n.split(".")[1]: v for n, v in c["metrics"].items()}, c["samples"]
	    load, burst = series["parallel.step_time"], series["parallel.burst_time"]
	    assert load["load"] and not burst.get("load"), c["id"]
	    mean = sum(load["values"]) / len(load["values"])
	    assert abs(m["step_time"]["value"] / mean - 1) < 1e-6 and m["step_time"]["headline"], c["id"]
	    assert abs(m["throughput"]["value"] * mean / 32 - 1) < 1e-6, c["id"]
	    assert abs(m["burst_time"]["value"] / burst["statistics"]["median"] - 1) < 1e-6 and not m["burst_time"]["headline"], c["id"]
	    assert abs(m["sustained_share"]["value"] * mean / m["burst_time"]["value"] - 1) < 1e-6, c["id"]
	    assert all("power_watts" in w["quantities"] for w in c["watches"].values()) and len(c["watches"]) == len(c["devices"]), c["id"]
	    if len(c["devices"]) > 1:
	        # Each side of a ratio is under load.
	        assert series["parallel.single_time"]["load"] and series["parallel.compute_time"]["load"], c["id"]
	        assert abs(m["speedup"]["value"] * mean / m["single_time"]["value"] - 1) < 1e-6, c["id"]
	for c in json.load(open("short/result.json"))["cases"]:
	    assert "parallel.burst_time" not in c["metrics"] and not c["samples"]["parallel.step_time"].get("load") and not c.get("watches"), c["id"]
PY
grep -qF 'Sustained and burst' steps/report.html || fail "the page does not show burst steps"

# Nor is there one on a CPU, which others share.
"$program" run load.ini --backend host --suites matmul --launches 1 -o cpu --no-report > log 2>&1 || { fail "on the CPU"; cat log; }
python3 - <<-'PY' || fail "a load of a CPU"
	import json
	for c in json.load(open("cpu/result.json"))["cases"]:
	    assert c["status"] == "OK" and not any(w in n for n in [*c["metrics"], *c["samples"]] for w in ("sustained", "burst")), c["id"]
PY
exit $((failures > 0))
