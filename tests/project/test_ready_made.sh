#!/usr/bin/env bash
# The scripts for CI systems, systemd and Slurm do what they say; help topics, manual page and completions are whole.
set -uo pipefail
program=$(realpath "$1")
top=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GPUPROOF=$program

fail() {
	echo "$1"
	exit 1
}

# A config that takes a moment on the CPU; $1: the least throughput that is accepted.
config() {
	cat >"$folder/$2.ini" <<-INI
		[run]
		backend = host
		host_devices = 1
		[defaults]
		min_samples = 5
		max_samples = 10
		max_time = 20ms
		[suite matmul]
		sustained_time = 0s
		precisions = fp32
		sizes = 128
		[limit speed]
		metric = matmul.throughput
		min = $1
	INI
}
config "1 FLOP/s" good
config "1e17 FLOP/s" slow

# Old nights go, also where the folder is a link to another disk; no folder is none.
mkdir -p "$folder/disk/2020-01-01T000000" "$folder/linked" && touch -d '60 days ago' "$folder/disk/2020-01-01T000000" && ln -s "$folder/disk" "$folder/linked/nights"
"$top"/ci/nightly -c "$folder/good.ini" -d "$folder/linked" -- -q >"$folder/log" 2>&1 || fail "a linked folder: $(cat "$folder/log")"
[ ! -e "$folder/disk/2020-01-01T000000" ] || fail "an old night stays where nights is a link"
"$top"/ci/nightly -c "$folder/good.ini" -d '' >/dev/null 2>&1
[ $? = 2 ] && [ ! -e /nights ] || fail "an empty folder is taken for /"

# ci/nightly: two nights, kept, compared and in the history.
for night in 1 2; do
	"$top"/ci/nightly -c "$folder/good.ini" -d "$folder/nights" -- -q >"$folder/log" 2>&1 ||
		fail "night $night: exit code $?: $(cat "$folder/log")"
done
for file in junit.xml summary.md verdict.txt acceptance.html report.html report.css compare.html compare.txt trend.txt trend.html history.db junit-night.xml gpuproof.prom run.ocp.jsonl; do
	[ -s "$folder/nights/$file" ] || fail "nightly left no $file"
done
! grep -q '<failure' "$folder/nights/junit-night.xml" || fail "a good night is red: $(cat "$folder/nights/junit-night.xml")"
grep -q '^2 runs' "$folder/nights/trend.txt" || fail "the history does not hold both nights: $(cat "$folder/nights/trend.txt")"
"$top"/ci/nightly -c "$folder/slow.ini" -d "$folder/nights" -- -q >/dev/null 2>&1
[ $? = 1 ] || fail "nightly does not say that a limit is violated"
grep -q '<failure' "$folder/nights/junit.xml" || fail "junit.xml does not hold the violated limit"
grep -q '<failure message="REJECTED: ' "$folder/nights/junit-night.xml" || fail "junit-night.xml does not say why the exit code is 1: $(cat "$folder/nights/junit-night.xml")"
grep -q '^## The night as a whole: exit code 1$' "$folder/nights/summary.md" || fail "the summary does not end with the exit code"
grep -q '"result":"FAIL"' "$folder/nights/run.ocp.jsonl" || fail "run.ocp.jsonl has another verdict"
grep -qx 'gpuproof_check_accepted{config="[^"]*slow[^"]*"} 0' "$folder/nights/gpuproof.prom" || fail "gpuproof.prom has another verdict"
grep -q 'REJECTED' "$folder/nights/acceptance.html" || fail "the acceptance page is not of this night"
grep -q '^\*\*REJECTED: ' "$folder/nights/summary.md" || fail "the summary does not say what the exit code says: $(head -5 "$folder/nights/summary.md")"
tail -n 1 "$folder/nights/verdict.txt" | grep -q '^REJECTED: ' || fail "verdict.txt: $(cat "$folder/nights/verdict.txt")"
"$program" history show --db "$folder/nights/history.db" | tail -n 1 | grep -q REJECTED || fail "the history does not know the verdict"
for page in report acceptance compare trend; do
	grep -q '<link rel="stylesheet" href="report.css"' "$folder/nights/$page.html" || fail "$page.html does not link its style sheet"
