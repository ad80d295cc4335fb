#!/usr/bin/env bash
# gpuproof history: from nights to a trend, and earlier nights as what results are judged by.
set -u
program=$(realpath "$1")
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

cat >own.ini <<'END'
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
"$program" run own.ini -o run -q >/dev/null || { echo "run own.ini: exit code $?"; exit 1; }
# Thirty nights of one latency and eight of 5 % more, with a kernel that changed; the 11th night was missed.
python3 - <<'END'
import copy, datetime, json, random
random.seed(1)
night = json.load(open("run/result.json"))
# The nights have values alone: samples of the run would contradict them.
night["cases"][0]["samples"] = {}
for metric in night["cases"][0]["metrics"].values():
	metric.update(low=None, high=None, series="")
	metric.pop("amount", None)
for i in range(38):
	n = copy.deepcopy(night)
	day = datetime.date(2026, 1, 1) + datetime.timedelta(days=i + (i >= 10))
	n["run"].update(id=f"night{i}", started=f"{day}T01:00:00Z")
	n["environment"]["kernel"] = "6.2" if i >= 30 else "6.1"
	for metric in n["cases"][0]["metrics"].values():
		metric["value"] = 1e-5 * random.gauss(1, 0.003) * (1.05 if i >= 30 else 1)
	json.dump(n, open(f"{i:02}.json", "w"))
END

expect 3 'No such file' history trend
expect 2 'no action given. Actions: add, trend, report, fleet, node, show, annotate, acknowledge, prune or merge' history
expect 2 "unknown option '--dbb'" history trend --dbb x
# Two nights are no quiet series.
expect 0 '' history add 00.json 01.json --db young.db
expect 0 'Cannot tell yet: finding a change needs 11 runs' history trend --db young.db
grep -q 'No series changed' out && { echo "history trend: two nights say that nothing changed"; failed=1; }
expect 0 '' history report --db young.db -o young.html
grep -q 'Cannot tell yet' young.html || { echo "history report: two nights are an answer"; failed=1; }
grep -q 'Nothing new for the worse\|No new change' young.html && { echo "history report: two nights are an answer"; failed=1; }
expect 0 '29.json is now in gpuproof-history.db' history add [0-2]?.json
expect 0 'night0' history show
expect 0 'No series changed.' history trend
expect 0 '1 missed: 2026-01-11' history trend
expect 0 '' history add 30.json 31.json
expect 0 'WARNING: 2 of the last 3 runs are outside the usual range (±' history trend
expect 0 '% above the median' history trend
expect 0 '' history report -o warns.html
grep -q 'WARNING: 2 of the last 3 runs are outside the usual range (±.* % above the median' warns.html ||
	{ echo "history report: the warning has no figure"; failed=1; }
expect 1 'WARNING' history trend --fail-on warning
# A word that no series has is no good news.
for what in "trend --case nonesuch --fail-on change" "trend --metric alloc.latancy" "show --series 999" "report --case nonesuch -o no.html"; do
	# shellcheck disable=SC2086
	expect 2 'no series matches --case, --metric or --series' history $what
done
expect 0 '' history add 3[2-7].json
expect 0 'in gpuproof-history.db already' history add 37.json
expect 1 'NEW 2026-02-01: 10.' history trend --fail-on change
expect 0 'worse' history trend
expect 0 'kernel: 6.1 -> 6.2' history trend
"$program" history trend --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
c = t["series"][0]["changes"][0]
assert t["nights"] == 38 and t["missed"] == ["2026-01-11"] and c["state"] == "NEW" and 1.03 < c["ratio"] < 1.07, t
assert c["environment"] == [{"name": "kernel", "before": "6.1", "after": "6.2"}], c' || { echo "trend --json"; failed=1; }
expect 2 '--layout takes single or dir' history report --layout both
expect 1 '<!DOCTYPE html>' history report --fail-on change -o -
[ -e ./- ] && { echo "history report -o - wrote a file called -"; failed=1; }
expect 1 'trend.html' history report --fail-on change
python3 - <<'END' || { echo "history report: see above"; failed=1; }
import html.parser, re

