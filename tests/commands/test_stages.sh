#!/usr/bin/env bash
# Promises of an acceptance in stages: they run in their order, a stage that rejects ends the run, what was not run is never
# green, --soak sets the soak, and --resume continues it.
set -u
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export GPUPROOF_BACKENDS=${GPUPROOF_BACKENDS:-$(dirname "$program")/tests/backends} NO_COLOR=1
failed=0
complain() {
	echo "$*" >&2
	failed=1
}
cat >s.ini <<'INI'
[run]
backend = fake
[defaults]
min_samples = 10
max_samples = 10
[suite stream]
stage = rates
operations = triad
precisions = fp64
sizes = 1MiB
[suite matmul]
stage = together
precisions = fp32
sizes = 64
sustained_time = 0s
[suite burn]
stage = soak
loads = fp32
duration = 40ms
slice = 20ms
size = 64
[limit memory]
metric = stream.bandwidth
min = 1 TB/s
[limit gemm]
metric = matmul.throughput
min = 1 GFLOP/s
INI
# "rates passed", one line per stage
stages_of() {
	sed -n 's|^<li class="[a-z]*"><strong>\([a-z]*\)</strong> <span class="status"><span aria-hidden="true">.*</span> \([a-z ]*\)</span>.*|\1 \2|p' "$1/acceptance.html"
}
# expect CODE FOLDER WORDS...: the exit code of the last command, and how each stage came out
expect() {
	local code=$1 wanted=$2 dir=$3 got
	shift 3
	[ "$code" = "$wanted" ] || complain "$dir: exit code $code, not $wanted: $(tail -3 out)"
	got=$(stages_of "$dir" | tr '\n' ',')
	[ "$got" = "$1" ] || complain "$dir: stages are '$got', not '$1'"
}

GPUPROOF_FAKE="devices=2" "$program" run s.ini --check -o sound >out 2>&1
expect $? 0 sound "sanity passed,rates passed,together passed,soak passed,"
grep -oE '^gpuproof: stage [a-z]+$' out | tr '\n' ' ' >order
[ "$(cat order)" = "gpuproof: stage rates gpuproof: stage together gpuproof: stage soak " ] || complain "stages begin in the order $(cat order)"

# A stage without a limit has not passed.
sed '/limit gemm/,$d' s.ini >unjudged.ini
GPUPROOF_FAKE="devices=2" "$program" run unjudged.ini --check -o unjudged >out 2>&1
expect $? 0 unjudged "sanity passed,rates passed,together not judged,soak passed,"

# A slow GPU ends the run after rates, and the terminal, page, JUnit and result tell which stages were not run.
sed 's/min = 1 TB/min = 99 TB/' s.ini >slow.ini
GPUPROOF_FAKE="devices=2" "$program" run slow.ini --check -o slow >out 2>&1
expect $? 1 slow "sanity passed,rates rejected,together not run,soak not run,"
grep -q '^gpuproof: the run ends, because stage rates rejects the node: GPU.*Stages that were not run: together and soak$' out || complain "no line says why the run ended: $(cat out)"
grep -q 'stage rates rejected the node, so 4 of 6 cases were not run' out || complain "the verdict does not name the stage: $(cat out)"
"$program" export junit slow/result.json | head -2 | grep -q ' failures="0"' && complain "JUnit is green"
grep -q '"suite":"matmul"\|"suite": "matmul"' slow/run.jsonl && complain "a case of a later stage was run"
# Resuming changes nothing, and is said.
GPUPROOF_FAKE="devices=2" "$program" run --resume slow --check >out 2>&1
expect $? 1 slow "sanity passed,rates rejected,together not run,soak not run,"

# Wrong results of GEMMs end it before the soak.
GPUPROOF_FAKE="devices=2 wrong=1" "$program" run s.ini --check -o wrong >out 2>&1
expect $? 5 wrong "sanity passed,rates passed,together rejected,soak not run,"

# A GPU that waits for a reset is not measured at all.
GPUPROOF_FAKE="devices=2 reset=1" "$program" run s.ini --check -o reset >out 2>&1
expect $? 1 reset "sanity rejected,rates not run,together not run,soak not run,"
grep -q 'gpuproof: found before the run: recovery fake:1: the driver requests a reset of the GPU' out || complain "the finding is not said before: $(cat out)"
grep -q 'cause: gpu-recovery' out || complain "the cause of sanity is missing: $(cat out)"
grep -q '^\[1/' out && complain "a case was measured on a GPU that waits for a reset"
# Without --check there is no verdict, and everything runs.
GPUPROOF_FAKE="devices=2 reset=1" "$program" run s.ini -o plain >out 2>&1
[ $? -eq 0 ] && grep -q '^6 cases: 6 OK' out || complain "a plain run does not run all: $(tail -3 out)"

# An interrupted soak continues where it was: the journal loses its last slice, as at a power cut.
cp -r sound cut
rm cut/result.json cut/acceptance.html
sed -i '$d' cut/run.jsonl
kept=$(wc -l <cut/run.jsonl)
GPUPROOF_FAKE="devices=2" "$program" run --resume cut --check >out 2>&1
expect $? 0 cut "sanity passed,rates passed,together passed,soak passed,"
[ "$(grep -c '^\[[0-9]*/6\] ' out)" -eq 1 ] || complain "finished stages are measured again: $(cat out)"
[ "$(wc -l <cut/run.jsonl)" -gt "$kept" ] || complain "nothing was added"

# --soak: its time, in slices that are as long as the soak asks for.
soak() {
	"$program" run s.ini --dry-run --soak "$@" 2>&1
}
GPUPROOF_FAKE=devices=2 soak 1min >out || complain "--soak 1min: $(cat out)"
[ "$(grep -c 'burn/' out)" -eq "$(GPUPROOF_FAKE=devices=2 "$program" run s.ini --dry-run --set burn.duration=1min | grep -c burn/)" ] || complain "--soak 1min is not the duration"
[ "$(GPUPROOF_FAKE=devices=2 soak 24h | grep -c 'burn/')" -eq 144 ] || complain "24h are not 144 slices of 10 minutes: $(GPUPROOF_FAKE=devices=2 soak 24h | tail -2)"
soak soon >out && complain "--soak soon is taken"
grep -q -- "--soak: 'soon'" out || complain "--soak soon: $(cat out)"
sed '/suite burn/,/size = 64/d' s.ini >none.ini
"$program" run none.ini --dry-run --soak 1min >out 2>&1 && complain "--soak without [suite burn] is taken"
grep -q 'has no \[suite burn\]' out || complain "--soak without [suite burn]: $(cat out)"
exit $failed
