#!/usr/bin/env bash
# ci/nightly: of nights of each colour the pages, JUnit, the summary and the exports say what the exit code says.
set -u
program=$(realpath "$1")
top=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export GPUPROOF=$program
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends
export GPUPROOF_BACKENDS
failed=0
complain() { echo "$*"; failed=1; }

cat >night.ini <<'E'
[run]
backend = fake
[defaults]
min_samples = 6
max_samples = 12
[suite transfer]
directions = h2d
memories = pinned
sizes = 1MiB
[suite matmul]
precisions = fp32
sizes = 64
[limit gpus]
metric = node.devices
min = 4
[limit products]
metric = matmul.throughput
outlier_margin = 2 %
E
{ cat night.ini; printf '[limit link]\nmetric = transfer.bandwidth\nmin = 900 TB/s\nseverity = warn\n'; } >yellow.ini
{ cat night.ini; printf '[limit triad]\nmetric = stream.bandwidth\nmin = 1 GB/s\n'; } >open.ini
printf '[run]\nbackend = none\n' >broken.ini

cat >colours.py <<'E'
"""colours.py FOLDER CODE VERDICT WARNING: what the artefacts of a night in FOLDER say, where its exit code was CODE."""
import glob, json, os, re, sys
import xml.etree.ElementTree as ET
folder, code, verdict, warning = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4] == "warned"
def text(name):
	with open(os.path.join(folder, name), encoding="utf-8") as f:
		return f.read()
def suite(name):
	root = ET.fromstring(text(name))
	return root, int(root.get("failures", 0)) + int(root.get("errors", 0))
complaints = []
def hold(what, truth):
	if not truth:
		complaints.append(what)
def page_of(name):
	box = re.search(r'<section class="verdict.*?</section>', text(name), re.S).group(0)
	return re.search(r"<h2[^>]*>.*?</span> *(.*?)</h2>", box, re.S).group(1).strip(), box
_, red = suite("junit-night.xml")
hold("junit-night.xml is red exactly when the exit code is not 0", (red > 0) == (code != 0))
hold("summary.md ends with the exit code", f"The night as a whole: exit code {code}\n" in text("summary.md"))
if verdict == "none":
	for name in ("junit.xml", "verdict.txt", "report.html", "acceptance.html", "gpuproof.prom", "run.ocp.jsonl", "trend.html"):
		hold(f"{name} of an earlier night is gone", not os.path.exists(os.path.join(folder, name)))
else:
	root, red = suite("junit.xml")
	test, = [t for t in root.iter("testcase") if t.get("name") == "verdict"]
	said = "REJECTED" if test.find("failure") is not None else "INCONCLUSIVE" if test.find("error") is not None else "ACCEPTED"
	hold(f"junit.xml: {said}", said == verdict and (red == 0) == (verdict == "ACCEPTED"))
	for name in ("report.html", "acceptance.html"):
		heading, box = page_of(name)
		hold(f"{name}: {heading}", heading == verdict)
		hold(f"{name}: the warning", not warning or "warn" in box.lower())
		hold(f"{name}: no script, no address outside", not re.search(r'(src|href)="https?://', box))
	accepted = re.search(r"^gpuproof_check_accepted\S* ([01])$", text("gpuproof.prom"), re.M).group(1)
	hold("gpuproof.prom", accepted == str(int(verdict == "ACCEPTED")))
	end = json.loads(text("run.ocp.jsonl").rstrip("\n").split("\n")[-1])["testRunArtifact"]["testRunEnd"]
	hold(f"run.ocp.jsonl: {end}", {"PASS": "ACCEPTED", "FAIL": "REJECTED"}.get(end["result"], "INCONCLUSIVE") == verdict)
	sentence = re.search(r"\*\*(.*?)\*\*", text("summary.md")).group(1)
	last = text("verdict.txt").rstrip("\n").split("\n")[-1]
	hold(f"summary.md {sentence!r}, verdict.txt {last!r}", re.sub(r"\\", "", sentence) == last)
	with open(max(glob.glob(os.path.join(folder, "nights/*/result.json")))) as f:
		kept = json.load(f)["judgement"]["sentence"]
	hold(f"result {kept!r}", kept == last)
	hold("verdict.txt counts the warning", not warning or "warn" in last.lower())
for c in complaints:
	print(f"exit code {code}, {verdict}: not so: {c}")
sys.exit(bool(complaints))
E

night() { # CODE VERDICT warned|"" CONFIG FAKE
	local got
	GPUPROOF_FAKE=$5 "$top/ci/nightly" -c "$4" -d nights >log 2>&1
	got=$?
	[ $got -eq "$1" ] || { complain "$4 with $5: exit code $got, not $1"; cat log; }
	python3 colours.py nights $got "$2" "$3" || { complain "$4 with $5: see above"; tail -n 5 log; }
}

night 0 ACCEPTED '' night.ini 'devices=4 noise=0.1%'
[ ! -e nights/compare.html ] || complain "the first night is compared with none"
night 0 ACCEPTED warned yellow.ini 'devices=4 noise=0.1%'
grep -q 'transfer' nights/compare.html || complain "the second night has no comparison"
night 4 INCONCLUSIVE '' open.ini 'devices=4 noise=0.1%'
night 1 REJECTED '' night.ini 'devices=4 noise=0.1% slow=2:8%'
night 5 REJECTED '' night.ini 'devices=4 noise=0.1% wrong=1'
night 1 REJECTED '' night.ini 'devices=3 noise=0.1%'
GPUPROOF_FAKE=devices=4 "$top/ci/nightly" -c broken.ini -d nights >log 2>&1
code=$?
[ $code -ne 0 ] || complain "a night that measured nothing is green: $(cat log)"
python3 colours.py nights $code none '' || complain "a night without a result: see above"
[ "$("$program" history show --db nights/history.db | grep -cE 'ACCEPTED|REJECTED|INCONCLUSIVE')" -eq 6 ] || complain "the history has not the six nights"

# A night that passes its limits, and in which a fall of 10 % eight nights ago is confirmed: accepted, and red.
rm -r nights
night 0 ACCEPTED '' night.ini 'devices=4 noise=0.1%'
"$program" history export --db nights/history.db -o one.jsonl
python3 - <<'E' >past.jsonl
import datetime, json, random
random.seed(8)
header, tonight = open("one.jsonl").read().splitlines()[:2]
print(header)
night = json.loads(tonight)
day = datetime.date.fromisoformat(night["started"][:10])
for before in range(40, 0, -1):
	n = json.loads(tonight)
	n["run"] = f"past-{before}"
	n["started"] = (day - datetime.timedelta(days=before)).isoformat() + night["started"][10:]
	for f in n["figures"]:
		factor = random.gauss(1, .001) * (1 if before <= 8 else 1 / .9 if f["better"] == "higher" else .9)
		f.update({k: f[k] and f[k] * factor for k in ("value", "low", "high")})
	print(json.dumps(n))
E
rm nights/history.db
"$program" history import past.jsonl --db nights/history.db >/dev/null || complain "no past"
night 1 ACCEPTED '' night.ini 'devices=4 noise=0.1%'
grep -q 'no confirmed change over the nights: exit code 1' nights/summary.md || complain "the summary does not say why: $(cat nights/summary.md)"
grep -q 'matmul.throughput' nights/trend.txt && grep -q 'matmul.throughput' nights/trend.html || complain "the trend does not name what fell: $(cat nights/trend.txt)"
exit $failed