done

# A night that nobody's limits are about: the exit code is not 0, and every output says why.
sed '/^.limit/,$d' "$folder/good.ini" >"$folder/none.ini"
"$top"/ci/nightly -c "$folder/none.ini" -d "$folder/nights" -- -q >/dev/null 2>&1
code=$?
[ $code = 4 ] || fail "a night without a judgement: exit code $code"
grep -q '<error type="INCONCLUSIVE" message="INCONCLUSIVE: no limit covered any value; [0-9]* of [0-9]* checks* passed' "$folder/nights/junit.xml" || fail "a night without a judgement has a green junit.xml"
grep -q 'no limit covered any value' "$folder/nights/summary.md" || fail "the summary hides that nothing was judged"
"$top"/ci/nightly -c "$folder/missing.ini" -d "$folder/nights" >/dev/null 2>&1
[ $? = 2 ] || fail "nightly hides a usage error"
grep -q 'exit code 2' "$folder/nights/junit-night.xml" || fail "a night without a result is not red"
[ ! -e "$folder/nights/junit.xml" ] || fail "a night without a result leaves the verdict of another one"
exec 8>"$folder/nights/lock"
flock 8
"$top"/ci/nightly -c "$folder/good.ini" -d "$folder/nights" >/dev/null 2>&1
[ $? = 3 ] || fail "two nights at once"
exec 8>&-

# ci/slurm: a job is refused for a verdict and for nothing else; only the health check calls Slurm, and says why once.
mkdir "$folder/bin"
printf '#!/bin/sh\necho "$@" >>"%s/drained"\n' "$folder" >"$folder/bin/scontrol"
printf '#!/bin/sh\necho "$@" >>"%s/said"\n' "$folder" >"$folder/bin/logger"
chmod +x "$folder"/bin/*
export GPUPROOF_KEEP=$folder/kept GPUPROOF_STATE=$folder/state
slurm() { # SCRIPT CONFIG
	PATH=$folder/bin:$PATH SLURMD_NODENAME=node7 SLURM_JOB_GPUS=0 GPUPROOF_CONFIG=$2 "$top/ci/slurm/$1" 2>>"$folder/err"
}
slurm prolog "$folder/good.ini" || fail "the prolog refuses a good node"
slurm prolog "$folder/missing.ini" || fail "the prolog refuses a node for its own config"
GPUPROOF_SECONDS=0.01 slurm prolog "$folder/good.ini" || fail "the prolog refuses a node because time is short"
GPUPROOF=$folder/nowhere slurm prolog "$folder/good.ini" || fail "the prolog refuses a node without the program"
# A GPU on which every case fails drains the node, one failing call does not; a hang is seen in what was left when time was over.
cat >"$folder/fails.ini" <<-INI
	[run]
	backend = fake
	[suite transfer]
	directions = h2d, d2h
	memories = pinned
	sizes = 64KiB
	max_time = 5ms
	[limit link]
	metric = transfer.bandwidth
	min = 1 kB/s
INI
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends; export GPUPROOF_BACKENDS
for fault in 'devices=2 error@copy' 'fail@device_open' 'segfault@copy'; do
	GPUPROOF_FAKE=$fault slurm prolog "$folder/fails.ini" 2>/dev/null && fail "the prolog accepts a GPU of which every case fails: $fault"
done
rm -rf "$folder/state"
GPUPROOF_FAKE="fail@copy:40 once=$folder/once" slurm prolog "$folder/fails.ini" || fail "the prolog refuses a node for one call that failed"
GPUPROOF_FAKE=devices=2 slurm prolog "$folder/fails.ini" || fail "the prolog refuses GPUs that work"
TMPDIR=$folder/nowhere slurm prolog "$folder/good.ini" || fail "the prolog refuses a node without room"
[ ! -e "$folder/state/reason" ] || fail "a good node is given a reason: $(cat "$folder/state/reason")"
for script in prolog epilog; do
	rm -rf "$folder/kept" "$folder/state"
	slurm "$script" "$folder/slow.ini" && fail "the $script accepts a slow node"
	[ -s "$(echo "$folder"/kept/node7-*/run/result.json)" ] || fail "the evidence is not kept"
	grep -q "result, pages and log are in $folder/kept/node7-" "$folder/said" || fail "where the evidence is is not logged"
	grep -qx 'gpuproof: a limit is violated: CPU host:0 is more than 99 % below the limit in FP32 GEMM (host-slow)' "$folder/state/reason" || fail "reason: $(cat "$folder/state/reason")"
