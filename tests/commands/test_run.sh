#!/usr/bin/env bash
# `gpuproof run` as people use it, on the backend `fake`: exit codes, what is printed where, a crash in the driver.
set -euo pipefail
program=$1
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends GPUPROOF_FAKE="devices=2"; export GPUPROOF_BACKENDS GPUPROOF_FAKE
unset NO_COLOR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0

cat > fake.ini <<-INI
	[run]
	backend = fake
	case_limit = 2s
	[defaults]
	min_samples = 5
	max_samples = 5
	sample_time = 50us
	[suite transfer]
	sizes = 1MiB
	directions = h2d, d2h
	memories = pinned
INI

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# expect CODE ARGUMENTS...: runs, keeps stdout in `out` and stderr in `err`
expect() {
	local code=$1 got=0
	shift
	"$program" "$@" > out 2> err < /dev/null || got=$?
	[ "$got" = "$code" ] || { fail "gpuproof $*: exit code $got, not $code"; cat out err; }
}
says() { grep -qF -- "$2" "$1" || { fail "no '$2' in $1:"; cat "$1"; }; }

# All is well: the last line of stdout is the report, which is there.
expect 0 run fake.ini -o good
[ "$(tail -1 out)" = good/report.html ] || fail "last line: $(tail -1 out)"
[ -s good/report.html ] && [ -s good/result.json ] && [ -s good/run.jsonl ] || fail "files in good/: $(ls good)"
[ ! -e good/worker.log ] || fail "a log without a word in it"
says out "4 cases: 4 OK; complete"
says err "gpuproof: 4 cases on 2 devices, about "
says err "[4/4] OK transfer/d2h/pinned/"
# 1 MiB at 1 us + bytes / 100 GB/s on the scripted clock.
says err "91.29 GB/s"

expect 0 run fake.ini -o quiet --quiet
[ "$(cat out)" = quiet/report.html ] && [ ! -s err ] || fail "--quiet says: $(cat out err)"
expect 0 run fake.ini -o bare --no-report
[ "$(tail -1 out)" = bare/result.json ] && [ ! -e bare/report.html ] || fail "--no-report"

# A directory of its own when none is given.
expect 0 run fake.ini -q
[[ $(cat out) =~ ^gpuproof-results/[0-9]{8}-[0-9]{6}Z-fake(-[0-9]+)?/report.html$ ]] || fail "$(cat out)"

