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
        assert len(list(root)) > 3, f"{name} is empty"
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
code=0
"$program" report "$data/quick_h200.json" --layout dir -o - >/dev/null 2>err || code=$?
[ $code = 2 ] && [ ! -e ./--charts ] && [ "$(ls)" = "$(printf 'alone\nerr\nout')" ] || { echo "--layout dir on standard output: $code $(ls)"; exit 1; }
