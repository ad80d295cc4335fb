#!/usr/bin/env bash
# The title and the first lines of a page are its finding: GPUs of one architecture by their names, claims by their number,
# a self-test by what it found.
set -uo pipefail
program=$1 data=$(cd "$(dirname "$0")/../data" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
page() { # NAME ARGUMENTS OF report...
	"$program" report "${@:2}" -o "$1.html" >said 2>&1 || { echo "$1: $(cat said)"; failed=1; }
}
has() { grep -qE -- "$2" "$1.html" || { echo "$1: no '$2': $(grep '<h1>' "$1.html")"; failed=1; }; }
lacks() { grep -qE -- "$2" "$1.html" && { echo "$1: has '$2'"; failed=1; }; }
page models "$data/quick_h200.json" "$data/nights/h100_1.json"
has models '<h1>H200 against H100: Memory 1\.[0-9]+×, FP32 GEMM 0\.99[0-9]×</h1>'
lacks models '<h1>.*Hopper|regressed|No regression'
# Two models: no line through two cards, no column that nothing fills, no note about cards that are not there.
lacks models 'id="growth"|ResNet-50|K80|GeForce'
page one "$data/claims_h200_x2.json" --claims
page two "$data/claims_h200_x2.json" "$data/compare_h200_x2.json" --claims
for name in one two; do
	python3 - "$name.html" <<'END' || failed=1
import re, sys
page = open(sys.argv[1]).read().split("<body>")[1]
title = re.search("<h1>([0-9]+) of ([0-9]+) claims in 5 guides hold on [^<]*, ([0-9]+) do not</h1>", page)
assert title, re.search("<h1>.*", page).group(0)
lead = re.search('<p class="lead">(.*)[.]</p>', page)[1]
found = {words: int(count) for count, words in (part.split(" ", 1) for part in lead.split(", "))}
assert (int(title.group(1)), int(title.group(3))) == (found["hold"] + found.get("better than claimed", 0), found["do not hold"]), (title.group(0), found)
assert int(title.group(2)) == sum(found.values()), (title.group(0), found)
assert "could be compared" not in page and page.index('id="claims"') < page.index("cases ran"), "claims are not first"
END
done
page named "$data/claims_h200_x2.json" --claims --title 'Own title'
has named '<h1>Own title</h1>'
page burn "$data/burn_h200_planted.json"
has burn '<h1>.*self-test found all 60 injected errors'
has burn '<h2 id="[^"]*">burn</h2> <span class="quiet">5 cases: all injected errors found'
lacks burn '5 wrong results'
exit $failed
