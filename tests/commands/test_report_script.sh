#!/usr/bin/env bash
# The script of pages: below 8 KB, admitted by the page's policy through its hash alone, absent with --no-script; rows and
# charts have addresses of their own, which do not need it.
set -u
program=$(realpath "$1")
data=$(realpath "$(dirname "$0")/../data")
command -v python3 >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

"$program" report "$data/quick_h200_x2.json" -o run.html >/dev/null || exit 1
"$program" report "$data/quick_h200.json" "$data/quick_h200_x2.json" -o compare.html >/dev/null || exit 1
"$program" report "$data/quick_h200_x2.json" --no-script -o plain.html >/dev/null || exit 1
python3 - <<'PY'
import base64, hashlib, html, re

for name in "run.html", "compare.html":
    page = open(name, encoding="utf-8", newline="").read()
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 1, (name, len(scripts))
    assert len(scripts[0].encode()) < 8192, len(scripts[0].encode())
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy, (digest, policy)
    ids = [html.unescape(i) for i in re.findall(r' id="([^"]*)"', page)]
    assert len(ids) == len(set(ids)), "an id is there twice"
    for link in re.findall(r'<a class="here" href="#([^"]*)"', page):
        assert html.unescape(link) in ids, f"{name}: #{link} leads nowhere"

run = open("run.html", encoding="utf-8").read()
plain = open("plain.html", encoding="utf-8").read()
assert "<script>" not in plain and "script-src" not in plain
assert 'id="transfer/h2d/pinned/64MiB@cuda:0"' in run, "a row has no address of its own"
assert run.count('aria-label="Link to the chart') == run.count('<figure class="chart"') > 10
assert 'class="only-noisy"' in plain, "filters need a script"
body = lambda page: re.sub(r"<script>.*?</script>\n", "", page[page.index("<body>"):], flags=re.S)
assert body(run) == body(plain), "the pages differ in more than the script"
PY
