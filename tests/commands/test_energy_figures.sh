#!/usr/bin/env bash
# Energy figures are figures: limits, compare, history and exports take them. Results are of the backend `fake`, with an energy
# written into them, so that no clock of this machine decides.
set -uo pipefail
program=$(realpath "$1")
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends; export GPUPROOF_BACKENDS
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
# expect CODE WORD COMMAND...: the exit code, and WORD in what it prints
expect() {
	local code=$1 word=$2 got=0
	shift 2
	"$program" "$@" > log 2>&1 < /dev/null || got=$?
	[ "$got" = "$code" ] || { fail "$*: exit code $got, not $code"; cat log; }
	grep -qF -- "$word" log || { fail "$*: no '$word' in"; cat log; }
}

cat > product.ini <<-INI
	[suite matmul]
	sustained_time = 0s
	precisions = fp32
	sizes = 256
	min_samples = 6
	max_samples = 6
INI
expect 0 "1 OK" run product.ini --backend fake -o run --no-report
# energy FILE JOULES DAY: a copy of the run with that energy, known to 1 %, of that day of a month
energy() {
	python3 - "$1" "$2" "$3" <<-'PY'
		import json, sys
		joules = float(sys.argv[2])
		result = json.load(open("run/result.json"))
		run = result["run"]
		run["id"] = "%016x" % (int(1000 * joules) * 100 + int(sys.argv[3]))
		run["started"] = run["finished"] = "2026-11-%02dT01:00:00Z" % int(sys.argv[3])
		def figure(value, unit, better):
		    return {"value": value, "unit": unit, "better": better, "headline": False, "low": 0.99 * value,
		            "high": 1.01 * value, "n": 1, "series": ""}
		metrics = result["cases"][0]["metrics"]
		metrics["matmul.energy"] = figure(joules, "J", "lower")
		metrics["matmul.flops_per_joule"] = figure(1e9 / joules, "FLOP/J", "higher")
		json.dump(result, open(sys.argv[1], "w"))
	PY
}
energy usual.json 5.0 1
energy thirsty.json 6.5 2

limit() { printf '[limit energy]\nmetric = matmul.energy\n%s\n' "$1" > limit.ini; }
limit 'max = 6 J'
expect 0 "PASS" check usual.json --limits limit.ini
expect 1 "FAIL" check thirsty.json --limits limit.ini
expect 4 "the case has no such metric" check run/result.json --limits limit.ini
limit 'max = 1.05 * baseline'
expect 1 "FAIL" check thirsty.json --limits limit.ini --baseline usual.json
expect 4 "" check usual.json --limits limit.ini --baseline run/result.json

"$program" compare usual.json thirsty.json --all-metrics > log 2>&1
grep -q 'REGRESSED.*matmul.energy' log || { fail "compare does not tell that energy rose:"; cat log; }
"$program" compare usual.json run/result.json --all-metrics --all > log 2>&1
! grep -qi '^\(unchanged\|improved\).*matmul.energy' log || { fail "compare judges an energy that is not there:"; cat log; }

expect 0 'gpuproof_matmul_energy_joules{' export prometheus thirsty.json
expect 0 'gpuproof_matmul_flops_per_joule_flops_per_joule{' export prometheus thirsty.json
expect 0 'matmul.energy' export ocp thirsty.json
"$program" export prometheus run/result.json > log 2>&1
! grep -q energy log || fail "an energy that was not measured is exported"

# Thirteen nights, of which the last ones take 20 % more.
for night in 1 2 3 4 5 6 7 8 9 10 11 12 13; do
	energy "night$night.json" "$(((night > 7 ? 6000 : 5000) + night % 3))e-3" "$night"
done
expect 0 "" history add --db nights.db night*.json
"$program" history trend --db nights.db --metric matmul.energy > log 2>&1
grep -qF '5.001 J -> 6.001 J, 20.0 % worse' log || { fail "trend does not tell that energy rose:"; cat log; }

exit $((failures > 0))
