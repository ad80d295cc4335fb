#!/usr/bin/env bash
# Promises of ci/slurm/idle-run: it yields to a job at once, loses no finished case, continues, runs once a week, and leaves the
# reason of a rejection; while a job is on the node it does not start.
set -u
program=$(realpath "$1")
top=$(cd "$(dirname "$0")/../.." && pwd)
command -v setsid >/dev/null && command -v flock >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
complain() {
	echo "$*" >&2
	failed=1
}
mkdir bin
printf '#!/bin/sh\necho "$@" >>"%s/said"\n' "$folder" >bin/logger
printf '#!/bin/sh\ncat "%s/jobs" 2>/dev/null\n' "$folder" >bin/squeue
chmod +x bin/*
export PATH=$folder/bin:$PATH GPUPROOF=$program GPUPROOF_STATE=$folder/state SLURMD_NODENAME=node7 NO_COLOR=1
export GPUPROOF_BACKENDS=${GPUPROOF_BACKENDS:-$(dirname "$program")/tests/backends}
export GPUPROOF_IDLE_CONFIG=$folder/idle.ini GPUPROOF_IDLE_OPTIONS=--no-report
cat >idle.ini <<'INI'
[run]
backend = fake
[defaults]
min_samples = 10
max_samples = 10
[suite stream]
operations = triad
precisions = fp64
sizes = 1MiB
[suite transfer]
directions = h2d, d2h
memories = pinned
sizes = 64KiB
[limit memory]
metric = stream.bandwidth
min = 1 TB/s
INI
idle() {
	"$top/ci/slurm/idle-run" "$@"
}
cases() {
	grep -c '^{"case"' state/idle/run.jsonl 2>/dev/null
}

# A job is on the node.
echo 4711 >./jobs
idle || complain "idle-run fails while a job runs"
[ ! -e state/idle ] || complain "a run begins next to a job"
rm ./jobs

# The run is held in the middle of a case; a job comes.
GPUPROOF_FAKE="hold@copy:5 until=$folder/never" idle &
waiting=$!
until [ -s state/idle.session ] && [ "$(cases)" -ge 1 ] 2>/dev/null; do
	kill -0 $waiting 2>/dev/null || { complain "the run ended by itself: $(cat state/idle.log)"; break; }
	sleep 0.1
done
session=$(cat state/idle.session)
"$top/ci/slurm/prolog" || complain "the prolog refuses a job without GPUs"
# Processes that were killed may still be ending.
for _ in $(seq 600); do
	[ -n "$(ps -o pid= -s "$session")" ] || break
	sleep 0.1
done
[ -z "$(ps -o pid= -s "$session")" ] || complain "processes of the run are left: $(ps -o pid=,args= -s "$session")"
wait $waiting || complain "idle-run fails when it yields"
grep -q 'yields to a job' said || complain "that it yields is not logged"
[ ! -e state/idle/ended ] || complain "a run that yielded counts as done"
[ ! -e state/reason ] || complain "a run that yielded leaves a reason"
kept=$(cases)

# It continues, keeps what was finished, and is then done for the week.
GPUPROOF_FAKE="devices=1" idle || complain "the run is not continued"
[ -e state/idle/ended ] || complain "the run did not end: $(cat state/idle.log)"
[ "$(grep -c '"id":"stream/triad' state/idle/run.jsonl)" -eq 1 ] || complain "a finished case was measured again"
if [ "$(cases)" -ne 3 ] || [ "$kept" -lt 1 ]; then complain "$kept cases before, $(cases) after"; fi
grep -q 'is accepted' said || complain "the verdict is not logged: $(cat said)"
before=$(cases)
GPUPROOF_FAKE="devices=1" idle
[ "$(cases)" -eq "$before" ] || complain "a second run in the same week"

# A week later a slow GPU is named.
touch -d '8 days ago' state/idle/ended
sed -i 's/min = 1 TB/min = 99 TB/' idle.ini
GPUPROOF_FAKE="devices=1" idle
[ -e state/idle.last/ended ] || complain "the last run is not kept"
grep -q '^gpuproof: rejected on the idle node: GPU fake:0 is ' state/reason || complain "no reason: $(cat state/reason state/idle.log 2>&1)"
idle yield || complain "yield without a run fails"
idle nonsense 2>/dev/null && complain "a word that is none is taken"
exit $failed