# The node's name is the option's, else the environment's, else the host's; the history has it, too.
named() { # NAME DIRECTORY
	grep -qE "\"hostname\": \"$1\"" "$2/result.json" || fail "$2: not the node $1: $(grep -o '"hostname": "[^"]*"' "$2/result.json")"
}
expect 0 run fake.ini -q -o rack --node-name rack7.node-3
named 'rack7\.node-3' rack
GPUPROOF_NODE=of-the-pod expect 0 run fake.ini -q -o pod
named of-the-pod pod
GPUPROOF_NODE=of-the-pod expect 0 run fake.ini -q -o both --node-name runner-1
named runner-1 both
GPUPROOF_NODE='' expect 0 run fake.ini -q -o host
named "$(hostname)" host
expect 0 history add rack pod both --db named.db
expect 0 history show --db named.db
says out of-the-pod
says out runner-1
for name in '' 'two words' 'a/b' "$(printf 'x%.0s' {1..201})"; do
	expect 2 run fake.ini -o bad --node-name "$name"
	says err "--node-name"
done
expect 2 run fake.ini -o bad --node-name x --simulate-nodes 2
says err "set GPUPROOF_NODE on each of them"

# Some cases only: by id, by point, by the beginning of an id, by a pattern; a name of no case is an error.
expect 0 run fake.ini --dry-run --only transfer/h2d/pinned/1MiB@fake:1 -o planned
says out "1 case (0 skipped)"
expect 0 run fake.ini --dry-run --only transfer/h2d --only 'transfer/d2h/*@fake:0' -o planned
says out "3 cases (0 skipped)"
expect 2 run fake.ini --only transfer/h2d/pinned/2MiB -o planned
says err "[run] only = transfer/h2d/pinned/2MiB: none of the 4 cases of fake.ini matches; did you mean 'transfer/h2d/pinned/1MiB'?"
expect 2 run fake.ini --only transfer/h2 -o planned
expect 2 run fake.ini --only '' -o planned
expect 2 run fake.ini --suites matmul -o planned
expect 0 run fake.ini --only transfer/h2d/pinned/1MiB -o one
says out "2 cases: 2 OK; complete"
expect 0 run --resume one
says out "2 cases: 2 OK; complete"
expect 0 --quiet -o early run fake.ini --only transfer/h2d
[ "$(cat out)" = early/report.html ] || fail "options before the command: $(cat out)"

# The plan alone.
expect 0 run fake.ini --dry-run --devices 1 -o planned
says out "transfer/h2d/pinned/1MiB@fake:1"
says out "2 cases (0 skipped) on 1 device"
[ ! -e planned ] || fail "--dry-run made a directory"

# An error in the command or the config ends with 2, before anything runs.
expect 2 run
expect 2 run fake.ini other.ini
expect 2 run fake.ini --dry
says err "unknown option '--dry'; did you mean '--dry-run'?"
expect 2 run fake.ini --out x
says err "unknown option '--out'; did you mean '--output'?"
expect 2 run fake.ini --output
expect 2 run fake.ini --quiet=yes
expect 2 run fake.ini --set run.sed=1 -o never
says err "sed"
expect 2 run --resume good --seed 5
expect 2 run --resume nowhere
expect 2 run fake.ini -o good
says err "good already contains a run; continue it with --resume good"
[ ! -e never ] || fail "a wrong config made a directory"

# A directory whose name has a space in it is named as one can paste it; slashes at its end are not; none is no directory.
expect 0 run fake.ini -o "my run//" -q
[ "$(cat out)" = "my run/report.html" ] || fail "slashes: $(cat out)"
expect 2 run fake.ini -o "my run"
says err "my run already contains a run; continue it with --resume 'my run', or"
expect 0 run --resume "my run/"
expect 2 run fake.ini -o ""
says err "--output: empty directory name"
expect 2 run --resume ""

# Settings from the command line are in the result.
expect 0 run fake.ini -o set --seed 42 --label "it's me" --set transfer.sizes=2MiB --devices fake:1
grep -q '"seed": *42' set/result.json || fail "no seed in the result"
says set/result.json "it's me"
says set/result.json "transfer/h2d/pinned/2MiB@fake:1"
says set/result.json "gpuproof run fake.ini -o set --seed 42 --label 'it'\\\\''s me'"

# Devices: none, not that one, a driver that crashes or says no.
expect 2 run fake.ini -o never --devices 7
says err "no device 7"
GPUPROOF_FAKE="segfault@open" expect 3 run fake.ini -o never
says err "listing the devices failed: the probe process killed by signal 11"
GPUPROOF_FAKE="error@open" expect 3 run fake.ini -o never
says err "FAKE_ERROR_STICKY"
expect 3 run fake.ini --backend nonesuch -o never
says err "no device that can be measured: backend = nonesuch (the command line)"
expect 2 help exit-cods
says err "did you mean 'exit-codes'?"
[ ! -e never ] || fail "a run without devices made a directory"

# A crash in the second copy of a size costs one case; the report is there all the same. 4: incomplete.
GPUPROOF_FAKE="devices=2 segfault@copy:30 once=$folder/once" expect 4 run fake.ini -o crash
[ "$(tail -1 out)" = crash/report.html ] && [ -s crash/report.html ] || fail "no report after a crash"
says out "4 cases: 3 OK, 1 ERROR; complete"
says out "worker killed by signal 11 (Segmentation fault)"
rm once
GPUPROOF_FAKE="devices=2 hang@copy:30 once=$folder/once" expect 4 run fake.ini -o hang
says out "hung: no result within 2.000 s (killed)"
rm once
GPUPROOF_FAKE="devices=2 error@copy:30 once=$folder/once" expect 4 run fake.ini -o error
says out "4 cases: 3 OK, 1 ERROR; complete"
says out "FAKE_ERROR_STICKY"
# A worker that dies between cases costs none, and yet the run is not green: something is wrong with machine or program.
cat > groups.ini <<-INI
	[run]
	backend = fake
	[defaults]
	min_samples = 2
	max_samples = 2
	[suite transfer]
	sizes = 4KiB
	directions = h2d
	memories = pinned
INI
for n in 3 4 5 6 7 8; do
	rm -rf died
	head -c 56 /dev/zero > calls
	code=0
	GPUPROOF_FAKE="devices=2 calls=$folder/calls segfault@$n" "$program" run groups.ini -o died > out 2> err || code=$?
	grep -q '"lost_workers"' died/result.json 2> /dev/null && break
done
[ $code = 4 ] || fail "a worker was lost, exit code $code: $(cat out err)"
says out "2 cases: 2 OK; complete"
says out "A worker died: worker killed by signal 11"
expect 4 run --resume died -q
# A device that cannot even be opened.
GPUPROOF_FAKE="devices=1 abort@device_open" expect 4 run fake.ini -o closed
says out "2 cases: 2 ERROR; complete"

# Continuing a finished run changes nothing, and says so at once; its config is the journal's.
cp good/result.json before.json
cp fake.ini kept.ini
rm fake.ini
expect 0 run --resume good
says out "4 cases: 4 OK; complete"
[ "$(cat err)" = "gpuproof: nothing to do: good contains all 4 cases" ] || fail "--resume of a finished run says $(cat err)"
[ "$(tail -1 out)" = good/report.html ] || fail "--resume of a finished run: $(cat out)"
cmp -s before.json good/result.json || fail "--resume changed a finished run"
rm good/report.html
expect 0 run --resume good -q
[ -s good/report.html ] && [ "$(cat out)" = good/report.html ] || fail "--resume does not make the report that is missing"
# Remaining cases of several launches are counted; the launches of a finished one are all still in its result.
expect 0 run kept.ini -o launched --launches 3 --no-report
says err "gpuproof: 4 cases in 3 launches on 2 devices, about "
cp launched/result.json before.json
expect 0 run --resume launched --no-report
says err "nothing to do: launched contains all 12 cases of 3 launches"
cmp -s before.json launched/result.json || fail "--resume changed a finished run of three launches"
rm -r launched/launch-3
head -3 launched/run.jsonl > begun.jsonl && cp begun.jsonl launched/run.jsonl
expect 0 run --resume launched --no-report
says err "gpuproof: 6 of 12 cases of 3 launches left on 2 devices, about "
expect 2 run kept.ini -o launched
[ "$(wc -l < err)" = 1 ] || fail "a run that cannot begin says what it would do: $(cat err)"

# A run whose cases were all skipped has measured nothing; one of two skipped has.
printf '[run]\nbackend = fake\n[suite transfer]\nsizes = 16GiB\ndirections = h2d\nmin_samples = 5\nmax_samples = 5\n' > big.ini
expect 4 run big.ini -o skipped
says out "; no case was measured"
sed 's/16GiB/1MiB, 16GiB/' big.ini > half.ini
expect 0 run half.ini -o half

# Standard input, output or error may be closed: nothing that is printed ends up in a file of the run.
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
	rm -rf closed
	code=0
	eval "'$program' run kept.ini -o closed < /dev/null > out 2> err $closed" || code=$?
	case $closed in
	*'>&- 2'* | '>&-') [ $code = 3 ] || fail "standard output is closed: exit code $code" ;;
	*) [ $code = 0 ] || fail "$closed: exit code $code" ;;
	esac
	[ -s closed/report.html ] && [ ! -e closed/worker.log ] || fail "$closed: $(ls closed)"
	grep -qv '^{' closed/run.jsonl && fail "$closed: in the journal is $(grep -v '^{' closed/run.jsonl)"
	"$program" check closed --limits generic > /dev/null 2> err || [ $? = 4 ] || fail "$closed: the result cannot be read"