done
[ ! -e "$folder/drained" ] || fail "prolog or epilog calls scontrol"
slurm health-check none && slurm health-check none || fail "the health check fails"
[ "$(cat "$folder/drained")" = 'update nodename=node7 state=drain reason=gpuproof: a limit is violated: CPU host:0 is more than 99 % below the limit in FP32 GEMM (host-slow)' ] ||
	fail "not drained once, as it should: $(cat "$folder/drained")"
rm "$folder/drained"
GPUPROOF_HEALTH_CONFIG=$folder/good.ini slurm health-check none
[ ! -e "$folder/drained" ] || fail "the health check drains a good node"
GPUPROOF_HEALTH_CONFIG=$folder/slow.ini slurm health-check none
grep -q 'host-slow' "$folder/drained" || fail "the health check accepts a slow node"
PATH=$folder/bin:$PATH GPUPROOF_CONFIG=$folder/slow.ini SLURM_JOB_GPUS='' "$top"/ci/slurm/prolog || fail "a job without GPUs is refused"
# A folder that nothing can be kept in hides no verdict.
# A job's own GPUs alone are measured: of two fake GPUs the job has the first; a GPU that is gone is seen.
sed 's/min = 1 kB.s/min = 1 kB\/s\noutlier_margin = 2 %/' "$folder/fails.ini" >"$folder/pair.ini"
GPUPROOF_FAKE='devices=2 slow=1:50%' slurm node-check "$folder/pair.ini" >/dev/null && fail "the whole node hides its slow GPU"
GPUPROOF_FAKE='devices=2 slow=1:50%' slurm prolog "$folder/pair.ini" || fail "the prolog measures a GPU of another job"
PATH=$folder/bin:$PATH SLURM_JOB_GPUS=0-2 GPUPROOF_FAKE=devices=2 GPUPROOF_CONFIG=$folder/pair.ini "$top/ci/slurm/prolog" 2>/dev/null &&
	fail "the prolog accepts a job whose third GPU is missing"
grep -qx 'gpuproof: a GPU of the job is missing' "$folder/state/reason" || fail "a missing GPU has another reason: $(cat "$folder/state/reason")"
GPUPROOF_KEEP=/dev/null/x slurm prolog "$folder/slow.ini" && fail "a slow node is accepted since its evidence cannot be kept"

# Exit code 3: no device, which drains, or a full disk, which does not. A limit on the size of files stands for one.
printf '#!/bin/sh\nexit 3\n' >"$folder/bin/three"
chmod +x "$folder/bin/three"
(ulimit -f 1000; GPUPROOF=$folder/bin/three slurm prolog quick 2>/dev/null) || fail "the prolog refuses a node because its disk is full"
# Exit code 4: no verdict, for instance because other processes compute on the GPUs of the job.
printf '#!/bin/sh\nexit 4\n' >"$folder/bin/four"
chmod +x "$folder/bin/four"
for script in prolog epilog; do
	rm -rf "$folder/state"
	GPUPROOF=$folder/bin/four slurm "$script" quick || fail "the $script refuses a GPU that others use"
	[ ! -e "$folder/state/reason" ] || fail "the $script leaves a reason without a verdict"
done
GPUPROOF=$folder/bin/three slurm prolog quick && fail "the prolog accepts a node without devices"
grep -q 'the GPUs cannot be used' "$folder/state/reason" || fail "a node without devices has another reason"

