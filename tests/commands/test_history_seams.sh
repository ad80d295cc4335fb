#!/usr/bin/env bash
# gpuproof history trend and report: what comes with another driver or program is told, dated and drawn; nothing else is.
set -u
program=$(realpath "$1")
data=$(realpath "$(dirname "$0")/../data/nights")
command -v python3 >/dev/null || { echo "no python3 to make nights with"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
unset GPUPROOF_DB

expect() { # CODE WORD ARGUMENTS...
	local code=$1 word=$2 got
	shift 2
	"$program" "$@" >out 2>err
	got=$?
	[ $got -eq "$code" ] || { echo "$*: exit code $got, not $code"; cat out err; failed=1; }
	[ -z "$word" ] || grep -qF -- "$word" out err || { echo "$*: '$word' is missing in"; cat out err; failed=1; }
}
absent() { # WORD WHY
	! grep -q -- "$1" out || { echo "$2: '$1' stands in"; cat out; failed=1; }
}

# Nights of one H100, 0.3 % from night to night.
cat >make.py <<'E'
"""make.py RESULT FOLDER NIGHTS SEAM FROM FACTOR PATTERN [fact=value]: a driver 590.10 from night SEAM on, figures times FACTOR from FROM on."""
import datetime, json, os, random, sys
result, folder, nights, seam = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
begin, factor, pattern = int(sys.argv[5]), float(sys.argv[6]), sys.argv[7]
random.seed(38)
n = json.load(open(result))
figures = [(c["id"], m, dict(m)) for c in n["cases"] for m in c["metrics"].values()]
os.mkdir(folder)
for i in range(nights):
	day = datetime.date(2026, 10, 1) + datetime.timedelta(days=i)
	n["run"].update(id=f"night{i}", started=f"{day}T01:00:00Z")
	if i >= seam:
		n["environment"]["driver"] = "590.10"
	if len(sys.argv) > 8 and i >= begin:
		name, value = sys.argv[8].split("=")
		n["environment"][name] = value
		n["gpuproof"]["version"] = value if name == "gpuproof" else n["gpuproof"]["version"]
	for case, metric, first in figures:
		change = factor if i >= begin and case.startswith(pattern) else 1
		change = random.gauss(1, .003) * (change if metric["better"] == "higher" else 1 / change)
		metric.update({k: first[k] and first[k] * change for k in ("value", "low", "high")})
	json.dump(n, open(f"{folder}/{i:02}.json", "w"))
E
nights() { # NAME ARGUMENTS OF make.py
	local name=$1
	shift
	rm -rf "$name.db" "$name"
	python3 make.py "$data/h100_1.json" "$name" "$@" && "$program" history add "$name" --db "$name.db" >/dev/null 2>&1 || { echo "no $name.db"; failed=1; }
}

# A driver that costs 10 % of every product, the next morning and for ever after.
for count in 27 40; do
	nights slow $count 26 26 0.9 matmul
	expect 1 'Since driver 590.10 (2026-10-27): 8 matmul.throughput ' history trend --db slow.db --fail-on change
	grep -q 'NEW 2026-10-27: .* worse, at a change of driver, config or hardware' out || { echo "$count nights: no row names the seam"; cat out; failed=1; }
	[ "$(grep -c NEW out)" -eq 8 ] || { echo "$count nights: not the eight products alone"; cat out; failed=1; }
	absent 'No series changed' "a new driver"
done
"$program" history trend --db slow.db --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
assert any(s.startswith("since driver 590.10 (2026-10-27): 8 matmul.throughput ") for s in t["seams"]), t["seams"]
assert t["new_changes_for_the_worse"] == 8
for s in t["series"]:
	seam, = s["seams"]
	change, = s["changes"]
	assert seam["differs"] and seam["what"] == "driver 590.10" and seam["date"] == "2026-10-27", seam
	assert change["found"] == "at a seam" and 1.08 < change["ratio"] < 1.13 and seam["within"] < 1.05, (seam, change)' || { echo "trend --json of a seam"; failed=1; }
expect 1 '' history report --db slow.db -o slow.html --fail-on change
python3 - <<'E' || { echo "history report of a seam: see above"; failed=1; }
import re
text = open("slow.html").read()
box = re.search(r'<section class="verdict failed.*?</section>', text, re.S).group(0)
assert "Since driver 590.10 (2026-10-27): 8 matmul.throughput" in box, box
# One driver is one incident: one panel that names its eight series, draws all of them, and has the seam with its label.
panels = re.findall(r'<article class="trend .*?</article>', text, re.S)
assert len(panels) == 1 and re.search(r"<bdi>matmul: 8 figures [\d.]+ to [\d.]+.% worse since 2026-10-27, with driver 590.10</bdi>", panels[0]), panels[0][:300]
assert re.search(r"<h1>matmul: 8 figures [\d.]+ to [\d.]+.% worse since 2026-10-27, with driver 590.10</h1>", text), "the title is no answer"
assert "Look first at what else changed: driver 580.159.04 → 590.10." in box, box
named = re.findall(r"<li><b><bdi>(matmul/[^<]*)</bdi></b>", panels[0])
assert len(set(named)) == 8 and panels[0].count("<bdi>driver</bdi>") == 1, named
chart, = re.findall(r'<div class="nights"><svg.*?</svg>', panels[0], re.S)
assert "stroke-dasharray" in chart and ">driver 590.10</text>" in chart
assert len(re.search(r' data-x="([^"]*)"', chart).group(1).split()) == 40
others = re.search(r'<path d="([^"]*)" fill="none" stroke="#777777" stroke-opacity', chart).group(1)
assert others.count("M") == 7 and others.count("L") == 7 * 39, others
# Each suite is one fold with its count, and no series is left out.
folds = re.findall(r'<h3><bdi>(\w+)</bdi></h3> <span class="quiet">(\d+) figures?, (\w+)', text)
assert ("matmul", "8", "8") in folds and sum(int(n) for _, n, _ in folds) == 41, folds
assert all(changed == "none" for suite, _, changed in folds if suite != "matmul"), folds
E
# A person decides; what was acknowledged is green.
expect 0 '' history acknowledge 'known' --metric matmul.throughput --db slow.db
expect 0 '' history trend --db slow.db --fail-on change
# An equal driver is no alarm, and not "nothing".
nights equal 30 26 0 1 matmul
expect 0 'Since driver 590.10 (2026-10-27): 41 of 41 series without a clear difference' history trend --db equal.db --fail-on warning
absent 'No series changed' "an equal driver"
# So is another program or kernel, within an epoch.
nights program 30 99 26 1 matmul gpuproof=0.3.0
expect 0 'Environment, 2026-10-27: gpuproof 0.1.0 -> 0.3.0' history trend --db program.db
expect 0 'No series changed, but the environment did.' history trend --db program.db
nights kernel 30 99 26 0.9 matmul kernel=6.99
expect 1 'Environment, 2026-10-27: kernel ' history trend --db kernel.db --fail-on change
nights quiet 30 99 0 1 matmul
expect 0 'No series changed.' history trend --db quiet.db
# A fall of 40 % in an early night: named the next morning, with its night, and never "nothing".
for night in 2 6 10; do
	day=$(printf '2026-10-%02d' "$night")
	nights all 12 99 $((night - 1)) 0.6 stream
	rm -f fall.db
	for count in $(seq 12); do
		"$program" history add "all/$(printf %02d $((count - 1))).json" --db fall.db >/dev/null 2>&1
		[ "$count" -ge "$night" ] || continue
		expect 1 "NEW $day: " history trend --db fall.db --fail-on change
		[ "$(grep -c NEW out)" -eq 2 ] || { echo "fall in night $night of $count: not the two of stream"; cat out; failed=1; }
	done
done
# Until a change could be found there is no answer.
nights young 10 99 0 1 matmul
expect 0 'Cannot tell yet' history trend --db young.db
absent 'No series changed' "ten nights"
nights young 11 99 0 1 matmul
expect 0 'No series changed.' history trend --db young.db
# Sixteen runs of one day are runs, not nights: dated by their times, and drawn next to each other.
python3 - "$data/h100_1.json" <<'E'
import json, os, random, sys
random.seed(16)
n = json.load(open(sys.argv[1]))
first = {id(m): dict(m) for c in n["cases"] for m in c["metrics"].values()}
os.mkdir("day")
for i in range(16):
	n["run"].update(id=f"run{i}", started=f"2026-10-01T{2 + i // 2:02}:{30 * (i % 2) + 3:02}:00Z")
	for c in n["cases"]:
		for m in c["metrics"].values():
			change = random.gauss(1, .003) * (.9 if i >= 9 and c["suite"] == "matmul" and m["better"] == "higher" else 1)
			m.update({k: first[id(m)][k] and first[id(m)][k] * change for k in ("value", "low", "high")})
	json.dump(n, open(f"day/{i}.json", "w"))
E
expect 0 '' history add day --db day.db
expect 0 'NEW 2026-10-01 06:33: ' history trend --db day.db
grep -q '^16 runs of ' out || { echo "one day: not sixteen runs: $(head -1 out)"; failed=1; }
absent '[Nn]ight' "runs of one day"
expect 0 '' history report --db day.db -o day.html
python3 - <<'E' || { echo "history report of one day: see above"; failed=1; }
import re
text = open("day.html").read().split("<body>")[1].split("<script>")[0]
words = re.sub("<[^>]*>", " ", text)
assert not re.search(r"(?i)\bnights?\b", words), re.findall(r"(?i).{30}\bnights?\b.{10}", words)
assert re.search(r"<h1>matmul: 8 figures [\d.]+ to [\d.]+.% worse since 2026-10-01 06:33</h1>", text), re.search("<h1>.*", text)[0]
chart = re.search(r'<div class="nights"><svg.*?</svg>', text, re.S).group(0)
places = re.search(r' data-x="([^"]*)"', chart).group(1).split()
assert len(set(places)) == 16 and "time of the run (UTC)" in chart and ">06:00</text>" in chart, chart[:900]
# Nothing recorded changed: the page names the two runs to compare.
assert "No recorded fact" in words and "run8 and run9" in words, words[:900]
E
exit $failed
