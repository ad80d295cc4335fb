#!/usr/bin/env bash
# check A B ... --report: the page of a delivery has each machine with the verdict that check gives it alone, rejected ones
# first, every serial number once in the sign-off, and stays small for a cluster.
set -euo pipefail
program=$(realpath "$1")
data=$(cd "$(dirname "$0")/../data" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset GPUPROOF_POPULATION

fail() {
	echo "$1"
	exit 1
}
if ! command -v python3 >/dev/null; then
	echo "skipped: no python3 to make the results of several machines with"
	exit 77
fi
cat >nodes.py <<'PYTHON'
# Results of `count` machines: n001 and every further `every`th have a slow cuda:1, n002 was not finished.
import json, sys
source, count, every = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
document = json.load(open(source))
document.pop("judgement", None)
text = json.dumps(document)
for i in range(count):
    own = json.loads(text.replace("uuid-", "uuid-n%d-" % i).replace("serial-", "serial-n%d-" % i)
                     .replace(document["environment"]["hostname"], "node<%03d" % i))
    own["run"]["id"] = "run-%012x" % i
    for case in own["cases"]:
        if i % every == 1 and case["suite"] == "stream" and case["devices"] == ["cuda:1"]:
            for metric in case["metrics"].values():
                for key in ("value", "low", "high", "amount"):
                    if metric["unit"] == "B/s" and metric.get(key) is not None:
                        metric[key] *= 0.75
    if i == 2:
        own["cases"] = [case for case in own["cases"] if case["suite"] != "stream"]
    json.dump(own, open("n%03d.json" % i, "w"))
PYTHON

python3 nodes.py "$data"/acceptance_h200_x2.json 4 4
code=0
"$program" check n00?.json --report delivery.html --no-script >out 2>&1 || code=$?
[ "$code" -eq 1 ] || [ "$code" -eq 5 ] || fail "exit code $code: $(cat out)"
for i in 0 1 2 3; do
	"$program" check n00$i.json --json >n00$i.verdict || true
done
python3 - <<'PYTHON'
import json, re
page = open("delivery.html").read()
assert "node<" not in page and page.count("node&lt;001") >= 2, "names are not escaped"
parts = {m[1]: m[2] for m in re.finditer(r'<h2 id="(rejected|inconclusive|accepted)">(.*?)</section>', page, re.S)}
assert list(parts) == ["rejected", "inconclusive", "accepted"], list(parts)
seen = []
for i in range(4):
    verdict = json.load(open("n%03d.verdict" % i))
    word = verdict["sentence"].split(":")[0].split()[0].lower()
    alone = [name for name in parts if word.startswith(name)]
    here = [name for name in parts if "node&lt;%03d" % i in parts[name]]
    assert here == alone, (i, here, verdict["sentence"])
    # The serial numbers of the machine are in the sign-off of its verdict, once.
    listed = parts[here[0]].split('<table class="serials">')[1]
    for serial in re.findall(r"serial-n%d-[0-9a-f]+" % i, json.dumps(verdict)):
        assert listed.count(serial) == 1, serial
    seen += here
assert seen == ["accepted", "rejected", "inconclusive", "accepted"], seen
first = page.split('<h2 id="rejected">')[0]
# One sentence with the serial number, the figure, the limit and what to do, before everything else.
assert re.search(r"GPU cuda:1, serial serial-n1-[0-9a-f]+, is up to 25 % slower than cuda:0 in 2 of 3 memory operations, triad and read .*limit 2 %.*return this GPU", first), first[-3000:]
assert first.count('class="signature"') == 1 and "1 node with 2 devices rejected; 1 node with 2 devices inconclusive; 2 nodes with 4 devices accepted." in first
assert re.search(r"<strong>✗&nbsp;<code>serial-n1-", parts["rejected"]) and "✗&nbsp;" not in parts["accepted"]
# A device that is not decided is not at fault.
assert "at fault" not in parts["inconclusive"] and "✗&nbsp;" not in parts["inconclusive"] and "not decided" in parts["inconclusive"]
# Aspects of each device: memory of n001 failed on cuda:1 alone; n002 has the reason and the remedy.
# A row for each serial number, to be signed.
for name, count, words in ("rejected", 2, {"at fault", "node rejected"}), ("inconclusive", 2, {"node not decided"}), ("accepted", 4, {"accepted"}):
    rows = re.findall(r"<tr><td>.*?</td><td>(cuda:[01])</td><td>.*?</td><td>(.*?)</td><td></td></tr>", parts[name])
    assert len(rows) == count and {word for _, word in rows} == words, (name, rows)
cell = r'<td class="%s" data-aspect="memory">'
assert len(re.findall(cell % "failed", parts["rejected"])) == 1 and len(re.findall(cell % "ok", parts["rejected"])) == 1
assert len(re.findall(cell % "ok", parts["inconclusive"])) == 2
assert "cases were not run" in parts["inconclusive"] and "gpuproof run --resume" in parts["inconclusive"]
PYTHON

# An error of a case on one machine does not hide the same on another: each is judged as alone.
python3 - <<'PYTHON'
import json
for i in 0, 3:
    node = json.load(open("n%03d.json" % i))
    case = next(c for c in node["cases"] if c["suite"] == "transfer")
    case.update(status="ERROR", reason="the process was killed", metrics={}, samples={})
    json.dump(node, open("e%03d.json" % i, "w"))
PYTHON
for nodes in "e000.json e003.json" "e003.json e000.json"; do
	code=0
	# shellcheck disable=SC2086 # two results
	"$program" check $nodes --report errors.html --json >errors.json 2>err || code=$?
	[ "$code" -eq 4 ] || fail "two machines with an error: exit code $code: $(cat err)"
	python3 - <<-'PYTHON'
		import json
		verdict, page = json.load(open("errors.json")), open("errors.html").read()
		for machine in "e000.json", "e003.json":
		    causes = {c["cause"] for c in verdict["checks"] if c["machine"] == machine and c["verdict"] == "ERROR"}
		    assert causes == {"case-error"}, (machine, causes)
		assert '<h2 id="accepted">' not in page, "a machine with an error is accepted"
	PYTHON
done

# A GPU that skips what the other one does is not slow: it was not measured.
python3 - <<'PYTHON'
import json
node = json.load(open("n000.json"))
for case in node["cases"]:
    if case["suite"] == "stream" and case["devices"] == ["cuda:1"]:
        case.update(status="SKIPPED", reason="not enough memory", metrics={}, samples={})
json.dump(node, open("skipped.json", "w"))
PYTHON
code=0
"$program" check skipped.json --json >skipped.verdict || code=$?
[ "$code" -eq 1 ] || fail "a GPU that skips: exit code $code"
python3 -c 'import json; v = json.load(open("skipped.verdict")); assert {c["cause"] for c in v["checks"] if c["verdict"] == "FAIL"} == {"not-measured"}, v' ||
	fail "the cause of a skipped case"

# All accepted: the page says so, and has no list of rejected ones.
"$program" check n000.json n003.json --report good.html >/dev/null
grep -q '<h2 id="accepted">' good.html && ! grep -qE '<h2 id="(rejected|inconclusive)"' good.html || fail "the page of a good delivery"
# A page never replaces a result that it is made of.
code=0
cp n000.json kept.json
"$program" check n000.json n003.json --report n003.json >out 2>&1 || code=$?
[ "$code" -eq 2 ] && cmp -s n000.json kept.json || fail "--report over a result: $code, $(cat out)"
python3 -m json.tool n003.json >/dev/null || fail "the result was replaced"

# Many rejected machines: rows for some, serial numbers of all.
python3 nodes.py "$data"/acceptance_h200_x2.json 120 2
"$program" check n???.json --report many.html >out 2>&1 || true
grep -q '12 more nodes appear only in the list of serial numbers' many.html || fail "rows of all rejected machines"
[ "$(grep -oE '<code>serial-n[0-9]+-[0-9a-f]+</code>' many.html | sed -n 's/<[^>]*>//gp' | sort -u | wc -l)" -eq 240 ] || fail "a serial number is missing"
[ "$(wc -c <many.html)" -lt 1000000 ] || fail "the page is large: $(wc -c <many.html)"
