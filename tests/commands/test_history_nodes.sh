#!/usr/bin/env bash
# gpuproof history fleet: a slow GPU, one that gets slow, a slow node, silent ones; tags; decisions about them.
set -u
program=$(realpath "$1")
tests=$(realpath "$(dirname "$0")/..")
command -v python3 >/dev/null || { echo "no python3 to make nights with"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
unset GPUPROOF_DB
nights() { python3 "$tests/fixtures/nights.py" "$tests/data/quick_h200.json" "$1"; } # FOLDER <LINES

complain() { echo "$*"; failed=1; }
expect() { # CODE WORD ARGUMENTS...
	local code=$1 word=$2 got
	shift 2
	"$program" "$@" --db fleet.db >out 2>err
	got=$?
	[ $got -eq "$code" ] || complain "$*: exit code $got, not $code: $(cat out err)"
	[ -z "$word" ] || grep -qF -- "$word" out err || complain "$*: '$word' is missing in $(cat out err)"
}
without() { ! grep -qF -- "$1" out || complain "'$1' is in $(cat out)"; }

# 20 nodes of 8 for 30 nights: node11 4 % slow as a whole, node03's cuda:5 3 % since its first night, node07's cuda:2 since the 18th
# night. node19 is silent for 4 nights, node15 lost a GPU 3 nights ago.
python3 - <<'END' >fleet.jsonl
import datetime, json, math, random
random.seed(1)
chip = {(n, d): random.gauss(0, .004) for n in range(20) for d in range(8)}
for night in range(30):
	day = (datetime.date(2026, 3, 2) + datetime.timedelta(days=night)).isoformat()
	for node in range(20):
		if node == 19 and night >= 26:
			continue
		devices, figures = [], []
		for d in range(8):
			if (node, d) == (15, 7) and night >= 27:
				continue
			uuid = f"GPU-{node}-{d}"
			x = chip[node, d] + random.gauss(0, .002)
			x -= .04 * (node == 11) + .03 * ((node, d) == (3, 5)) + .03 * ((node, d) == (7, 2) and night >= 17)
			v = 4.4e12 * math.exp(x)
			devices.append({"id": f"cuda:{d}", "machine": uuid, "model": "H200", "serial": f"S{node:02}{d}", "slot": f"0000:{16 + d:02x}:00.0"})
			figures.append({"case": f"stream/triad@cuda:{d}", "metric": "stream.bandwidth", "section": "stream", "point": "stream/triad",
				"model": "H200", "machine": uuid, "unit": "B/s", "better": "higher",
				"value": v, "low": v * .999, "high": v * 1.001})
		print(json.dumps({"run": f"{night:08x}{node:08x}", "started": f"{day}T01:{node:02}:00Z", "host": f"node{node:02}", "tags": f"rack:{node // 10} site:b", "devices": devices,
			"epochs": ["driver=580\n"], "figures": figures}))
END
nights fleet <fleet.jsonl
expect 0 '596 added' history add fleet
expect 0 '3 findings, 3 open; 160 of 160 devices compared' history fleet
for words in 'node11, the node (8 devices)' 'since the first run, 2026-03-02' \
	'node03 cuda:5, 0000:15:00.0, serial S035 (GPU-3-5)' 'node07 cuda:2, 0000:12:00.0, serial S072 (GPU-7-2)' '; since 2026-03-19' \
	'SILENT   node19: no run since 2026-03-27 (4 days missed)' 'GONE     node15 cuda:7, serial S157 (GPU-15-7)'; do
	grep -qF -- "$words" out || complain "fleet: '$words' is missing in $(cat out)"
done
expect 1 '' history fleet --fail-on change
"$program" history fleet --json --db fleet.db >fleet.json
python3 - <<'END' || complain "fleet --json: not what is planted"
import json
f = json.load(open("fleet.json"))
found = {(x["kind"], x["host"], x["device"] if x["kind"] == "device" else ""): x for x in f["findings"]}
assert set(found) == {("node", "node11", ""), ("device", "node03", "cuda:5"), ("device", "node07", "cuda:2")}, found
assert found["device", "node07", "cuda:2"]["since"] == "2026-03-19" and not found["device", "node07", "cuda:2"]["since_first_night"]
assert all(x["since_first_night"] for k, x in found.items() if k[1] != "node07")
assert abs(found["node", "node11", ""]["worse_by"] - .04) < .005, found
assert [s["host"] for s in f["silent_hosts"]] == ["node19"] and [g["serial"] for g in f["gone_devices"]] == ["S157"]
END
expect 0 'OPEN' history fleet -o fleet.html
grep -qF 'node11, the node (8 devices)' fleet.html || complain "the page does not name the slow node"
grep -qF 'rack:1 site:b' fleet.html || complain "the page has no tags"
# The map of nodes begins with those that have findings; each finding has its strip, and nothing else has one.
python3 - <<'END' || complain "fleet.html: not the map, or not the strips of the findings"
import json, re
page, found = open("fleet.html").read(), json.load(open("fleet.json"))["findings"]
table = page[page.index('id="matrix"'):]
rows = re.findall(r"<tr><th scope=\"row\"><bdi>([^<]*)</bdi>(.*)", table[:table.index("</table>")])
slow = {x["host"] for x in found}
assert {host for host, _ in rows[:len(slow)]} == slow and all("✗" in cells for _, cells in rows[:len(slow)]), rows[:4]
assert not any("✗" in cells for _, cells in rows[len(slow):]), "a node without a finding is marked"
strips = re.findall(r'<article class="trend (failed|)"', page)
assert 1 <= len(strips) <= len(found), (len(strips), len(found))
assert page.index('id="matrix"') < page.index('id="strips"')
END

# No device is slow: the strip with the device farthest from the others is the first all the same.
python3 - <<'END' >like.jsonl
import json
for night in range(8):
	for node in range(10):
		figures = [{"case": f"stream/{point}@cuda:0", "metric": "stream.bandwidth", "section": "stream", "point": f"stream/{point}", "model": "H200",
			"machine": f"GPU-{node}", "unit": "B/s", "better": "higher", "value": v, "low": v * .95, "high": v * 1.05}
			for point in ("copy", "triad") for v in [4.4e12 * (1 + .0005 * (node % 3) - .01 * (node == 4 and point == "triad"))]]
		print(json.dumps({"run": f"{night:08x}{node:08x}", "started": f"2026-03-{night + 1:02}T01:{node:02}:00Z", "host": f"node{node:02}", "devices": [{"id": "cuda:0", "machine": f"GPU-{node}", "model": "H200",
			"serial": f"S{node}", "slot": "0000:16:00.0"}], "figures": figures}))
END
nights like <like.jsonl
"$program" history add like --db like.db >out && "$program" history fleet --db like.db -o like.html >out || complain "like: $(cat out)"
[ "$(grep -o '<h3><bdi>stream/[a-z]*' like.html | head -n 1)" = '<h3><bdi>stream/triad' ] || complain "the first strip is not the worst"
grep -qF 'No slow device' like.html || complain "like: $(cat out)"

# A GPU that moves to another node on the fifth night is one line of nights, and one device; so is what its former node had.
sed -E '/"host": "node03"/{/2026-03-0[1-4]T/!s/node03/node10/}' like.jsonl >moved.jsonl
nights moved <moved.jsonl
"$program" history add moved --db moved.db >out && "$program" history node S3 --json --db moved.db >moved.json &&
	"$program" history node node03 --json --db moved.db >left.json && "$program" history fleet --json --db moved.db >all.json ||
	complain "moved: $(cat out)"
python3 - <<'END' || complain "a GPU that moved: $(cat moved.json)"
import json
moved, left, all = (json.load(open(f"{name}.json")) for name in ("moved", "left", "all"))
assert moved["host"] == "node10" and all["devices"] == 10, (moved["host"], all)
for case in moved["cases"]:
	assert case["devices"] == 1 and [n["date"] for n in case["nights"]] == [f"2026-03-{d:02}" for d in range(1, 9)], case
	assert {n["others_count"] for n in case["nights"]} == {9}, case
assert {len([n for n in case["nights"] if n["value"] is not None]) for case in left["cases"]} == {4}, left
END

# Night by night: a node and a GPU, by serial number, next to the others.
expect 0 'node11, 8 devices, rack:1 site:b' history node node11
for words in 'OPEN     node11, the node (8 devices)' ' worse than the median of 19 other nodes, in the last 7 days' '2026-03-02  4.2'; do
	grep -qF -- "$words" out || complain "node: '$words' is missing in $(cat out)"
done
expect 0 'GPU-7-2: node07, cuda:2, 0000:12:00.0, serial S072' history node S072
expect 0 'No finding' history node node05
# The page of a node with a slow GPU draws that GPU, which the node's median hides; the map of nodes names it.
expect 0 '' history node node07 -o node07.html
python3 - <<'END' || complain "the page of a node does not draw its slow GPU, or the map does not name it"
import re
charts = re.findall(r'<figure class="chart" id="nights-[0-9]+">.*?</figure>', open("node07.html").read(), re.S)
assert "<strong>cuda:2: stream/triad, bandwidth" in charts[0] and "worse than the median" in charts[0], charts[0][:300]
assert len(charts) == 2 and "<strong>stream/triad" in charts[1], len(charts)
row = re.search(r'<bdi>node07</bdi>.*', open("fleet.html").read()[open("fleet.html").read().index('id="matrix"'):])[0]
assert re.search("✗ cuda:2 −[23]", row), row
END
expect 1 '' history node node07/cuda:2 --fail-on change
expect 0 '' history node node05 --fail-on change
expect 2 'nodes: node00, node01, ' history node node99
expect 2 'node' history node
# The trend of many nodes names the node that changed in its title.
expect 0 '' history report -o trend.html
grep -q '<h1>node07, stream' trend.html || complain "the trend of many nodes does not name the node: $(grep '<h1>' trend.html)"
[ "$(wc -c <trend.html)" -lt 250000 ] || complain "the trend of many nodes weighs $(wc -c <trend.html) bytes"
# A node without recent runs is not like the others, whatever it was like before.
expect 0 'SILENT   node19: no run since 2026-03-27 (4 days missed)' history node node19
expect 0 '' history node node19 -o silent.html
grep -q '<section class="verdict error"' silent.html && grep -q 'No recent run' silent.html && grep -q 'No run since 2026-03-27: 4 days[.]' silent.html ||
	complain "the page of a silent node is green: $(grep -A3 'class="verdict' silent.html)"
expect 0 'not compared: no other node has recent values of the same cases' history node node19 --nights 3
expect 0 '' history node S072 -o node.html
python3 - <<'END' || complain "the page of a GPU has not one chart per suite"
import re
charts = re.findall(r'<figure class="chart".*?<title[^>]*>([^/<]+)/', open("node.html").read(), re.S)
assert charts and len(charts) == len(set(charts)), charts
END
grep -qF 'days before 2026-03-31' node.html && grep -qF 'Slower than the others' node.html || complain "the page of a GPU has not its nights"
"$program" history node S072 --json --db fleet.db >node.json
"$program" history node node11 --json --db fleet.db >node11.json
python3 - <<'END' || complain "node --json: not what is planted"
import json
gpu, node = json.load(open("node.json")), json.load(open("node11.json"))
assert (gpu["host"], gpu["device"], gpu["serial"], gpu["open"]) == ("node07", "cuda:2", "S072", 1), gpu
nights = gpu["cases"][0]["nights"]
assert len(nights) == 30 and nights[0]["others_count"] == 159 and nights[-1]["others_count"] == 150, nights
# The change of the 18th night is in the difference to the others, and its interval excludes none.
before, after = ([n["better_by"] for n in part] for part in (nights[:17], nights[17:]))
assert max(after) < -.02 < -.01 < min(before), nights
assert all(n["better_by"] + n["half_interval"] < 0 for n in nights[17:]), nights
assert all(n["others_low"] < n["others"] < n["others_high"] for n in nights), nights
[case] = node["cases"]
assert abs(case["better_by"] + .04) < .005 and case["devices"] == 8 and 0 < case["half_interval"] < .005, case
END

# A tag selects nights, here those of ten nodes.
expect 0 '80 of 80 devices compared' history fleet --tag rack:1
without node03
expect 2 'no series' history fleet --case nothing

# Decisions: by node, device, place and serial number; they end, are taken back, and what was fixed is open while it is there.
expect 0 '' history acknowledge 'riser ordered' --node node11 --state tracked --by anna --ticket https://t/7 --until 2026-04-02
expect 0 'tracked by anna until 2026-04-02: riser ordered (https://t/7)' history fleet
grep -qF '3 findings, 2 open' out || complain "an acknowledged node is still open: $(cat out)"
expect 0 '' history acknowledge 'cheap one' --device S035 --state wontfix
expect 1 '3 findings, 1 open' history fleet --fail-on change
expect 0 '' history acknowledge 'cleaned' --device node07/cuda:2 --state fixed
expect 0 '3 findings, 0 open' history fleet --fail-on change
expect 1 '' history fleet --fail-on warning
expect 0 '' history acknowledge 'no' --device GPU-3-5 --state open
expect 0 '3 findings, 1 open' history fleet
expect 2 'no run of this host' history acknowledge x --node node99
expect 2 'the history has no GPU with this' history acknowledge x --device S999
expect 2 'a decision needs' history acknowledge x
expect 2 'is earlier' history acknowledge x --node node11 --until 2026-03-01
# Decisions travel with the nights.
"$program" history merge fleet.db --db again.db 2>/dev/null
"$program" history fleet --db again.db >again; "$program" history fleet --db fleet.db >out
diff again out || complain "a merge loses decisions"
# Five more nights: what is fixed is still there, and the tracked one has ended.
python3 - <<'END' >more.jsonl
import datetime, json
for line in open("fleet.jsonl"):
	n = json.loads(line)
	night = int(n["run"][:8], 16)
	if 20 <= night < 25:
		n["run"] = f"{night + 10:08x}{n['run'][8:]}"
		day = datetime.date.fromisoformat(n["started"][:10]) + datetime.timedelta(days=10)
		n["started"] = day.isoformat() + n["started"][10:]
		print(json.dumps(n))
END
nights more <more.jsonl
expect 0 '100 added' history add more
expect 0 '3 findings, 3 open' history fleet

# The trend of one series: a decision closes its change, its end opens it again.
expect 1 '1 new change' history trend --fail-on change --case cuda:2
expect 0 '' history acknowledge 'known' --device GPU-7-2 --state false-alarm
expect 0 '0 new change' history trend --fail-on change --case cuda:2
expect 0 '' history acknowledge 'not for ever' --device GPU-7-2 --state open
expect 1 '1 new change' history trend --fail-on change --case cuda:2

# By its node as well, and both pages tell who decided what.
expect 1 '1 new change' history trend --fail-on change --case cuda:2 --tag rack:0
expect 0 '' history acknowledge 'fans' --node node07 --state tracked --by bob --ticket https://t/9
expect 0 'tracked by bob: fans (https://t/9)' history trend --fail-on change --case cuda:2
expect 0 'decision ' history show --case cuda:2
expect 0 '' history report --case cuda:2 -o trend.html
grep -qF 'tracked by bob: fans (https://t/9)' trend.html || complain "the page of the trend has no decision"

# Runs on several nodes: each node is one, by its name; the machine that they were started on is none.
python3 - <<'END' >runs.jsonl
import json, random
random.seed(2)
for night in range(10):
	devices, figures = [], []
	for node in range(6):
		if (node == 5 and night > 6):
			continue
		for d in range(4):
			if (node, d) == (4, 3) and night > 7:
				continue
			id, uuid = f"n{node}/cuda:{d}", f"GPU-{node}-{d}"
			v = 4e12 * (1 + random.gauss(0, .002) - .05 * (node == 2))
			devices.append({"id": id, "machine": uuid, "model": "H200", "serial": f"S{node}{d}", "slot": ""})
			figures.append({"case": f"stream/triad@{id}", "metric": "stream.bandwidth", "section": "stream", "point": "stream/triad",
				"model": "H200", "machine": uuid, "unit": "B/s", "better": "higher",
				"value": v, "low": v * .999, "high": v * 1.001})
	figures.append({"case": "collective/all_reduce@n0+n1", "metric": "collective.bandwidth", "section": "collective",
		"point": "collective/all_reduce", "model": "H200", "machine": "GPU-0-0", "unit": "B/s", "better": "higher", "value": 1e11, "low": 1e11, "high": 1e11})
	print(json.dumps({"run": f"{night:08x}", "started": f"2026-03-{night + 1:02}T01:00:00Z", "host": "login", "tags": "site:c", "devices": devices, "figures": figures}))
END
nights runs <runs.jsonl
"$program" history add runs --db runs.db 2>err || complain "runs: $(cat err)"
"$program" history fleet --db runs.db >out || complain "fleet of runs on nodes: exit code $?"
for words in '6 nodes, 24 devices, 10 runs' 'OPEN     n2, the node (4 devices)' 'SILENT   n5: no run since 2026-03-07 (3 days missed)' \
	'GONE     n4 cuda:3, serial S43 (GPU-4-3): not in the last 2 runs of its node'; do
	grep -qF -- "$words" out || complain "fleet of runs on nodes: '$words' is missing in $(cat out)"
done
"$program" history node n2 --db runs.db >out || complain "a node of runs on nodes: exit code $?"
grep -qF 'n2, 4 devices, site:c' out && grep -qF 'worse than the median of 5 other nodes' out || complain "a node of runs on nodes: $(cat out)"
"$program" history acknowledge x --node n2 --db runs.db || complain "a node of runs on nodes cannot be decided about"
"$program" history trend -a --db runs.db | grep -qF '(GPU-2-1: n2, cuda:1, serial S21)' || complain "trend: not the node of a GPU"

# Two devices of one node: nothing is compared, which is told and no success.
grep node02 fleet.jsonl >few.jsonl
nights few <few.jsonl
"$program" history add few --db few.db 2>err || complain "few: $(cat err)"
"$program" history fleet --db few.db --fail-on change >out && complain "nothing compared is a success"
grep -qF 'Nothing was compared' out || complain "nothing compared is not told: $(cat out)"
exit $failed
