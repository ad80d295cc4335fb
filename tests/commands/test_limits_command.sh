#!/usr/bin/env bash
# gpuproof limits: the bounds of a model in units are those that `check` applies to results of the model.
set -euo pipefail
program=$(realpath "$1")
data=$(cd "$(dirname "$0")/../data" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
	echo "$1"
	exit 1
}
refuses() { # pattern, arguments...
	local code=0
	"$program" limits "${@:2}" >out 2>err || code=$?
	[ $code -eq 2 ] && grep -q -- "$1" err || fail "limits ${*:2}: exit code $code, $(cat err)"
}

"$program" limits h200 --json >limits.json
"$program" check "$data/acceptance_h200_x2.json" --json >checks.json || [ $? -eq 4 ]
python3 - <<'PY'
import json
limits = {l["name"]: l for l in json.load(open("limits.json"))["limits"]}
seen = set()
for c in json.load(open("checks.json"))["checks"]:
    if not c["comparison"].startswith("at ") or c["limit"] not in limits:
        continue
    bound = limits[c["limit"]].get("min") or limits[c["limit"]]["max"]
    precision = c["case"].split("/")[1]
    value = bound["value"] if "value" in bound else bound[precision]
    assert abs(value / c["bound"] - 1) < 1e-9, (c["limit"], c["case"], value, c["bound"])
    seen.add((c["limit"], precision if "value" not in bound else ""))
assert {("pcie", ""), ("memory", ""), ("gemm", "fp32"), ("gemm", "bf16"), ("gemm-error", "")} <= seen, seen
PY
"$program" limits h200 >table
grep -qE '^pcie +at least 50\.42 GB/s +2 % +5 % +transfer\.bandwidth: ' table || fail "no bound of the link: $(cat table)"
grep -qE '^gemm, tf32 +at least 272\.0 TFLOP/s ' table || fail "no bound of a precision: $(cat table)"
grep -qE '^memory +measured with gpuproof: ' table || fail "no origin: $(cat table)"

# Limits that warn say so; a figure that the sheet lacks is as written.
says() { # pattern, arguments...
	"$program" limits "${@:2}" >out
	grep -qE "$1" out || fail "limits ${*:2}: no $1 in $(cat out)"
}
says '^peer +at least 7\.875 GB/s \(warns\) ' k80
says '^gemm, bf16 +at least 0\.7 \* spec\.peak ' v100-sxm2
says '^memory +at least 0\.55 \* spec\.memory_bandwidth ' generic
printf '[limit mine]\nmetric = stream.bandwidth\nmin = 0.5 * spec.memory_bandwidth\nseverity = warn\n' >mine.ini
says '^mine +at least 2\.400 TB/s \(warns\) +- +- +stream\.bandwidth: all cases' mine.ini --gpu h200

refuses "did you mean 'h200'" h20
refuses 'unknown model' mine.ini --gpu h20
refuses 'expected one GPU model'
refuses 'expected one GPU model' h100 h200
