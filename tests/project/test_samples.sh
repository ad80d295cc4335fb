#!/usr/bin/env bash
# ci/samples draws a page of each kind, and their answers are the injected ones and no other.
set -u
program=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
command -v python3 >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$root/ci/samples" "$program" "$folder" || { echo "ci/samples: exit code $?"; exit 1; }
python3 - "$folder" "$root/docs/samples" <<'PY'
import os, re, sys
drawn, there = sys.argv[1:]
assert sorted(os.listdir(drawn)) == [k + ".html" for k in ("acceptance", "architectures-run", "architectures", "comparison", "nodes", "run", "trend")]
kept = [n for n in os.listdir(there) if n.endswith(".html")]
assert sorted(kept) == ["acceptance.html", "architectures-run.html", "architectures.html"], kept
assert sum(os.path.getsize(os.path.join(there, n)) for n in os.listdir(there)) < 2_000_000
listed = open(os.path.join(there, "README.md")).read()
for name in kept:
    assert f"({name})" in listed, name
page = lambda name: open(os.path.join(drawn, name + ".html"), encoding="utf-8").read()
suspects = re.findall(r'<p><strong><bdi>(n\d+)</bdi></strong> (\w+)', page("nodes"))
assert suspects == [("n041", "FAIL"), ("n023", "FAIL"), ("n052", "LOST")], suspects
assert page("trend").count('<article class="trend') == 1, "one injected change, one incident"
changed = re.findall(r'<li><b><bdi>([^<]*)</bdi>', page("trend"))
assert changed and all(c.startswith("transfer/h2d/") for c in changed), changed
assert "since 2026-10-30" in page("trend"), "the planted night"
assert "</span> ACCEPTED" in page("acceptance")
assert re.search(r"<h1>From Kepler to Hopper in 10 years: Memory [0-9.]+×", page("architectures"))
assert re.search(r'<p class="lead">H200 against V100 \(PCIe, SXM2, SXM3\):.* FP16 GEMM <b>[0-9.]+×</b>', page("architectures"))
assert re.search("<h2 [^>]*>.*No regression in [0-9]+ of [0-9]+ figures", page("comparison"))
PY
