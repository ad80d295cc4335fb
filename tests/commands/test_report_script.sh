#!/usr/bin/env bash
# The script of pages of every kind: below 8 KB, admitted by the page's policy through its hash alone, absent with --no-script; rows and
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
"$program" report "$data/burn_h200_planted.json" -o burn.html >/dev/null || exit 1
"$program" check "$data/quick_h200_x2.json" --report acceptance.html >/dev/null
"$program" check "$data/quick_h200_x2.json" --no-script --report acceptance.plain.html >/dev/null
"$program" history add "$data"/nights/h100_[123].json --db nights.db >/dev/null || exit 1
for page in trend:report cohort:fleet; do
	"$program" history "${page#*:}" --db nights.db -o "${page%:*}.html" >/dev/null || exit 1
	"$program" history "${page#*:}" --db nights.db --no-script -o "${page%:*}.plain.html" >/dev/null || exit 1
done
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
INI
"$program" run nodes.ini --simulate-nodes 2 -o nodes --quiet >/dev/null 2>&1 || exit 1
"$program" report nodes --fleet -o nodes.html >/dev/null || exit 1
"$program" report nodes --fleet --no-script -o nodes.plain.html >/dev/null || exit 1
python3 - <<'PY'
import base64, hashlib, html, re

kinds = "acceptance", "trend", "cohort", "nodes"
for name in ["run.html", "compare.html"] + [kind + ".html" for kind in kinds]:
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

# A crosshair reads the rows of the chart's table: each has a place in the drawing, but those of a roofline.
charts = 0
for name in "run.html", "burn.html", "trend.html":
    page = open(name, encoding="utf-8").read()
    for figure in re.findall(r'<figure class="chart".*?</figure>|<article class="trend.*?</article>', page, re.S):
        places = re.search(r'<svg data-x="([^"]*)"', figure)
        rows = re.search(r"<tbody>(.*?)</tbody>", figure[figure.rindex("<details"):], re.S)[1].count("<tr") if "<details" in figure else 0
        if places:
            charts += 1
            assert len(places[1].split()) == rows, (name, places[1], rows)
            at = [float(x) for x in places[1].split()]
            assert at == sorted(at), at
        else:
            assert "stroke-linejoin" not in figure or 'id="roofline"' in figure, figure[:200]
assert charts > 3, charts

run = open("run.html", encoding="utf-8").read()
plain = open("plain.html", encoding="utf-8").read()
assert "<script>" not in plain and "script-src" not in plain
assert 'id="transfer/h2d/pinned/64MiB@cuda:0"' in run, "a row has no address of its own"
assert run.count('aria-label="Link to the chart') == run.count('<figure class="chart"') > 10
assert 'class="only-noisy"' in plain, "filters need a script"
body = lambda page: re.sub(r"<script>.*?</script>\n", "", page[page.index("<body>"):], flags=re.S)
assert body(run) == body(plain), "the pages differ in more than the script"
for kind in kinds:
    bare = open(kind + ".plain.html", encoding="utf-8").read()
    assert "<script>" not in bare and "script-src" not in bare, kind
    assert body(open(kind + ".html", encoding="utf-8").read()) == body(bare), kind
PY
