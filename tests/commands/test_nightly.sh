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
sustained_time = 0s
precisions = fp32
sizes = 64
[limit gpus]
metric = node.devices
min = 4
[limit gemm]
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
hold("summary.md has the exit code", f"The night as a whole: exit code {code}\n" in text("summary.md"))
# Jenkins serves artefacts under "style-src 'self'": an element's own style would be dropped.
for name in glob.glob("out/*.html"):
	page = open(name).read()
	hold(f"{name}: its style is in report.css", 'href="report.css"' in page and not re.search(r"<[^>]*\sstyle=", page))
# Every link of every page, and of the summary, leads to a file that was copied with it.
for name in sorted(os.listdir("out")):
	links = re.findall(r'href="([^"#:]+)"', text(name)) if name.endswith(".html") else re.findall(r"\]\(([^)]+)\)", text(name)) if name == "summary.md" else []
	for link in links:
		hold(f"out/{name}: {link} is there", os.path.isfile(os.path.join("out", link)))
hold("out has JUnit and the summary", {"junit-night.xml", "summary.md"} <= set(os.listdir("out")))
if verdict == "none":
	for name in ("junit.xml", "verdict.txt", "report.html", "acceptance.html", "gpuproof.prom", "run.ocp.jsonl", "trend.html"):
		hold(f"{name} of an earlier night is gone", not os.path.exists(os.path.join(folder, name)))
else:
	root, red = suite("junit.xml")
	test, = [t for t in root.iter("testcase") if t.get("name") == "verdict"]
	said = "REJECTED" if test.find("failure") is not None else "INCONCLUSIVE" if test.find("error") is not None else "NOT JUDGED" if test.find("skipped") is not None else "ACCEPTED"
	hold(f"junit.xml: {said}", said == verdict and (red == 0) == (verdict in ("ACCEPTED", "NOT JUDGED")))
	for name in ("report.html", "acceptance.html"):
		heading, box = page_of(name)
		hold(f"{name}: {heading}", heading == verdict)
		hold(f"{name}: the warning", not warning or "warn" in box.lower())
		hold(f"{name}: no script, no address outside", not re.search(r'(src|href)="https?://', box))
	accepted = re.search(r"^gpuproof_check_accepted\S* ([01])$", text("gpuproof.prom"), re.M).group(1)
	hold("gpuproof.prom", accepted == str(int(verdict == "ACCEPTED")))
	end = json.loads(text("run.ocp.jsonl").rstrip("\n").split("\n")[-1])["testRunArtifact"]["testRunEnd"]
	hold(f"run.ocp.jsonl: {end}", {"PASS": "ACCEPTED", "FAIL": "REJECTED"}.get(end["result"], "NOT JUDGED" if end["status"] == "SKIP" else "INCONCLUSIVE") == verdict)
	night = ET.fromstring(text("junit-night.xml"))
	failed = {t.get("name"): t.find("failure") for t in night.iter("testcase") if t.find("failure") is not None}
	hold(f"junit-night.xml never says only an exit code: {[f.get('message') for f in failed.values()]}",
		not any(re.fullmatch(r"exit code \d+", f.get("message")) for f in failed.values()))
	last = text("verdict.txt").rstrip("\n").split("\n")[-1]
	hold("junit-night.xml has the sentence, once, and what failed", verdict in ("ACCEPTED", "NOT JUDGED") or (failed["verdict"].get("message") == last
		and "measured" not in failed and failed["verdict"].text.strip() == text("verdict.txt").strip()))
	hold("summary.md links the pages", all(f"({page}.html)" in text("summary.md") for page in ("report", "acceptance", "trend")))
	hold("summary.md has the trend", "## Trend\n" in text("summary.md") and ("series:" in text("summary.md")))
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
	GPUPROOF_FAKE=$5 "$top/ci/nightly" -c "$4" -d nights -o out >log 2>&1
	got=$?
	! grep -q "picture" log || complain "a line about pictures: $(cat log)"
	[ $got -eq "$1" ] || { complain "$4 with $5: exit code $got, not $1"; cat log; }
	python3 colours.py nights $got "$2" "$3" || { complain "$4 with $5: see above"; tail -n 5 log; }
}

