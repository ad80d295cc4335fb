#!/usr/bin/env bash
# gpuproof export: every format is read by a real parser, also with hostile text in every string of the result.
set -u
program=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "no python3 to read the exports with"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

expect() { # CODE WORD ARGUMENTS...
	local code=$1 word=$2 got
	shift 2
	"$program" export "$@" >out 2>err
	got=$?
	[ $got -eq "$code" ] || { echo "export $*: exit code $got, not $code"; head -c 2000 out err; failed=1; }
	[ -z "$word" ] || grep -qF -- "$word" out err || { echo "export $*: '$word' is missing in"; head -c 2000 out err; failed=1; }
}

cat >own.ini <<'END'
[run]
backend = host
label = a label
[suite alloc]
allocators = pageable
operations = alloc
states = reused
sizes = 64KiB, 1MiB
min_samples = 10
max_samples = 20
max_time = 20ms
END
"$program" run own.ini -o run -q >/dev/null || { echo "run own.ini: exit code $?"; exit 1; }
printf '[limit tight]\nmetric = alloc.latency\nmax = 1ns\n' >tight.ini

expect 2 'which FORMAT?'
expect 2 "there is no format 'junitt'; did you mean 'junit'?" junitt run
expect 2 "there is no format 'google-benchmark'; there are junit, markdown, csv, " google-benchmark run
expect 2 'which RESULT?' junit
expect 3 'nothing.json' junit nothing.json
expect 2 'no such file' junit run -l nowhere.ini
expect 0 'alloc.latency' csv run
expect 0 '[tight]' junit run/result.json -l tight.ini
expect 0 '' markdown run -o summary.md
[ -s summary.md ] || { echo "-o wrote nothing"; failed=1; }
expect 3 'no/such/folder' markdown run -o no/such/folder/summary.md
if command -v promtool >/dev/null; then
	"$program" export prometheus run | promtool check metrics || { echo "promtool finds fault"; failed=1; }
fi

PROGRAM=$program python3 "$here/export_formats.py" run/result.json tight.ini || failed=1
exit $failed
