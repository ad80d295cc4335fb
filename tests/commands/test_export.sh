#!/usr/bin/env bash
# gpuproof export: every format is read by a real parser, also with hostile text in every string of the result.
set -u
program=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
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

expect 2 'no FORMAT given'
expect 2 "unknown format 'junitt'; did you mean 'junit'?" junitt run
expect 2 "unknown format 'google-benchmark'; known: junit, markdown, csv, " google-benchmark run
expect 2 'no RESULT given' junit
expect 3 'nothing.json' junit nothing.json
expect 2 'no such file' junit run -l nowhere.ini
expect 0 'alloc.latency' csv run
expect 0 '[tight]' junit run/result.json -l tight.ini
expect 0 '' markdown run -o summary.md
[ -s summary.md ] || { echo "-o wrote nothing"; failed=1; }
expect 3 'no/such/folder' markdown run -o no/such/folder/summary.md
# Parts of one are ratios; counts and losses are not, and no name says so twice.
"$program" export prometheus "$here/data/claims_h200_x2.json" >names || failed=1
for name in trainmem_allocations parallel_efficiency_ratio trainmem_reserved_ratio; do
	grep -q "^gpuproof_$name{" names || { echo "no gpuproof_$name"; failed=1; }
done
! grep -E '^gpuproof_[a-z_]*(allocations|loss|ratio)_ratio' names || failed=1
# Two jobs of a node write a file each: no sample of one is in the other, or node_exporter drops both.
python3 - <<'PY'
import json
result = json.load(open("run/result.json"))
result["config"]["name"] = 'other "one"'
json.dump(result, open("other.json", "w"))
result["config"]["name"], result["run"]["label"] = "", "evening"
json.dump(result, open("evening.json", "w"))
PY
for job in run/result.json other.json evening.json; do
	"$program" export prometheus "$job" | sed -n 's/ [^ ]*$//; /^gpuproof/p' | sort -u
done >series
[ -z "$(sort series | uniq -d)" ] || { echo "samples of two jobs collide:"; sort series | uniq -d | head; failed=1; }
if command -v promtool >/dev/null; then
	"$program" export prometheus run | promtool check metrics || { echo "promtool finds fault"; failed=1; }
fi

# A figure that has not settled is marked in each format, passes no limit, and is no headline.
python3 - <<'PY'
import json
result = json.load(open("run/result.json"))
for case in result["cases"]:
    for series in case["samples"].values():
        series["unsettled"] = True
        series["warmup"] = 37
        series["statistics"].update(noisy=True, noise="not settled, drift -31.0 %", drift=-0.31)
    for metric in case["metrics"].values():
        metric["headline"] = metric["headline"] and not metric["series"]
json.dump(result, open("drifts.json", "w"))
PY
printf '[limit loose]\nmetric = alloc.latency\nmax = 1h\n' >loose.ini
expect 0 'Not settled: the level still changed at the end of sampling' markdown drifts.json
expect 0 '-31.0 %' markdown drifts.json
expect 0 'settled="false"' prometheus drifts.json
expect 0 '"label": "not settled"' gbench drifts.json
expect 0 'not settled: the values still changed' junit drifts.json -l loose.ini
"$program" export csv drifts.json | python3 -c '
import csv, sys
rows = [r for r in csv.DictReader(sys.stdin) if r["metric"] == "alloc.latency"]
assert rows and all(r["settled"] == "0" and r["headline"] == "0" for r in rows), rows' || failed=1
"$program" check drifts.json --limits loose.ini >out 2>&1
[ $? -eq 4 ] || { echo "check of what has not settled does not end with 4"; cat out; failed=1; }
"$program" report drifts.json -o drifts.html >/dev/null 2>&1
grep -q 'not settled: the values still changed' drifts.html || { echo "the page does not say what has not settled"; failed=1; }

grep -q '<b>not settled</b>' drifts.html || { echo "the page has a headline that has not settled"; failed=1; }
grep -q 'Warm-up: 37 samples were dropped' drifts.html || { echo "the page does not say what was warm-up"; failed=1; }

# A step's timeline as trace events: all spans of the result, each on a named thread of its rank and stream.
cat >steps.ini <<'END'
[run]
backend = host
host_devices = 2
[suite parallel]
layers = 40,64,10
batch = 16
devices = 2
modes = ddp, tensor
timeline = yes
sample_time = 100us
END
expect 3 'run/result.json: no case of the result has a timeline; to record timelines, set [suite parallel] timeline = yes' trace run
"$program" run steps.ini -o steps -q >/dev/null || { echo "run steps.ini: exit code $?"; failed=1; }
expect 0 '' trace steps -o trace.json
python3 - <<'END' || failed=1
import json
trace, result = json.load(open("trace.json")), json.load(open("steps/result.json"))
events = trace["traceEvents"]
spans = [e for e in events if e["ph"] == "X"]
cases = [c for c in result["cases"] if c.get("timeline")]
assert len(cases) == 2 and trace["otherData"]["run_id"] == result["run"]["id"], "the run"
assert len(spans) == sum(len(r["spans"]) for c in cases for r in c["timeline"]) or \
    3 * len(spans) == sum(len(r["spans"]) for c in cases for r in c["timeline"]), "spans are missing"
assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in spans), "time"
named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
assert {(e["pid"], e["tid"]) for e in spans} == set(named), "threads without a name"
assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {c["id"] for c in cases}, "processes"
assert any("rank 1 host:1" in name for name in named.values()), named
END
PROGRAM=$program python3 "$here/commands/export_formats.py" run/result.json tight.ini || failed=1
exit $failed
