#!/usr/bin/env bash
# The page of a run on several nodes: who is named first, and why; and that its size follows from what is wrong.
set -u
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
fail() {
	echo "FAIL: $*"
	exit 1
}

cat >nodes.ini <<'INI'
[run]
backend = host
[defaults]
max_time = 20ms
[suite alloc]
allocators = pageable
operations = alloc
states = reused
sizes = 64KiB
[limit fast]
metric = alloc.latency
max = 10s
INI
"$program" run nodes.ini --simulate-nodes 2 -o run --check --quiet >said 2>&1 || fail "the run: $(cat said)"
tail -1 said | grep -qx 'run/fleet.html' || fail "the page of the nodes is not said last: $(cat said)"
for page in report.html acceptance.html; do
	grep -q "href=\"$page\"" run/fleet.html || fail "no link to $page"
done
"$program" run nodes.ini --simulate-nodes 2 -o unjudged --quiet >said 2>&1 || fail "the run without limits: $(cat said)"
grep -q '<td>NOT JUDGED<' unjudged/fleet.html && grep -q '<p>2 nodes complete, not judged[.]</p>' unjudged/fleet.html ||
	fail "nodes that were not judged are not counted so"
! grep -q 'judged, and no check failed' unjudged/fleet.html || fail "nodes that were not judged are cleared"
grep -q 'ACCEPTED' run/fleet.html && grep -q 'id="suspects"' run/fleet.html && fail "an accepted run has suspects"

# The phases are parts of the run's time; a run that measures again has one more.
python3 - <<'END' || fail "phases: not the run's time"
import json
for run in ("run", "unjudged"):
	result = json.load(open(f"{run}/result.json"))
	names = [p["name"] for p in result["phases"]]
	assert names[:3] == ["start-up of the agents", "cases of each node", "shutdown of the agents"], names
	assert names[3:] in ([], ["repeated cases"]), names
	assert abs(sum(p["seconds"] for p in result["phases"]) - result["run"]["seconds"]) < .01, result["phases"]
END

# CPUs are no GPUs, and GPUs that two nodes have are of simulated nodes: both are said on top.
grep -q 'No GPU was measured: all devices are CPUs[.]' run/fleet.html && grep -q '<bdi>2 × [^<]* (CPU)</bdi>; 2 nodes' run/fleet.html ||
	fail "the nodes' CPUs are shown like GPUs: $(grep -F 'class="scope"' run/fleet.html)"
! grep -q 'GPUs</h2>' run/fleet.html || fail "a heading names GPUs"
for uuids in 'GPU-1 GPU-1' 'GPU-1 GPU-2'; do
	python3 - $uuids <<'END' || fail "no copy with GPUs"
import json, sys
r = json.load(open("run/result.json"))
for device, uuid in zip(r["devices"], sys.argv[1:]):
    device.update(backend="cuda", name="NVIDIA H100", uuid=uuid, capabilities=["fp32"])
r.pop("judgement", None)
json.dump(r, open("gpus.json", "w"))
END
	"$program" report gpus.json --fleet -o gpus.html >said 2>&1 || fail "report of two GPUs: $(cat said)"
	grep -q '2 × NVIDIA H100</bdi>' gpus.html && ! grep -q 'No GPU' gpus.html || fail "GPUs are not named"
	grep -c '1 of 2 GPUs also belong to another node' gpus.html >>shared
done
[ "$(tr '\n' ' ' <shared)" = "1 0 " ] || fail "GPUs of two nodes: $(cat shared)"

# The median in the sentence is that of the chart, also of an even number of devices.
python3 - <<'END' || fail "the sentence has another median than the chart"
import re
page = open("run/fleet.html").read()
said = re.findall(r"2 devices: median ([^,]+), from", page)
drawn = re.findall(r">all 2 devices<td>([^<\n]+)", page)
assert drawn and set(said) == set(drawn), (said, drawn)
END