night 0 ACCEPTED '' night.ini 'devices=4 noise=0.1%'
[ ! -e nights/compare.html ] || complain "the first night is compared with none"
night 0 ACCEPTED warned yellow.ini 'devices=4 noise=0.1%'
grep -q '^## Compared with the night before' nights/summary.md && grep -q 'figures: .*UNCHANGED' nights/summary.md || complain "summary.md has no comparison"
[ -d out/compare-charts ] || complain "the charts of the comparison were not copied"
[[ $(ls nights/nights | tail -1) =~ ^20[0-9-]*T[0-9]{6}Z$ ]] || complain "a night's folder is not in UTC: $(ls nights/nights)"
grep -q 'transfer' nights/compare.html || complain "the second night has no comparison"
night 4 INCONCLUSIVE '' open.ini 'devices=4 noise=0.1%'
night 1 REJECTED '' night.ini 'devices=4 noise=0.1% slow=2:8%'
night 5 REJECTED '' night.ini 'devices=4 noise=0.1% wrong=1'
night 1 REJECTED '' night.ini 'devices=3 noise=0.1%'
GPUPROOF_FAKE=devices=4 "$top/ci/nightly" -c broken.ini -d nights -o out >log 2>&1
code=$?
[ $code -ne 0 ] || complain "a night that measured nothing is green: $(cat log)"
python3 colours.py nights $code none '' || complain "a night without a result: see above"
[ "$("$program" history show --db nights/history.db | grep -cE 'ACCEPTED|REJECTED|INCONCLUSIVE')" -eq 6 ] || complain "the history has not the six nights"

# Without limits a night's exit code is 0 by its results and its trend, and a wrong result is red all the same. Nothing
# says that it was accepted.
sed '/^\[limit/,$d; s/^backend = fake/&\nverdict = trend/' night.ini >trend.ini
night 0 'NOT JUDGED' '' trend.ini 'devices=4 noise=0.1%'
by_trend=$(ls -d nights/nights/* | tail -1)
night 5 REJECTED '' trend.ini 'devices=4 noise=0.1% wrong=1'
night 4 INCONCLUSIVE '' trend.ini 'devices=4 noise=0.1% fail@37 once=once'
sed -i '/^verdict/d' trend.ini
night 4 INCONCLUSIVE '' trend.ini 'devices=4 noise=0.1%'
# A result without a verdict by trend is not accepted because another one has it.
unjudged=$(ls -d nights/nights/* | tail -1)
! "$program" check "$by_trend" "$unjudged" >log || complain "two results, the first by its trend: $(cat log)"
! "$program" check "$unjudged" "$by_trend" >log || complain "two results, the second by its trend: $(cat log)"

# A night that passes its limits, and in which a fall of 10 % eight nights ago is confirmed: accepted, and red.
rm -r nights
night 0 ACCEPTED '' night.ini 'devices=4 noise=0.1%'
python3 - nights/nights/*/result.json <<'E'
import datetime, json, os, random, sys
random.seed(8)
night = json.load(open(sys.argv[1]))
tonight, day = json.dumps(night), datetime.date.fromisoformat(night["run"]["started"][:10])
os.mkdir("past")
for before in range(40, 0, -1):
	n = json.loads(tonight)
	n["run"]["id"] = f"past-{before}"
	n["run"]["started"] = (day - datetime.timedelta(days=before)).isoformat() + night["run"]["started"][10:]
	for case in n["cases"]:
		case["samples"] = {}
		for m in case["metrics"].values():
			factor = random.gauss(1, .001) * (1 if before <= 8 else 1 / .9 if m["better"] == "higher" else .9)
			m.update({k: m[k] and m[k] * factor for k in ("value", "low", "high")}, series="")
			m.pop("launches", None)
	del n["judgement"]
	json.dump(n, open(f"past/{before}.json", "w"))
E
rm nights/history.db
"$program" history add past --db nights/history.db >/dev/null || complain "no past"
night 1 ACCEPTED '' night.ini 'devices=4 noise=0.1%'
grep -q 'no confirmed change over the nights: exit code 1; .*worse' nights/summary.md && grep -q '<failure message=".*worse' nights/junit-night.xml || complain "the summary does not say why: $(cat nights/summary.md)"
grep -q 'matmul.throughput' nights/trend.txt && grep -q 'matmul.throughput' nights/trend.html || complain "the trend does not name what fell: $(cat nights/trend.txt)"
exit $failed