# Help, manual, completions.
for topic in "$top"/docs/topics/*.txt; do
	name=$(basename "$topic" .txt)
	"$program" help "$name" >"$folder/help"
	[[ $(tr -s ' \n' ' ' <"$folder/help") == *"$(tr -s ' \n' ' ' <"$topic")" ]] || fail "help $name does not print the topic"
done
"$program" help >"$folder/help"
sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' "$folder/help" >"$folder/names"
[ "$(wc -l <"$folder/names")" -ge 20 ] || fail "help names few commands and topics"
while read -r name; do
	"$program" help "$name" >>"$folder/help" || fail "help does not know $name, which it names"
done <"$folder/names"
awk 'length > 79 { print "help is wider than 79 columns: " $0; bad = 1 } END { exit bad }' "$folder/help" || exit 1
"$program" help no-such-thing >/dev/null 2>&1
[ $? = 2 ] || fail "help accepts anything"
"$program" help --man >"$folder/gpuproof.1"
grep -q '^ *gpuproof run \\-\\-resume DIR' "$folder/gpuproof.1" || fail "the manual page lacks a form of run"
grep -q '^ .*gpuproof run \\-\\-resume DIR' "$folder/gpuproof.1" && fail "a form is indented in the manual page"
for word in population history ENVIRONMENT 'SYNOPSIS' EXAMPLES 'SEE ALSO'; do
	grep -q "$word" "$folder/gpuproof.1" || fail "the manual page lacks $word"
done
if command -v groff >/dev/null; then
	groff -man -Tutf8 -ww "$folder/gpuproof.1" 2>&1 >/dev/null | grep . && fail "groff finds fault with the manual page"
fi
# Away from files whose names begin like a word.
cd "$folder" || exit 1
bash -c '
	source <("$0" completion bash)
	complete_line() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _gpuproof "$1"; echo "${COMPREPLY[*]}"; }
	[ "$(complete_line "$0" pop)" = population ] || exit 1
	[ "$(complete_line "$0" run nightl)" = nightly ] || exit 2
	[ "$(complete_line "$0" run quick --dry)" = --dry-run ] || exit 3
	[ "$(complete_line "$0" export promet)" = prometheus ] || exit 4
	[ "$(complete_line "$0" list dev)" = devices ] || exit 5
	[ "$(complete_line "$0" run quick --layout)" = "" ] || exit 6
	[ "$(complete_line "$0" report x --layout d)" = dir ] || exit 7
	[ "$(complete_line "$0" check x --limits h2)" = h200 ] || exit 8
	[ "$(complete_line "$0" config write h2)" = h200 ] || exit 9
	[ "$(complete_line "$0" config keys repor)" = report ] || exit 10
	[ "$(complete_line "$0" compare a b --launches)" = "" ] || exit 11
	[[ " $(complete_line "$0" run quick -) " == *" -q "* ]] || exit 12
	[ "$(complete_line "$0" run quick --backend ho)" = host ] || exit 13
' "$program" || fail "completion for bash: case $?"
for shell in zsh fish; do
	"$program" completion $shell >"$folder/completion.$shell" || fail "no completion for $shell"
	! command -v $shell >/dev/null || $shell -n "$folder/completion.$shell" || fail "completion for $shell is not $shell"
done

# Linters run where they are installed.
if command -v shellcheck >/dev/null; then
	shellcheck "$top"/ci/nightly "$top"/ci/slurm/* "$top"/ci/try-slurm "$top"/ci/try-nodes || exit 1
fi
if command -v systemd-analyze >/dev/null; then
	mkdir "$folder/units"
	sed "s|/usr/local/bin/gpuproof-nightly|$top/ci/nightly|" "$top/ci/examples/gpuproof-nightly.service" >"$folder/units/gpuproof-nightly.service"
	cp "$top/ci/examples/gpuproof-nightly.timer" "$folder/units"
	faults=$(systemd-analyze verify "$folder"/units/* 2>&1 | grep -F "$folder/units")
	[ -z "$faults" ] || fail "$faults"
fi
if python3 -c 'import yaml' 2>/dev/null; then
	python3 - "$top"/ci/examples/*.yml "$top"/ci/examples/kubernetes/*.yml <<-'PYTHON' || fail "an example is not YAML"
		import sys, yaml
		for path in sys.argv[1:]:
		    list(yaml.safe_load_all(open(path)))
	PYTHON
fi
exit 0