# Many nodes of that: one with a slow device, one that gave a wrong result, one lost with a hostile reason.
cat >grow.py <<'PY'
import copy, json, sys
source, target, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
result = json.load(open(source))
judgement = result["judgement"]
case, check, device, node = result["cases"][0], judgement["checks"][0], result["devices"][0], result["nodes"][0]
result["cases"], result["devices"], result["nodes"], judgement["checks"], judgement["devices"] = [], [], [], [], []
for n in range(count):
    name, one, look = f"node{n:04d}", copy.deepcopy(case), copy.deepcopy(check)
    there = f"{name}/host:0"
    result["nodes"].append(dict(node, name=name))
    result["devices"].append(dict(device, id=there))
    one["id"] = look["case"] = case["id"].split("@")[0] + "@" + there
    one["node"], one["device"], one["devices"], look["devices"] = name, there, [there], there
    metric = one["metrics"]["alloc.latency"]
    for part in ("value", "low", "high"):
        metric[part] = metric[part] and metric[part] * (1 + n % 17 / 1000)
    look["value"] = metric["value"]
    if n == 7:
        look.update(verdict="FAIL", accepted=False, cause="gpu-slow-memory", margin=-0.5)
    if n == 9:
        one["status"], one["reason"] = "FAILED", "a byte differs"
        look.update(verdict="FAIL", accepted=False, wrong_result=True, cause="wrong-result")
    if n == 3:
        result["nodes"][-1].update(status="LOST", reason="silent <script>alert(1)</script>", lost_at="alloc/x@host:0", finished=1)
    result["cases"].append(one)
    if n != 11:
        judgement["checks"].append(look)
judgement.update(verdict="FAIL", wrong_result=True)
result["run"]["planned"] = len(result["cases"])
json.dump(result, open(target, "w"))
PY
# Several limits reject one device: it is one device that did not pass.
python3 grow.py run/result.json limits.json 30 && python3 - <<'PY' || fail "several limits"
import copy, json
result = json.load(open("limits.json"))
checks = result["judgement"]["checks"]
for n in range(5):
    checks += [dict(copy.deepcopy(c), limit=f"another-{n}") for c in checks[:30] if c["verdict"] == "FAIL"]
json.dump(result, open("limits.json", "w"))
PY
"$program" report limits.json --fleet -o limits.html >said 2>&1 || fail "report --fleet of several limits: $(cat said)"
! grep -q 'more devices did not pass' limits.html || fail "checks are counted as devices"
for count in 30 900; do
	python3 grow.py run/result.json $count.json $count || fail "grow"
	"$program" report $count.json --fleet -o $count.html >said 2>&1 || fail "report --fleet of $count nodes: $(cat said)"
	python3 - $count.html $count <<'PY' || fail "the page of $count nodes"
import re, sys
page, count = open(sys.argv[1]).read(), int(sys.argv[2])
suspects = re.findall(r'<li class="\w+"><p><strong><bdi>(node\d+)</bdi></strong> (\w+)', page)
assert suspects == [("node0009", "WRONG"), ("node0007", "FAIL"), ("node0003", "LOST")], suspects
assert re.search(r'<bdi>node0011</bdi></th><td>NOT JUDGED<', page), "a node that nothing judged is not OK"
assert re.search(r'<p>2 nodes failed, 1 node not complete, \d+ nodes judged, and no check failed, 1 node complete, not judged[.]</p>', page), re.search('<p>.*failed.*', page)[0]
# The map has each node with a mark per device; a node that nothing judged, or that was lost, has no tick.
there = page[page.index('id="map"'):page.index("</section>", page.index('id="map"'))]
rows = dict(re.findall(r'<tr><th scope="row" class="\w+"><bdi>(node\d+)</bdi>(.*)', there))
nodes = rows | dict(re.findall(r'<li class="\w+"><bdi>(node\d+)</bdi>(.*?)</li>', there))
# The first rows are those of the suspects, then by distance from the median, which the row says.
assert len(rows) == min(count, 40), len(rows)
distances = [re.search(r'status">([+−]?[\d.]+)\s*%', row) for row in list(rows.values())[3:]]
distances = [float(found[1].replace("−", "-")) for found in distances if found]
assert len(distances) > 20 and distances == sorted(distances) and distances[0] < -.5, distances
assert re.search(r"<h1>3 of \d+ nodes are suspect: node0009 [(]WRONG[^)]*[)], node0007 [(]FAIL[^)]*[)], node0003 [(]LOST[)]</h1>", page), re.search("<h1>.*", page)[0]
assert len(nodes) == min(count, 400) and list(nodes)[:3] == [n for n, _ in suspects], list(nodes)[:5]
assert all("✓" in nodes[n] or n in ("node0009", "node0007", "node0003", "node0011") for n in nodes), nodes
assert "✓" not in nodes["node0003"] and "○" in nodes["node0011"] and "✓" not in nodes["node0011"], nodes["node0003"]
assert "✗" in nodes["node0007"] and "FAIL" in nodes["node0007"] and "WRONG" in nodes["node0009"], nodes["node0007"]
assert page.count("<script") == 1 and "silent &lt;script&gt;" in page
assert "alloc/x@host:0" in page, "the case in flight of the lost node"
assert f"all {count - 1} devices" in page or f"all {count} devices" in page
assert page.count("<tr class=") == min(count, 400), page.count("<tr class=")
assert ("node0899" in page) == (count == 900), "every node is on the page"
assert len(page) < 400_000, len(page)
PY
done
"$program" report 30.json 30.json --fleet -o no.html >said 2>&1
[ $? -eq 2 ] && grep -q 'takes one RESULT, not 2' said || fail "two results: $(cat said)"
"$program" report run/nodes/n1 --fleet -o no.html >said 2>&1
[ $? -eq 2 ] && grep -q 'not from a multi-node run' said || fail "one node: $(cat said)"
[ ! -e no.html ] || fail "a page that was refused is there"

