#!/usr/bin/env bash
# gpuproof config: exit codes, what goes where, files that are never overwritten unasked.
set -u
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# expect CODE WORD ARGUMENTS...: the exit code, and WORD in stdout (code 0) or stderr
expect() {
	local code=$1 word=$2 got
	shift 2
	"$program" config "$@" >out 2>err
	got=$?
	if [ $got -ne "$code" ]; then
		echo "config $*: exit code $got, not $code"; cat out err; failed=1
	fi
	if ! grep -qF -- "$word" "$([ "$code" -eq 0 ] && echo out || echo err)"; then
		echo "config $*: '$word' is missing in"; cat out err; failed=1
	fi
}

suite=$("$program" config keys | sed -n 's/^\[suite \([a-z_]*\)\].*/\1/p' | head -1)
if [ -z "$suite" ]; then
	echo "skipped: this build has no suite"
	exit 77
fi
printf '[suite %s]\n' "$suite" >good.ini
printf '[run]\nseed = 1\nsede = 2\n[suite %s]\n' "$suite" >bad.ini

expect 2 'no action given. Actions: validate, show, keys or write'
expect 2 "'frobnicate' is not validate, show, keys or write" frobnicate
expect 2 "unknown option '--orig'; did you mean '--origin'?" show good.ini --orig
expect 2 '--set needs a value' show good.ini --set
expect 0 'good.ini: valid, 1 suite' validate good.ini
expect 2 "bad.ini:3: [run] has no key 'sede' (did you mean 'seed'?)" validate good.ini bad.ini
expect 2 'nothing.ini: no such file' validate nothing.ini good.ini
expect 2 'validate needs CONFIG...' validate
printf '[limit a]\nmetric = matmul.error\nmax = 1\n' >limits.ini
expect 0 'limits.ini: valid, 1 limit, no suite to run' validate limits.ini
expect 0 'h200: valid, ' validate h200
# With limits of its own a config is one all the same, and what is set from outside is looked at.
cat good.ini limits.ini >both.ini
expect 0 'both.ini: valid, 1 suite' validate both.ini
expect 2 "'banana'" validate both.ini --set run.seed=banana
printf '[limit a]\nmetric = matmul.eror\nmax = 1\n' >limits.ini
expect 2 "limits.ini:2: [limit a] metric = matmul.eror: unknown metric 'matmul.eror'" validate limits.ini
expect 2 '.: is a directory' validate .
# A pipe with a writer is a config, also a slow one.
expect 0 'valid, 1 suite' validate <(sleep 0.3; cat good.ini)
mkfifo pipe
expect 2 'pipe: is a pipe to which no process writes' validate pipe
expect 0 'seed = 1 ; default' show good.ini --origin
expect 0 'seed = 7 ; --set' show good.ini --set run.seed=7 --origin
expect 2 '--set run.seed=x: [run] seed = x:' show good.ini --set run.seed=x
expect 2 "bad.ini:3:" show bad.ini
expect 0 'min_samples' keys "$suite"
expect 0 '[run]' keys
expect 2 "unknown section 'nothing'; known: run, limit, fleet, report, " keys nothing
expect 2 "unknown section 'transfr'; did you mean 'transfer'?" keys transfr
expect 0 'memory_limits' keys report
grep -q min_samples out && { echo "config keys report: keys of suites"; failed=1; }

# From standard input; a missing include is the only error of what it would have brought; [defaults] are wrong once.
"$program" config validate - <good.ini >out 2>&1 && grep -q 'valid, 1 suite' out || { cat out; failed=1; }
"$program" config validate - <bad.ini >out 2>&1 && failed=1
grep -q "^standard input:3: \[run\] has no key 'sede'" out || { cat out; failed=1; }
echo 'include = nowhere.ini' >lost.ini
expect 2 'lost.ini:1: include = nowhere.ini: no such file' validate lost.ini
[ "$(wc -l <err)" = 1 ] || { cat err; failed=1; }
printf '\177ELF\0\1\2\n\n\n' >binary.ini
expect 2 'binary.ini: not a text file: it contains NUL bytes' validate binary.ini
[ "$(wc -l <err)" = 1 ] || { cat err; failed=1; }
printf '[defaults]\nmax_time = 2\n[suite matmul]\n[suite stream]\n[suite stream other]\n' >units.ini
expect 2 "units.ini:2: [defaults] max_time = 2, as used by [suite matmul] and 2 more sections: '2' lacks a unit" validate units.ini
[ "$(wc -l <err)" = 1 ] || { cat err; failed=1; }

# A suite may have its own default of a sampling key, once; what a file says comes before it.
said() { "$program" config show "$@" | sed -n 's/^sample_time = //p' | tr '\n' ' '; }
if "$program" config keys | grep -q '^\[suite parallel\]'; then
	printf '[suite parallel]\n[suite stream]\n' >two.ini
	[ "$(said two.ini)" = '5ms 1ms ' ] || { echo "sample_time: $(said two.ini)"; failed=1; }
	printf '[defaults]\nsample_time = 2ms\n[suite parallel]\n[suite stream]\nsample_time = 3ms\n' >two.ini
	[ "$(said two.ini)" = '2ms 3ms ' ] || { echo "sample_time: $(said two.ini)"; failed=1; }
fi

# The output of show is itself a config that says the same.
"$program" config show good.ini --origin >shown.ini
"$program" config show shown.ini >again.txt
"$program" config show good.ini >plain.txt
cmp again.txt plain.txt || failed=1

expect 0 'quick.ini' write quick
grep -q '^\[suite' quick.ini || { echo "quick.ini holds no suite"; failed=1; }
expect 2 'quick.ini exists; add --force' write quick
echo mine >other.ini
expect 2 'other.ini exists; add --force' write quick -o other.ini
[ "$(cat other.ini)" = mine ] || { echo "other.ini was overwritten"; failed=1; }
expect 0 'other.ini' write quick -o other.ini --force
cmp quick.ini other.ini || failed=1
expect 0 'h200.ini' write h200
grep -q '^\[limit' h200.ini || { echo "h200.ini holds no limit"; failed=1; }
expect 2 "no shipped config, limits or claims named 'zzzzzz'; known: acceptance, " write zzzzzz
expect 0 'd-fit.ini' write d-fit
grep -q '^\[claim' d-fit.ini || { echo "d-fit.ini holds no claim"; failed=1; }
expect 2 "'qick'; did you mean 'quick'?" write qick
# Short options of one argument, the last with its value.
"$program" run good.ini --dry-run -qo out.d >out 2>&1 || { echo "run -qo DIR: $(cat out)"; failed=1; }
"$program" run good.ini --dry-run -qz >out 2>&1 && failed=1
grep -q "unknown option '-z'" out || { cat out; failed=1; }
# Arguments before the command, and the version.
"$program" --strictly run >out 2>&1 && failed=1
grep -q "gpuproof run: unknown option '--strictly'" out || { cat out; failed=1; }
"$program" --set run.seed=3 -o run run good.ini --dry-run >out 2>&1 || { cat out; failed=1; }
"$program" --quiet run >out 2>&1 && failed=1
grep -q "no CONFIG given" out || { cat out; failed=1; }
[ "$("$program" -V)" = "$("$program" version)" ] || { echo "-V"; failed=1; }
"$program" version --json | python3 -c 'import json, sys; json.load(sys.stdin)["gpuproof"]' || failed=1
"$program" version twice >out 2>&1 && failed=1
expect 3 'No such file or directory' write quick -o nowhere/quick.ini
exit $failed
