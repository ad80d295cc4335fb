#!/usr/bin/env bash
# Energy on the backend `fake`, whose power is scripted: a counter is held against work of a known part of the time, power is
# integrated where there is no counter, and what was not measured has its reason and passes no limit.
set -uo pipefail
program=$(realpath "$1")
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends; export GPUPROOF_BACKENDS
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
# expect CODE FAKE CONFIG OPTION...: a run with this script of the backend
expect() {
	local code=$1 got=0
	export GPUPROOF_FAKE=$2
	shift 2
	rm -rf out
	"$program" run "$@" --backend fake -o out > log 2>&1 < /dev/null || got=$?
	[ "$got" = "$code" ] || { fail "$GPUPROOF_FAKE, $*: exit code $got, not $code"; cat log; }
}
says() { grep -qF -- "$1" out/result.json || { fail "no '$1' in the result:"; cat log; }; }
lacks() { ! grep -qF -- "$1" out/result.json || { fail "'$1' in the result:"; cat log; }; }

# Work for a known part of the time. A machine under load delays clocks, so the tolerance is wide.
cat > duty.ini <<-INI
	[suite selftest]
	checks = energy
	energy_window = 300ms
	energy_tolerance = 30 %
INI
expect 0 "watts=70 busy_watts=400 power=100%" duty.ini
says '"selftest.energy_error"'
says 'and mean power'
# Without a reading of power nothing is said about it.
expect 0 "watts=70 busy_watts=400" duty.ini
says '"selftest.energy_error"'
says 'Not compared with mean power'
lacks '"selftest.power_error":{'
# A counter that misses work, and one that counts less than the power.
expect 5 "watts=70 busy_watts=400 blind=2ms" duty.ini
says 'from the energy of the duty cycle'
expect 5 "watts=70 busy_watts=400 power=300%" duty.ini
says 'from mean power x time'
# Nothing was checked where work takes no more power than rest, or nothing can be read.
expect 4 "watts=300" duty.ini
says 'SKIPPED'
says '300 W under load and 300 W at rest'
expect 4 "" duty.ini
says 'SKIPPED'
says 'fake:0 has no energy counter'

# A limit on a figure that is not there is not passed; why it is not there is told.
cat > limited.ini <<-INI
	[defaults]
	min_samples = 6
	max_samples = 6
	energy_time = 100ms
	[suite matmul]
	sustained_time = 0s
	precisions = fp32
	sizes = 256
	[limit energy]
	metric = matmul.energy
	max = 1 MJ
INI
expect 4 "clock=host" limited.ini --check --launches 1
says 'the case has no such metric; its notes: '
grep -qF 'No energy was recorded: fake:0 has no energy counter' out/report.html || fail "the page does not say why there is no energy"
expect 4 "clock=host watts=70 busy_watts=400 power=100% counter=off" limited.ini --check --launches 1
says 'power readings every 20 ms has an uncertainty of'
lacks '"matmul.energy":{'

# Power over time is kept, and drawn; it is no soak.
sed -e 's/energy_time = .*/energy_time = 1s/' limited.ini > curve.ini
expect 0 "clock=host watts=70 busy_watts=400 power=100%" curve.ini --check --launches 1
python3 - <<-PY || fail "power over time"
	import calendar, json, time
	case, = json.load(open("out/result.json"))["cases"]
	watch = case["watches"]["fake:0"]
	assert set(watch["quantities"]) <= {"power_watts", "sm_clock_hz"}, watch
	power = watch["quantities"]["power_watts"]
	known = [v for v in power["highest"] if v is not None]
	assert 0 < watch["offset"] < case["seconds"] and watch["interval"] == 0.1, watch
	assert 10 <= len(power["mean"]) <= 60, power
	rest, work = case["energy_windows"]
	started = calendar.timegm(time.strptime(json.load(open("out/result.json"))["run"]["started"], "%Y-%m-%dT%H:%M:%SZ"))
	assert (rest["name"], work["name"]) == ("rest", "work") and started <= work["began"] < work["ended"] <= rest["began"], case
	seconds = work["ended"] - work["began"]
	assert abs(work["joules"] / seconds / case["metrics"]["matmul.power"]["value"] - 1) < 1e-6, case
	assert abs(max(known) - 400) < 1 and abs(min(v for v in power["lowest"] if v is not None) - 70) < 1, power
PY
grep -qE 'Energy of work: [0-9.]+ k?J from [0-9:.]+ to [0-9:.]+ UTC' out/report.html || fail "the page does not tell the window"
grep -qF 'Power over time' out/report.html || fail "the page has no power over time"
grep -qF 'words compared' log && fail "a case with energy is told as a soak"

# A soak: its operations over its joules; too short a one says why it has none.
printf '[suite burn]\nloads = fp32\nsize = 256\nduration = 5s\nslice = 5s\n' > burn.ini
expect 0 "clock=host watts=70 busy_watts=400 power=100%" burn.ini
python3 - <<-PY || fail "the energy of a soak"
	import json
	case, = json.load(open("out/result.json"))["cases"]
	value = {name: m["value"] for name, m in case["metrics"].items()}
	assert value["burn.checked_share"] > 0, value
	if "No energy was recorded: the devices worked only" not in case["notes"]: # a machine under load
	    assert 70 < value["burn.power"] <= 400.5, value
	    assert abs(value["burn.energy"] * value["burn.flops_per_joule"] / (2 * 256**3) - 1) < 1e-6, value
PY
expect 0 "clock=host watts=70 busy_watts=400 power=100%" burn.ini --set burn.duration=1s
says 'No energy was recorded: no measurement lasted long enough'
lacks '"burn.energy":{'

exit $((failures > 0))
