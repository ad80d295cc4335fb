#!/usr/bin/env bash
# The gallery of a folder: each result is a row that leads to its page, a file that is none is named, text stays text.
set -u
program=$(realpath "$1")
data=$(realpath "$(dirname "$0")/../data")
command -v python3 >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
fail() {
	echo "FAIL: $*"
	exit 1
}

mkdir -p 'g/a b' g/c
cp "$data/quick_h200.json" 'g/a b/result.json'
"$program" report 'g/a b' -o 'g/a b/report.html' >/dev/null || fail "a page"
cp "$data/acceptance_h100.json" g/c/
sed -i '0,/"started": "2026/s//"started": "2025/' g/c/acceptance_h100.json
cp "$data/quick_h200_x2.json" 'g/two<script>.json'
echo '{"format": "something else"}' >g/other.json

[ "$("$program" report --index g)" = g/index.html ] || fail "the page is not named"
python3 - <<'PY' || exit 1
import html, os, re, urllib.parse
page = open("g/index.html", encoding="utf-8").read()
rows = re.findall(r'<tr class="(g\d+) (y\d+) [a-z]*">(.*?)</tr>', page, re.S)
assert len(rows) == 3, len(rows)
links = [html.unescape(re.search(r'href="([^"]*)"', row[2])[1]) for row in rows]
for link in links:
    assert os.path.exists("g/" + urllib.parse.unquote(link)), link
assert "./a%20b/report.html" in links, links
assert "./two%3Cscript%3E.json" in links, links
assert [row[0] for row in rows] == ["g1", "g2", "g2"], "by GPU"
assert "H100" in rows[0][2] and "H200" in rows[1][2]
assert len(set(row[1] for row in rows)) == 2, "two years"
assert "STREAM triad" in rows[1][2] and "TB/s (9" in rows[1][2], rows[1][2]
assert page.count("<script>") == 1 and "two<script>" not in page
assert "Files that are no results: 1" in page and "other.json" in page
for name in "g1", "g2", "y1", "y2":
    assert f'class="{name}"' in page and f".{name}:checked" in page, name
assert 'rel="stylesheet" href="report.css"' in page and os.path.exists("g/report.css"), "unstyled where inline style is forbidden"
assert "3 results of 2 device models, 2025-" in page and ": NVIDIA H100" in page and "(1), NVIDIA H200 (2)" in page, page[page.index("<h1"):][:400]
PY
"$program" report --index g --layout single >/dev/null && ! grep -q report.css g/index.html || fail "--layout single"
"$program" report --index g --no-script >/dev/null && ! grep -q '<script>' g/index.html || fail "--no-script"
"$program" report --index g/c/acceptance_h100.json >said 2>&1 && fail "a file is no folder"
mkdir empty
"$program" report --index empty >said 2>&1
[ $? = 2 ] && grep -q 'no result in this folder' said || fail "an empty folder: $(cat said)"
"$program" report --index g g/c >said 2>&1
[ $? = 2 ] || fail "--index with a RESULT"
exit 0
