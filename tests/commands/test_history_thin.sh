#!/usr/bin/env bash
# gpuproof history thin: a smaller history says what the whole one said, and a kill in the middle changes nothing.
set -u
program=$(realpath "$1")
command -v python3 >/dev/null || { echo "no python3 to make nights with"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
export GPUPROOF_DB=$folder/h.db

fail() { echo "$*"; failed=1; }
expect() { # CODE WORD ARGUMENTS...
	local code=$1 word=$2 got
	shift 2
	"$program" history "$@" >out 2>err
	got=$?
	[ $got -eq "$code" ] || { cat out err; fail "$*: exit code $got, not $code"; }
	[ -z "$word" ] || grep -qF -- "$word" out err || { cat out err; fail "$*: '$word' is missing"; }
}

# Two nodes of two GPUs, 240 nights: node1's second GPU loses 5 % on night 60, which was accepted as expected, and 4 % more on
# night 225; node2 was rejected on night 20, and a night of both is missing.
python3 - <<'END' >nights.jsonl
import datetime, json, random
random.seed(4)
print('{"format":"gpuproof-history","version":1}')
for i in range(240):
	if i == 100:
		continue
	day = datetime.date(2026, 1, 1) + datetime.timedelta(days=i)
	for host in 1, 2:
		devices, figures = [], []
		for g in 0, 1:
			machine = f"GPU-{host}{g}"
			devices.append({"id": f"cuda:{g}", "machine": machine, "model": "H9", "serial": f"{host}{g}", "slot": f"0000:0{g}:00.0"})
			for case in "copy", "triad":
				bad = host == 1 and g == 1
				value = 1e12 * random.gauss(1, .003) * (.95 if bad and i >= 60 else 1) * (.96 if bad and i >= 225 else 1)
				figures.append({"case": f"stream/{case}@cuda:{g}", "metric": "stream.bandwidth", "section": "stream", "point": case,
						"model": "H9", "machine": machine, "unit": "B/s", "better": "higher", "headline": True, "epoch": 0,
						"value": value, "low": value * .999, "high": value * 1.001})
		print(json.dumps({"run": f"n{host}-{i}", "started": f"{day}T01:0{host}:00Z", "host": f"node{host}", "label": "", "state": "complete",
				  "verdict": "REJECTED" if host == 2 and i == 20 else "ACCEPTED", "facts": "kernel=6.1\n" * 20,
				  "devices": devices, "epochs": ["driver=580\n"], "figures": figures}))
END
expect 0 '478 added' import nights.jsonl
expect 0 '' acknowledge 'power limit lowered' --state expected --device GPU-11 --case copy
expect 0 '' annotate 2026-02-05 'cable changed'
cp h.db whole.db

said() { # the answers: everything that trend, fleet and their gates say, without counts of nights and their medians
	"$program" history trend --json --all --fail-on change >json
	echo "exit code $?"
	python3 -c 'import json, sys
d = json.load(open("json"))
print(d["missed"])
def walk(x, path=""):
	if isinstance(x, dict):
		for k, v in x.items(): walk(v, path + "/" + k)
	elif isinstance(x, list):
		for i, v in enumerate(x): walk(v, f"{path}[{i}]")
	elif isinstance(x, (str, bool)) or path.endswith("/day"):
		print(path, x)
walk(d)'
	"$program" history fleet
}
said >before.txt
grep -q '2026-03-02' before.txt && grep -q '2026-08-14' before.txt || { cat before.txt; fail "the changes are not in the answers"; }
expect 2 'thin --before DATE or --keep DAYS' thin
expect 2 'the last night is of 2026-08-28, and 30 days before it stay whole' thin --keep 10
expect 0 '0 nights thinned' thin --before 2026-01-01
size=$(stat -c %s h.db)
expect 0 'nights thinned' thin --keep 60
cat out
said >after.txt
diff before.txt after.txt || fail "the thinned history says something else"
[ "$(stat -c %s h.db)" -lt $((size * 3 / 4)) ] || fail "$size bytes became $(stat -c %s h.db)"
# Runs, verdicts and what lies near a change, a note or a rejection stay.
[ "$("$program" history show | wc -l)" -eq "$("$program" history show --db whole.db | wc -l)" ] || fail "runs are lost"
"$program" history show | grep -F 'thinned: no figures' >thinned
[ "$(wc -l <thinned)" -gt 150 ] || fail "only $(wc -l <thinned) nights are thinned"
! grep -E ' n2-20 |2026-02-05| n1-(5|6)[0-9] |2026-08-' thinned || fail "nights that stay whole were thinned"
expect 0 '0 nights thinned' thin --keep 60
# An exchange carries it, and neither direction undoes the other.
expect 0 '' export -o thin.jsonl
expect 0 '478 added' import thin.jsonl --db other.db
expect 0 '' export -o again.jsonl --db other.db
cmp thin.jsonl again.jsonl || fail "an import of a thinned history exports something else"
expect 0 '0 added, 0 replaced, 478 there already' import thin.jsonl --db whole.db
expect 0 ' there already, 0 refused' import nights.jsonl
said >restored.txt
diff before.txt restored.txt || fail "nights that were added again changed the answers"
"$program" history show | grep -qF 'thinned: no figures' && fail "nights that were added again are still thinned"
# Thinning leaves too little evidence of changes within the noise: their series keep all nights, and the answers stay.
python3 - <<'END' >faint.jsonl
import datetime, json, random
random.seed(1)
print('{"format":"gpuproof-history","version":1}')
for i in range(240):
	day = datetime.date(2026, 1, 1) + datetime.timedelta(days=i)
	for host in range(1, 7):
		value = 1e12 * random.gauss(1, .02 if host < 6 else .002) * (.985 if host < 6 and i >= 120 else 1)
		print(json.dumps({"run": f"n{host}-{i}", "started": f"{day}T01:0{host}:00Z", "host": f"node{host}", "label": "", "state": "complete",
				  "verdict": "ACCEPTED", "facts": "", "epochs": ["driver=580\n"],
				  "devices": [{"id": "cuda:0", "machine": f"GPU-{host}", "model": f"H{host}", "serial": f"{host}", "slot": "1"}],
				  "figures": [{"case": "stream/copy@cuda:0", "metric": "stream.bandwidth", "section": "stream", "point": "copy", "model": f"H{host}",
					       "machine": f"GPU-{host}", "unit": "B/s", "better": "higher", "headline": True, "epoch": 0,
					       "value": value, "low": value * .999, "high": value * 1.001}]}))
END
export GPUPROOF_DB=$folder/faint.db
expect 0 '1440 added' import faint.jsonl
said >before.txt
expect 0 ' series stay whole: they would be judged otherwise' thin --keep 60
cat out
whole=$(sed -n 's/.*thinned; \([0-9]*\) series stay whole.*/\1/p' out)
said >after.txt
diff before.txt after.txt || fail "series that stay whole: the thinned history says something else"
"$program" history show | grep -F 'thinned: no figures' >thinned
kept=0
for host in 1 2 3 4 5; do
	grep -qF " n$host-" thinned || kept=$((kept + 1))
done
[ "$kept" -eq "$whole" ] || fail "$whole series stay whole, and $kept nodes have all their nights"
grep -qF ' n6-' thinned || fail "the node without a change was not thinned"
export GPUPROOF_DB=$folder/h.db
# Killed at any moment: all or nothing.
"$program" history export --db whole.db -o whole.jsonl
cp whole.db killed.db
"$program" history thin --keep 60 --db killed.db >/dev/null
"$program" history export --db killed.db -o thinned.jsonl
for delay in 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.15 0.2 0.3; do
	cp whole.db killed.db
	"$program" history thin --keep 60 --db killed.db >/dev/null 2>&1 &
	sleep $delay
	kill -9 $! 2>/dev/null
	wait $! 2>/dev/null
	"$program" history export --db killed.db -o killed.jsonl || fail "killed after $delay s: no export"
	cmp -s killed.jsonl whole.jsonl || cmp -s killed.jsonl thinned.jsonl || fail "killed after $delay s: half thinned"
done
exit $failed