class Page(html.parser.HTMLParser):
	def __init__(self):
		super().__init__()
		self.texts, self.tags, self.ids = [], [], []
	def handle_starttag(self, tag, attributes):
		self.tags.append(tag)
		self.ids += [value for name, value in attributes if name == "id"]
	def handle_data(self, data):
		self.texts.append(data)

text = open("trend.html").read()
page = Page()
page.feed(text)
words = re.sub(r"\s+", " ", " ".join(page.texts))
for wanted in ("1 new change for the worse", "38 runs of ", "2026-01-01 to 2026-02-08", "since 2026-02-01", "NEW: ", "kernel : 6.1 → 6.2",
	       "Days without a run", "2026-01-11", "exceed 164 to 1", "odds over 10", "deviation from the level before the change"):
	assert wanted in words, wanted
assert page.tags.count("script") == 1 and not re.search(r'src=|href=(?!"#)', text), "the page needs another file"
links = re.findall(r'href="#([^"]+)"', text)
assert not set(links) - set(page.ids), links
assert len(page.ids) == len(set(page.ids)), "an id twice"
assert page.tags.count("svg") == 2, page.tags.count("svg")  # the change, its row
assert not re.search(r"(?i)\bnan\b|\binf\b", text.split("</style>")[1].split("<script>")[0]), "a number that is none"
END
series=$("$program" history trend | awk '/alloc.latency/ { print $1 }')
expect 2 'invalid date' history annotate soon 'a text'
expect 2 'no series 999' history annotate 2026-02-01 'a text' --series 999
expect 0 '' history annotate 2026-02-01 'new kernel, accepted' --series "$series" --acknowledge
expect 0 'ACKNOWLEDGED' history trend --fail-on change
expect 0 'new kernel, accepted' history trend
# A note about a whole night is shown wherever nights are; one about no night is refused.
expect 2 'the history has no run of 2026-01-11; the nearest: 2026-01-10 and 2026-01-12' history annotate 2026-01-11 'missed'
expect 0 '' history annotate 2026-01-12 'moved to <b>rack 7</b>'
expect 0 'note 2026-01-12: moved to <b>rack 7</b>' history trend
expect 0 'note 2026-01-12: moved to <b>rack 7</b>' history show
expect 0 'note 2026-01-12: moved to <b>rack 7</b>' history show --series "$series"
expect 0 'note 2026-02-01: new kernel, accepted (acknowledges)' history show --series "$series"
expect 0 '"text": "moved to ' history trend --json
expect 0 '' history report -o notes.html
grep -q 'Note of 2026-01-12: <bdi>moved to &lt;b&gt;rack 7&lt;/b&gt;' notes.html || { echo "history report: the note is missing"; failed=1; }
host=$(hostname)
grep -q "<h1>$host: no new change in 1 figure over 38 runs</h1>" notes.html || { echo "history report: no machine in the title"; grep '<h1>' notes.html; failed=1; }
expect 0 '2026-02-08' history show --series "$series"
# Another config starts anew.
python3 - <<'END'
import json
n = json.load(open("37.json"))
n["run"].update(id="other", started="2026-02-09T01:00:00Z")
n["config"]["settings"].append({"section": "suite alloc", "key": "batch", "value": "7", "origin": "own.ini:3"})
json.dump(n, open("other.json", "w"))
END
expect 0 '' history add other.json
expect 0 'Since a change of config (2026-02-09): 1 of 1 series without a clear difference' history trend
expect 0 '' history report -o other.html
grep -q 'new statistics since 2026-02-09' other.html || { echo "history report: the new epoch is missing"; failed=1; }
# Text from outside stays text, and a history of one night is a page.
python3 - <<'END'
import json
n = json.load(open("37.json"))
n["run"].update(id="hostile", started="2026-02-10T01:00:00Z")
n["cases"][0].update(id="alloc/<script>alert(1)</script>{{title}}\u202e@host:0")
json.dump(n, open("hostile.json", "w"))
END
expect 0 '' history add hostile.json --db hostile.db
expect 0 '' history report --db hostile.db -o hostile.html --title '<b>{{css}}'
grep -q '<script>alert\|<b>' hostile.html && { echo "history report: a text from outside is markup"; failed=1; }
grep -q '&lt;script&gt;' hostile.html || { echo "history report: the case is missing"; failed=1; }
expect 2 'prune needs --before DATE or --keep DAYS' history prune
for action in show trend report prune; do
	expect 2 "unexpected argument 'monday'" history $action monday --keep 1
