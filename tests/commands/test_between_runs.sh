#!/usr/bin/env bash
# ci/between-runs: coverage and widths of known series, its goals, and the runs that it refuses.
set -u
program=$(realpath "$1")
script=$(realpath "$(dirname "$0")/../../ci/between-runs")
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends
export GPUPROOF_BACKENDS
cd "$folder" || exit 1
failed=0

# expect CODE WORD ARGUMENTS...: the exit code, and a line of output that has WORD; blanks count once
expect() {
	local code=$1 word=$2 got
	shift 2
	python3 "$script" "$@" >out 2>&1
	got=$?
	[ $got -eq "$code" ] || { echo "between-runs $*: exit code $got, not $code"; cat out; failed=1; }
	tr -s ' ' <out | grep -qF -- "$word" || { echo "between-runs $*: '$word' is missing in"; cat out; failed=1; }
}

# series FILE FIGURE SHARE RUN...: runs of launches (10,10.2), each with an interval of +- SHARE about their mean
series() {
	python3 - "$@" <<'PY'
import json, sys
path, figure, share, *runs = sys.argv[1:]
rows = []
for run in runs:
    launches = [float(v) for v in run.split(",")]
    value = sum(launches) / len(launches)
    rows.append([value, value * (1 - float(share)), value * (1 + float(share)), launches])
json.dump({figure: rows}, open(path, "w"))
PY
}

# Without widening, `others` is 33.3 and `next` is 0; the median of all is in the second interval alone.
series next "a/x@cuda:0 m" 0.08 10 11 12
expect 1 'a@cuda 1 33.3 33.3 100.0 0.88 100' next
# Without widening, `others` is 66.7.
series others "b:label/x@cuda:0 m" 0.07 10 10.6 10.9
expect 0 'b@cuda 1 100.0 100.0 100.0 1.59 100' others
# Two launches tell, each of the next two is told: 11.1 is within 10 * 1.065^sqrt(3), and outside with sqrt(2).
series launches "c/x@cuda:0 m" 0.065 10,10 11.1,9.2 9.9,10
expect 0 'c@cuda 1 100.0 100.0 100.0 1.09 100' launches
# Wide intervals hold everything, and miss the goal of their width.
series wide "d/x@cuda:0 m" 0.5 10 10.1 10.2
expect 1 'missed: 0 % of figures have half widths of at most 2.5 standard deviations' wide
expect 0 'd@cuda 1 100.0' --width 100 wide
expect 0 'a@cuda 1 33.3' --goal 33 next
expect 1 'missed: a@cuda: 33.3 % of intervals hold the median of all runs; goal 34 %' --goal 34 next
expect 1 '1 of 3, half width 0.88 sd' --figures next

# No figure vanishes silently.
series zero "e/x@cuda:0 m" 0.1 0 1 2
expect 2 'left out: e/x@cuda:0 m: not above 0' zero
series same "e/x@cuda:0 m" 0.1 2 2 2
expect 2 'left out: e/x@cuda:0 m: the same value in every launch' same
series two "e/x@cuda:0 m" 0.1 2 2.1
expect 2 '2 runs: at least 3 are needed' two
python3 -c 'import json; a = json.load(open("others")); a["b/y@cuda:0 m"] = a["b:label/x@cuda:0 m"][:2]; json.dump(a, open("part", "w"))'
expect 0 'left out: b/y@cuda:0 m: measured in 2 runs, fewer than 3' part

# The CPU's figures of a suite are no part of the GPU's: they would hide that these miss the goal.
python3 -c 'import json; a = json.load(open("next")); b = json.load(open("others"))
json.dump({"a/x@cuda:0 m": a["a/x@cuda:0 m"], "a:cpu/x@host:0 m": b["b:label/x@cuda:0 m"]}, open("both", "w"))'
expect 1 'a@host 1 100.0 100.0 100.0 1.59 100' both
expect 1 'missed: a@cuda: 33.3 % of intervals' both
expect 1 'all suites 1 33.3' --backend cuda both
expect 0 'all suites 1 100.0' --backend host both
expect 2 'no figure that varies between runs' --backend other both

# Results of the program, whose folders hold those of each launch too: kept as series they give the same answer.
cat >small.ini <<'END_INI'
[run]
backend = fake
[suite transfer]
directions = h2d, d2h
memories = pinned
sizes = 1MiB
min_samples = 5
max_samples = 6
END_INI
for i in 1 2 3 4; do
	GPUPROOF_FAKE="between=2%:$i" "$program" run small.ini --launches 3 -q --no-report -o runs/$i >log 2>&1 ||
		{ echo "run $i failed"; cat log; exit 1; }
done
python3 "$script" --goal 0 --width 1000 --series kept runs >of_results || { echo "results:"; cat of_results; failed=1; }
grep -q '^4 runs;' of_results && grep -q '^transfer@fake  *2 ' of_results || { echo "both copies are figures:"; cat of_results; failed=1; }
python3 "$script" --goal 0 --width 1000 kept | diff of_results - || { echo "--series differs"; failed=1; }
python3 - <<'PY' || failed=1
import json
for figure, runs in json.load(open("kept")).items():
    assert len(runs) == 4 and all(len(launches) == 3 for *_, launches in runs), (figure, runs)
PY

# edit NEW EXPRESSION: the fourth run, changed
edit() {
	mkdir -p "$1"
	python3 -c "import json; r = json.load(open('runs/4/result.json')); $2; json.dump(r, open('$1/result.json', 'w'))"
}
expect 2 'the same run as runs/4/result.json' runs runs/4
edit config 'r["run"]["id"] = "run-other"; r["config"]["text"] += "[run]"'
expect 2 'config/result.json: another config than' runs config
edit device 'r["run"]["id"] = "run-other"; r["devices"][0]["name"] = "other"'
expect 2 'device/result.json: other devices than' runs device
edit cut 'r["run"]["id"] = "run-other"; r["run"]["state"] = "interrupted"'
expect 2 'cut/result.json: the run is interrupted, not complete' runs cut
expect 2 'results and a file of series together' runs kept
echo '[]' >none
expect 2 'none: neither a gpuproof result nor a file of --series' none
mkdir empty
expect 2 'empty: no result.json in this folder' empty
exit $failed
