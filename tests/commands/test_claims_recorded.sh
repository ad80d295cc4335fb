#!/bin/bash
# A recorded run of the shipped claims on two H200s: its page decides them, and docs/claims.md says the same of each.
set -u
gpuproof=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$gpuproof" report "$top/tests/data/claims_h200_x2.json" --claims -o "$dir/page.html" > "$dir/said" 2>&1 || {
	cat "$dir/said"
	exit 1
}
python3 - "$dir/page.html" "$top/docs/claims.md" <<'PY'
import collections, html, re, sys
page, doc = (open(f).read() for f in sys.argv[1:])
verdicts = {}
words = {"hold": "holds", "do not hold": "does not hold", "hold in one case but not in another": "depends"}
for heading, table in re.findall(r'<h3[^>]*>(.*?)</h3>.*?<table class="claims(.*?)</table>', page, re.S):
    said = re.sub(r"<span[^>]*>.*?</span> ", "", heading)
    said = "not tested" if said.startswith("Not tested") else re.sub(r"^\d+ ", "", said)
    verdicts.update({row: words.get(said, said) for row in re.findall(r'<tr id="([A-E]\d+)">', table)})
assert len(verdicts) == 76, len(verdicts)
count = collections.Counter(v for v in verdicts.values() if v != "not tested")
# The figures are on a page of their own, next to this one.
assert 'href="page-run.html"' in page and 'id="suite-1"' not in page
run = open(sys.argv[1].replace("page.html", "page-run.html")).read()
assert 'id="suite-1"' in run and 'id="claims"' not in run
assert "<b>yes</b> after the refusal the GPU worked" in page and "claimed: no" in page and "1: yes" not in page
assert '<p class="lead">10 do not hold, 17 hold in one case but not in another, 1 undecided, 1 better than claimed, 42 hold, 5 not tested.</p>' in page
assert count == {"holds": 42, "better than claimed": 1, "does not hold": 10, "depends": 17, "undecided": 1}, count
# Each row has the guide's title with the place in it, and each figure what the claim requires.
rows = re.findall(r'<tr id="[A-E]\d+">.*?</tr>', page, re.S)
assert all(re.search(r"<small>[^<]+, [^<]+</small>", row) for row in rows), "a claim without its guide"
assert all("claimed: " in row or "not measured" in row for row in rows), "a claim without a figure"
# Parts of the page of the run are not there a second time.
assert 'id="environment"' in run and 'id="environment"' not in page and len(page) < 150_000, len(page)
rows = re.findall(r"^\| \d+ \| \w \| .*? \| (.*?) \|.*\| (.*?) \|$", doc, re.M)
assert len(rows) == 60, len(rows)
told = [pair for claims, said in rows for pair in zip(claims.split(", "), said.split(", "), strict=True)]
assert len(dict(told)) == 76, len(dict(told))
for claim, verdict in told:
    assert verdict == verdicts.get(claim, "not tested"), (claim, verdict, verdicts.get(claim))
PY