done
expect 0 '; trend of the last 3 days' history trend --nights 3
expect 0 'Cannot tell yet' history trend --nights 3
cp gpuproof-history.db empty.db
expect 0 'runs removed' history prune --before 2027-01-01 --db empty.db
expect 0 'The history contains no runs' history trend --db empty.db
expect 0 '' history report --db empty.db -o empty.html
grep -q 'No runs' empty.html || { echo "history report: no nights are an answer"; failed=1; }
expect 2 'the history contains no runs' history annotate 2026-02-01 'a text' --db empty.db
expect 0 '29 runs removed' history prune --keep 10
# A run that was added when it was interrupted, then resumed: once, as a whole.
python3 - <<'END'
import copy, json
whole = json.load(open("00.json"))
whole["run"].update(id="resumed", planned=2)
part = copy.deepcopy(whole)
part["run"]["state"] = "interrupted"
json.dump(part, open("part.json", "w"))
more = copy.deepcopy(whole["cases"][0])
more["id"] = more["id"].replace("64KiB", "128KiB")
whole["cases"].append(more)
json.dump(whole, open("whole.json", "w"))
whole["cases"].pop(0)
json.dump(whole, open("other_half.json", "w"))
END
expect 0 'part.json is now in resumed.db' history add part.json --db resumed.db
expect 0 'replacing an earlier version of its run' history add whole.json --db resumed.db
expect 0 'complete' history show --db resumed.db
expect 2 'not replaced: the history contains run' history add other_half.json --db resumed.db
expect 2 'not replaced: the history contains run' history add part.json --db resumed.db
expect 0 'whole.json is in resumed.db already' history add whole.json --db resumed.db
"$program" history show --db resumed.db >out
[ "$(wc -l <out)" -eq 2 ] || { echo "a resumed run is not one night"; cat out; failed=1; }
# Judged after it was added: the history learns the verdict, once.
printf '[limit any]\nmetric = alloc.latency\nmax = 1 s\n' >any.ini
expect 0 '' history add 02.json --db judged.db
expect 0 'not judged' history show --db judged.db
"$program" check 02.json -l any.ini -o judged.json >out 2>&1
expect 0 'replacing an earlier version of its run' history add judged.json --db judged.db
"$program" history show --db judged.db >out
grep -q 'not judged' out && { echo "history: the verdict was not taken"; cat out; failed=1; }
expect 0 'judged.json is in judged.db already' history add judged.json --db judged.db
expect 0 '02.json is in judged.db already' history add 02.json --db judged.db

# A night of a wrong clock, a hundred years beyond the others, makes none of them old.
python3 - <<'END'
import json
n = json.load(open("37.json"))
n["run"].update(id="future", started="2999-01-01T01:00:00Z")
json.dump(n, open("future.json", "w"))
# Bytes that a terminal would obey.
n["run"].update(id="escape", started="2026-02-11T01:00:00Z", label="a\x1b[2J\u009b31mb\nc\u202e")
n["environment"]["hostname"] = "\x1b]0;title\x07"
n["cases"][0]["id"] = "alloc\x1b[31m@host:0"
json.dump(n, open("escape.json", "w"))
n["run"].update(id="unit", started="2026-02-12T01:00:00Z")
for metric in n["cases"][0]["metrics"].values():
	metric["unit"] = "B"
