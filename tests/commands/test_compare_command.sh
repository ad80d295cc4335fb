#!/usr/bin/env bash
# gpuproof compare: sides, exit codes, what is printed.
set -u
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# expect CODE WORD ARGUMENTS...: the exit code, and WORD in stdout or, for 2 and 3, stderr
expect() {
	local code=$1 word=$2 got
	shift 2
	"$program" compare "$@" >out 2>err
	got=$?
	if [ $got -ne "$code" ]; then
		echo "compare $*: exit code $got, not $code"; cat out err; failed=1
	fi
	if ! grep -qF -- "$word" "$([ "$code" -eq 2 ] || [ "$code" -eq 3 ] && echo err || echo out)"; then
		echo "compare $*: '$word' is missing in"; cat out err; failed=1
	fi
}

cat >small.ini <<'END'
[run]
backend = host
[suite alloc]
allocators = pageable
operations = alloc
states = reused
sizes = 64KiB
min_samples = 10
max_samples = 20
max_time = 20ms
END
"$program" run small.ini -o a -q >/dev/null || exit 1
"$program" run small.ini -o b -q --seed 2 >/dev/null || exit 1

# A file as four launches of their own: a.1.json to a.4.json.
launches() {
	for i in 1 2 3 4; do
		sed 's/"id": "[0-9a-f]\{16\}"/"id": "launch '"$i"'"/' "$1" >"$2.$i.json"
	done
}
launches a/result.json a
a='a.1.json a.2.json a.3.json a.4.json'
# The same figures as other runs, and the first of A under another name.
c=''
for i in 1 2 3 4; do
	sed 's/"id": "launch /"id": "other /' "a.$i.json" >"c.$i.json"
	c="$c c.$i.json"
done
cp a.1.json b.1.json

# The same figures on both sides, four times each: nothing can have changed.
# shellcheck disable=SC2086
expect 0 'UNCHANGED' --all $a -- $c
# shellcheck disable=SC2086
expect 0 '1 figure: 1 UNCHANGED' --fail-on regression $a -- $c
# A run against itself says so, by the names of both, and passes no gate.
expect 0 'a.1 and b.1 are the same run, so there is nothing to compare' a.1.json b.1.json
expect 4 'are the same run' --fail-on certain a.1.json b.1.json
# But one file four times is one launch.
expect 2 'a/result.json and a/result.json are the same run; name each launch only once' --fail-on regression a a a a -- b
expect 2 'name each launch only once' a -- b b
# Figures that the host decides are one line; no other is left to compare.
expect 4 'not comparable between sessions' --fail-on regression a b
expect 0 '1 value (alloc.latency) not compared, because sessions differ by a factor of up to' a b
expect 0 '[run] seed' a b
expect 0 'The environments differ in:' a b
expect 0 '"format"' a b --json
expect 2 'compare needs two results' a
expect 2 'compare needs two results' a b a
expect 2 'a result is missing before or after --' a --
expect 2 'a result is missing before or after --' -- a
expect 2 "--fail-on takes regression or certain, not 'change'" a b --fail-on change
expect 2 '--margin' a b --margin 1
expect 2 'expected a percentage below 100 %' a b --margin 100%
expect 2 "'0%': expected a percentage above 0 %" a b --margin 0%
expect 0 'margin 2 %' a b --margin 2%
# shellcheck disable=SC2086
expect 0 'margin 1 %' --margin auto $c -- $a
expect 2 "unknown option '--marg'" a b --marg 1
expect 3 'nothing' a nothing

# The yardstick is one that both sides have; differences between visits may come from a history.
expect 0 'host reference, ratio b / a: host.multiply' a b
expect 3 'nowhere.db' a b --db nowhere.db
"$program" history add a b --db nights.db >/dev/null || failed=1
expect 0 'margin 1 %' a b --db nights.db

# The page of two begins with the same words.
"$program" compare a b | grep -o '1 figure: 1 [a-z]*' >words || failed=1
"$program" report a b -o page.html >/dev/null || failed=1
for text in 'id="changes"' "$(cat words)" 'Host: a system call'; do
	grep -qF -- "$text" page.html || { echo "the page of two lacks '$text'"; failed=1; }
done

# Ten times slower: a regression, as far as four launches show one.
if command -v python3 >/dev/null; then
	python3 - <<'END'
import json
r = json.load(open('a/result.json'))
for c in r['cases']:
    for m in c['metrics'].values():
        for k in ('value', 'low', 'high', 'within_low', 'within_high'):
            if m.get(k) is not None:
                m[k] *= 10
json.dump(r, open('slow.json', 'w'))
r['cases'][0]['status'] = 'FAILED'
json.dump(r, open('wrong.json', 'w'))
END
	launches slow.json slow
	# shellcheck disable=SC2086
	expect 0 'REGRESSED' $a -- slow.?.json
	# shellcheck disable=SC2086
	expect 1 'REGRESSED' --fail-on regression $a -- slow.?.json
	# shellcheck disable=SC2086
	expect 0 'IMPROVED' --fail-on regression slow.?.json -- $a
	# shellcheck disable=SC2086
	expect 1 'REGRESSED' --fail-on certain $a -- slow.?.json
	expect 4 'possibly REGRESSED' --fail-on regression a slow.json
	expect 0 'possibly REGRESSED' --fail-on certain a slow.json
	expect 5 'NOT COMPARED' a wrong.json
	"$program" compare a b --json | python3 -m json.tool >/dev/null || failed=1
fi
exit $failed
