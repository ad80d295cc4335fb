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
# The page's picture for links: a PNG of the size that its head states, under a whole address with --url; none without cairo,
# which is said.
"$program" report "$data/nights/h100_1.json" "$data/nights/h100_2.json" --layout dir --url https://example.org/gpus/ \
	-o out/compare.html >/dev/null 2>said
"$program" report "$data/quick_h200.json" --title "$(printf 'a\xff\002 title of many words: %0200d' 7)" --layout dir -o out/long.html >/dev/null 2>&1
if grep -q 'no picture of the page' said; then
	[ -z "$(ls out/*-card.png 2>/dev/null)" ] && ! grep -q 'og:image' out/*.html || { echo "a picture without cairo"; exit 1; }
else
	python3 - <<'END'
import re, struct, zlib
for name, address in ("page", ""), ("compare", "https://example.org/gpus/"), ("long", ""):
    data = open(f"out/{name}-card.png", "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR", name
    width, height, depth, colours = struct.unpack(">IIBB", data[16:26])
    assert (width, height, depth, colours) == (1200, 630, 8, 2), name
    place, body = 8, b""
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place:place + 8])
        assert zlib.crc32(data[place + 4:place + 8 + size]) == struct.unpack(">I", data[place + 8 + size:place + 12 + size])[0]
        body += data[place + 8:place + 8 + size] if kind == b"IDAT" else b""
        place += 12 + size
    pixels = zlib.decompress(body)
    assert len(pixels) == height * (1 + 3 * width) and len(set(pixels)) > 20, f"{name}: nothing is drawn"
    head = open(f"out/{name}.html").read().split("</head>")[0]
    meta = dict(re.findall(r'<meta (?:property|name)="([^"]*)" content="([^"]*)">', head))
    assert meta["og:image"] == f"{address}{name}-card.png", meta
    assert (meta["og:image:width"], meta["og:image:height"]) == ("1200", "630"), meta
    assert meta["og:title"] and meta["og:description"] == meta["description"] != "", meta
    assert meta.get("og:url", "") == address, meta
END
fi
! grep -q 'og:image' alone/page.html || { echo "a picture that is not there is named"; exit 1; }
code=0
"$program" report "$data/quick_h200.json" --url example.org -o out/x.html 2>said || code=$?
[ $code = 2 ] && grep -q 'begins with https:// or http://' said || { echo "--url example.org: $code $(cat said)"; exit 1; }
code=0
"$program" report "$data/quick_h200.json" --layout dir -o - >/dev/null 2>err || code=$?
[ $code = 2 ] && [ ! -e ./--charts ] && [ "$(ls)" = "$(printf 'alone\nerr\nout\nsaid')" ] || { echo "--layout dir on standard output: $code $(ls)"; exit 1; }