json.dump(n, open("unit.json", "w"))
END
# Two jobs with a config each, in turns: a page with both, whose parts can be told apart.
python3 - <<'END'
import json
for i in range(22):
	n = json.load(open("00.json"))
	n["run"].update(id=f"turn{i}", started=f"2026-03-{i + 1:02}T01:00:00Z")
	n["config"]["settings"].append({"section": "run", "key": "seed", "value": str(i % 2), "origin": ""})
	json.dump(n, open(f"turn{i:02}.json", "w"))
END
expect 0 '' history add turn??.json --db turns.db
expect 0 'series: 0 new changes' history trend --db turns.db
expect 0 'No series changed.' history trend --db turns.db
expect 0 '' history report --db turns.db -o turns.html
[ -z "$(grep -o ' id="[^"]*"' turns.html | sort | uniq -d)" ] || { echo "history report: an id stands twice"; failed=1; }
# A case that gives no figure any more is no quiet series.
python3 - <<'END'
import json
for i in range(3):
	n = json.load(open("00.json"))
	n["run"].update(id=f"gap{i}", started=f"2026-03-{i + 23:02}T01:00:00Z")
	n["config"]["settings"].append({"section": "run", "key": "seed", "value": "0", "origin": ""})
	n["cases"][0].update(status="SKIPPED", reason="libnccl.so.2 is gone", metrics={}, samples={})
	json.dump(n, open(f"gap{i}.json", "w"))
END
expect 0 '' history add gap0.json --db turns.db
expect 0 'No series changed.' history trend --db turns.db
expect 0 '' history add gap?.json --db turns.db
expect 0 'no value in the last 3 runs: the case was skipped or failed' history trend --db turns.db
cp gpuproof-history.db damaged.db
python3 -c 'import sqlite3
with sqlite3.connect("damaged.db") as db: db.execute("update night set day = 9223372036854775807 where run = ?", ("other",))'
for action in trend show report "trend --nights 3" "prune --keep 3"; do
	# shellcheck disable=SC2086
	expect 3 'damaged.db: the history is damaged: the day 9223372036854775807' history $action --db damaged.db
done
cp gpuproof-history.db future.db
expect 0 'future.db' history add future.json --db future.db
expect 0 '0 runs removed' history prune --keep 36500 --db future.db
expect 0 '' history add escape.json --db escape.db
for action in show "show --case alloc" "trend --all"; do
	# shellcheck disable=SC2086
	"$program" history $action --db escape.db >out 2>err || { echo "history $action: $?"; failed=1; }
	LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' out err &&
		{ echo "history $action: control characters from a file reach the terminal"; failed=1; }
done
"$program" history show --db escape.db >out
[ "$(wc -l <out)" -eq 2 ] || { echo "history show: a newline in a label breaks its row"; cat out; failed=1; }
expect 2 "but unit 's' in this history" history add unit.json --db escape.db

printf '[limit base]\nmetric = alloc.latency\nmax = 1.02 * baseline\nlaunch_spread = 0.1 %%\n' >base.ini
expect 0 'ACCEPTED' check 05.json 06.json 07.json 08.json -l base.ini --baseline 00.json --baseline 01.json --baseline 02.json --baseline 03.json --baseline 04.json
expect 1 '1 failed' check 31.json 32.json 33.json 34.json -l base.ini --baseline 00.json --baseline 01.json --baseline 02.json --baseline 03.json --baseline 04.json
expect 1 'REGRESSED' compare --fail-on regression 00.json 01.json 02.json 03.json 04.json -- 31.json 32.json 33.json 34.json 35.json
expect 1 'REGRESSED' compare --fail-on regression --db gpuproof-history.db 00.json 01.json 02.json 03.json 04.json -- 31.json 32.json 33.json 34.json 35.json
expect 0 '' history add 00.json --db other.db
[ -s other.db ] || { echo "--db was not used"; failed=1; }
exit $failed
