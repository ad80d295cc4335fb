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
for status, row in re.findall(r'<td class="status">(.*?)</td>\s*<th scope="row"><details><summary><b>([A-E]\d+)\.', page, re.S):
    words = html.unescape(re.sub(r"<[^>]*>", " ", status))
    verdicts[row] = re.sub(r"^\W+", "", words).strip()
assert len(verdicts) == 76, len(verdicts)
count = collections.Counter(v for v in verdicts.values() if v != "not tested")
# The figures are on a page of their own, next to this one.
assert 'href="page-run.html"' in page and 'id="suite-1"' not in page
run = open(sys.argv[1].replace("page.html", "page-run.html")).read()
assert 'id="suite-1"' in run and 'id="claims"' not in run
assert "<b>yes</b> after the refusal the GPU worked" in page and "bound: no" in page and "1: yes" not in page
assert '<p class="lead">43 hold, 10 do not hold, 17 depend, 1 undecided, 5 not tested.</p>' in page
guides = re.findall(r'<th colspan="3" scope="rowgroup">.*?<small>(.*?)</small>', page)
assert len(guides) == 5 and sum(int(n) for g in guides for n in re.findall(r"\d+", g)) == 76, guides
assert count == {"holds": 43, "does not hold": 10, "depends": 17, "undecided": 1}, count
rows = re.findall(r"^\| \d+ \| \w \| .*? \| (.*?) \|.*\| (.*?) \|$", doc, re.M)
assert len(rows) == 60, len(rows)
told = [pair for claims, said in rows for pair in zip(claims.split(", "), said.split(", "), strict=True)]
assert len(dict(told)) == 76, len(dict(told))
for claim, verdict in told:
    assert verdict == verdicts.get(claim, "not tested"), (claim, verdict, verdicts.get(claim))
PY
