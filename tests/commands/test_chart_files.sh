#!/usr/bin/env bash
# report --layout dir: each chart as SVG and CSV next to the page, complete by themselves, linked; no such files otherwise.
set -euo pipefail
program=$1 data=$(cd "$(dirname "$0")/../data" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir out alone
"$program" report "$data/quick_h200.json" -o alone/page.html >/dev/null
[ "$(ls alone)" = page.html ] || { echo "files without --layout dir: $(ls alone)"; exit 1; }
grep -q 'As a file' alone/page.html && { echo "links to files that are not there"; exit 1; }
"$program" report "$data/quick_h200.json" --layout dir -o out/page.html >/dev/null
python3 - "$data/quick_h200.json" <<'END'
import csv, json, os, re, sys
import xml.etree.ElementTree as ET

result = json.load(open(sys.argv[1]))
page = open("out/page.html").read()
linked = set(re.findall(r'href="(page-charts/[^"]+)"', page))
there = {"page-charts/" + name for name in os.listdir("out/page-charts")}
assert linked and linked == there, f"linked or there alone: {linked ^ there}"
values = {m["value"] for c in result["cases"] for m in c["metrics"].values() if m["value"] is not None}
seen = 0
for name in sorted(there):
    if name.endswith(".svg"):
        root = ET.parse("out/" + name).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg", name
        words = "".join(root.itertext())
        assert result["run"]["id"] in words and "gpuproof run" in words, f"{name}: its source is not in it"
        drawing, = root.findall("{http://www.w3.org/2000/svg}svg")
        assert len(list(drawing)) > 3, f"{name} is empty"
        # The title, what is drawn and the source are text of the picture, within it, and above and below the drawing.
        texts = root.findall("{http://www.w3.org/2000/svg}text")
        width, height, top = (float(root.get("width")), float(root.get("height")), float(drawing.get("y")))
        above = " ".join(t.text for t in texts if float(t.get("y")) <= top + 4)
        below = " ".join(t.text for t in texts if float(t.get("y")) >= top + float(drawing.get("height")))
        assert above.startswith(drawing.find("{http://www.w3.org/2000/svg}title").text), (name, above)
        assert "NVIDIA H200, 2026-11-20" in below.replace("20 Nov 2026", "2026-11-20") and result["run"]["id"] in below, (name, below)
        assert len(texts) == len([t for t in texts if t.text in above or t.text in below]), name
        assert all(len(t.text) * 6.7 <= width and 10 < float(t.get("y")) < height for t in texts), (name, width, height)
        continue
    rows = list(csv.reader(open("out/" + name, newline="")))
    assert len(rows) > 1 and rows[0][:2] == ["series", "point"] and rows[0][4:] == ["low", "high", "n"], name
    assert all(len(row) == 7 for row in rows), name
    assert all(len(cell) <= len(repr(float(cell))) + 1 for row in rows[1:] for cell in row[2:6] if cell), f"{name}: digits that say nothing"
    for row in rows[1:]:
        numbers = [float(cell) for cell in row[2:6] if cell]
        seen += any(n in values for n in numbers)
assert seen > 20, f"only {seen} points are values of the result"
END
# One chart for a blog: the same SVG, with the author and the licence of [report], and nothing of it is markup.
python3 - "$data/quick_h200.json" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
for key, value in (("author", "A <b>& \"B\""), ("licence", "CC-BY-4.0"), ("note", "Our <i>words</i>")):
    result["config"]["settings"].append({"section": "report", "key": key, "value": value, "origin": "own.ini:1"})
json.dump(result, open("own.json", "w"))
END
mkdir one
[ "$("$program" report own.json --chart roofline)" = roofline.svg ] || { echo "--chart: no roofline.svg"; exit 1; }
mv roofline.svg one
"$program" report own.json --chart chart-1-1 -o - >one/stdout.svg
"$program" report own.json -o one/page.html >/dev/null
python3 - <<'END'
import xml.etree.ElementTree as ET
for name in ("roofline", "stdout"):
    root = ET.parse(f"one/{name}.svg").getroot()
    words = " ".join(t.text for t in root.findall("{http://www.w3.org/2000/svg}text"))
    assert 'By A <b>& "B". Licence: CC-BY-4.0.' in words, words
page = open("one/page.html").read()
for words in ("By <bdi>A &lt;b&gt;&amp; &quot;B&quot;</bdi>", "licence <bdi>CC-BY-4.0</bdi>", "Our &lt;i&gt;words&lt;/i&gt;"):
    assert words in page, words
END
wrong() { # WORDS ARGUMENTS...
	code=0
	"$program" report "${@:2}" >/dev/null 2>err || code=$?
	[ $code = 2 ] && grep -qF -- "$1" err || { echo "report ${*:2}: $code: $(cat err)"; exit 1; }
}
wrong '--chart nonesuch: the page has no such chart; its charts are roofline, chart-1-1, ' own.json --chart nonesuch
wrong '--chart writes one chart' own.json --chart roofline --layout dir
wrong '--chart writes one chart' own.json --chart roofline --fleet
[ ! -e nonesuch.svg ] || { echo "a chart that is not there has a file"; exit 1; }
rm -r one own.json
code=0
"$program" report "$data/quick_h200.json" --layout dir -o - >/dev/null 2>err || code=$?
[ $code = 2 ] && [ ! -e ./--charts ] && [ "$(ls)" = "$(printf 'alone\nerr\nout')" ] || { echo "--layout dir on standard output: $code $(ls)"; exit 1; }
