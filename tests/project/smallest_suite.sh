#!/usr/bin/env bash
# The suite that CONTRIBUTING.md shows, built into the program by its one file and its one line: it is listed, its keys are
# explained, and its cases run, are verified and are on the page. The backend `fake` keeps the time, so that a busy host
# decides nothing.
# usage: smallest_suite.sh PROGRAM SOURCE     (PROGRAM has the suite, SOURCE is its file)
set -euo pipefail
program=$(realpath "$1") source=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
	echo "$1"
	exit 1
}

lines=$(wc -l <"$source")
[ "$lines" -gt 20 ] && [ "$lines" -le 60 ] || fail "CONTRIBUTING.md's smallest suite has $lines lines: 60 at most"
[ "$(awk 'length > 100' "$source")" = "" ] || fail "CONTRIBUTING.md's smallest suite has lines of more than 100 columns"

# Not grep -q, which ends before the program has written everything: the pipe would fail.
"$program" list suites | grep '^memset  *filling device memory' >/dev/null || fail "list suites lacks memset"
"$program" list metrics | grep '^memset.bandwidth ' >/dev/null || fail "list metrics lacks memset.bandwidth"
"$program" config keys memset | grep '^  sizes = 1MiB, 64MiB' >/dev/null || fail "config keys memset lacks sizes"

cat >"$folder"/memset.ini <<-INI
	[run]
	backend = fake
	[defaults]
	min_samples = 3
	max_samples = 10
	preheat = 0s
	[suite memset]
	sizes = 1000B, 1MiB
	[limit fills]
	metric = memset.bandwidth
	min = 1 B/s
INI
cd "$folder"
export GPUPROOF_BACKENDS=${program%/*}/backends GPUPROOF_FAKE=devices=2
"$program" run memset.ini -o run -q || fail "the run ended with exit code $?"
"$program" export csv run >run.csv
for case in memset/1000B@fake:0 memset/1MiB@fake:0 memset/1000B@fake:1 memset/1MiB@fake:1; do
	grep -q "\"$case\",.*\"OK\",.*\"memset.bandwidth\"" run.csv || fail "no finished case $case"
	grep -q ">$case<" run/report.html || fail "the page lacks $case"
done
grep -q 'every byte read' run/report.html || fail "the page lacks what was verified"
"$program" check run --limits memset.ini >checked || fail "check: $(cat checked)"
grep -q 'all 4 checks passed' checked || fail "check judged otherwise: $(cat checked)"