# Cases of several nodes: maps of pairs and rails, and curves over the number of nodes. A pair that is made slow by hand is
# the one that the sentence names.
cat >fabric.ini <<'INI'
[run]
backend = host
host_devices = 2
[defaults]
max_time = 20ms
[suite pairs]
patterns = each_rail
directions = both
sizes = 64KiB
rounds = all
margin = 99 %
[suite collective]
operations = all_reduce
sizes = 64KiB
nodes = 2, all
INI
"$program" run fabric.ini --simulate-nodes 3 -o fabric --quiet >said 2>&1 || fail "pairs and collectives: $(cat said)"
python3 - fabric/result.json slow.json <<'PY' || fail "a slow pair"
import json, sys
result = json.load(open(sys.argv[1]))
# Three rounds were planned: those that follow repeat pairs that a busy machine made slow.
result["cases"] = [c for c in result["cases"] if c["suite"] != "pairs" or c["parameters"]["round"] <= 3]
for case in result["cases"]:
    if case["suite"] == "pairs":
        metric = case["metrics"]["pairs.bandwidth"]
        slow = case["id"].endswith("@n2+n3") and case["parameters"]["rail"] == 1
        metric["value"], metric["low"], metric["high"] = (1e8, 9e7, 1.1e8) if slow else (1e9, 9e8, 1.1e9)
        metric["series"] = ""
        case["samples"] = {}
json.dump(result, open(sys.argv[2], "w"))
PY
"$program" report slow.json --fleet -o slow.html >said 2>&1 || fail "report of pairs: $(cat said)"
for words in 'id="pair-map-1"' '6 measurements of pairs; 1 are below 90 % of the median' \
	'The worst is n2 with n3: 10 %'; do
	grep -qF "$words" slow.html || fail "the page of pairs has no '$words'"
done
grep -qF 'all 1 devices' slow.html && fail "cases of several nodes are figures of a device"

# A check of all devices of a node, or of several nodes, counts them.
python3 - <<'END'
import json
result = json.load(open("run/result.json"))
for check, names in zip(result["judgement"]["checks"], (["n1"], ["n1", "n2"])):
	check.update(verdict="FAIL", accepted=False, devices=",".join(f"{name}/host:{d}" for name in names for d in range(4)))
result["judgement"].update(verdict="FAIL", accepted=False)
json.dump(result, open("whole.json", "w"))
END
"$program" report whole.json --fleet -o whole.html >/dev/null || fail "a check of a whole node"
grep -q '4 devices of n1<' whole.html && grep -q '8 devices of n1, n2<' whole.html || fail "devices of a check of a whole node"
exit 0