done

# A terminal of 20 columns: the line is redrawn, cut, and gone at the end. No colour when it is not wanted.
if command -v script > /dev/null; then
	cat > tty.ini <<-INI
		[run]
		backend = fake
		[suite transfer]
		sizes = 1KiB..64KiB *2
		directions = h2d
	INI
	TERM=xterm script -qec "stty cols 20; '$program' run tty.ini -o tty" /dev/null > typed < /dev/null ||
		fail "on a terminal: $(cat typed)"
	tr '\r' '\n' < typed | grep -q 'case ' || fail "no progress line on a terminal"
	tr '\r' '\n' < typed | sed 's/\x1b\[K//g' | grep '^case ' | grep -qE '.{20}' && fail "a line wider than 19 of 20 columns"
	tr '\r' '\n' < typed | grep -q 'tty/report.html' || fail "no path on a terminal"
fi

# Stopped on purpose: Ctrl-C ends with 130, a request to end with 143; what there is is kept and reported.
cat > long.ini <<-INI
	[run]
	backend = fake
	[suite transfer]
	sizes = 1KiB, 2KiB
	directions = h2d
	min_samples = 1000000
	max_samples = 1000000
	max_time = 1h
INI
for stop in INT:130 TERM:143; do
	# A shell starts background jobs with SIGINT ignored, and what is ignored stays ignored.
	env --default-signal=INT "$program" run long.ini -o "stopped-${stop%:*}" > out 2> err &
	for _ in $(seq 100); do
		grep -q header "stopped-${stop%:*}/run.jsonl" 2> /dev/null && break
		sleep 0.05
	done
	sleep 0.3
	kill "-${stop%:*}" $!
	got=0
	wait $! || got=$?
	[ "$got" = "${stop#*:}" ] || fail "SIG${stop%:*} ended with $got"
	[ "$(tail -1 out)" = "stopped-${stop%:*}/report.html" ] || fail "no report after SIG${stop%:*}: $(cat out)"
	says out "not run; interrupted"
	says err "To continue: gpuproof run --resume stopped-${stop%:*}"
done

# Standard output is closed, or its disk is full: the run itself is complete.
"$program" run tty.ini -o unread 2> /dev/null | true || true
[ -s unread/report.html ] || fail "no report when standard output is closed"

[ "$failures" = 0 ] || { echo "$failures failures"; exit 1; }
