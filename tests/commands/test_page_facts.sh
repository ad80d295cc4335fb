#!/usr/bin/env bash
# What a page says of its figures agrees with the figures: percentiles with the value, the name of an estimate with the
# number of launches, units of integers with the operations, and several devices of a case with its curves.
set -uo pipefail
program=$(realpath "$1") tests=$(cd "$(dirname "$0")/.." && pwd)
command -v python3 >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
python3 - "$program" "$tests" <<'PY'
import copy, json, re, subprocess, sys
program, tests = sys.argv[1:]
failed = 0

def fail(words):
    global failed
    print(words)
    failed = 1

def run(*args):
    return subprocess.run([program, *args], capture_output=True, text=True)

def page(result, name, *options):
    json.dump(result, open(f"{name}.json", "w"))
    said = run("report", f"{name}.json", *options, "-o", f"{name}.html")
    assert said.returncode == 0, said.stderr
    return open(f"{name}.html", encoding="utf-8").read().split("<body>")[1]

def number(text):
    value, prefix = re.match(r"([0-9.]+)(?:×10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?[\s\u00a0]*([pnµmkMGTP]?)", text).groups()
    return float(value) * {"p": 1e-12, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}[prefix]

# Percentiles are on the bad side of the value, whichever launch its samples are from.
def launches_of(result, factors):
    result = copy.deepcopy(result)
    for case in result["cases"]:
        for metric in case["metrics"].values():
            if metric.get("value") and metric.get("headline"):
                metric["launches"] = [metric["value"] * f for f in factors]
                metric["value"] *= sorted(factors)[len(factors) // 2]
                metric["low"] = metric["high"] = None
    return result

one = json.load(open(f"{tests}/data/quick_h200_x2.json"))
for case in one["cases"]:
    for metric in case["metrics"].values():
        metric.pop("launches", None)
for factors in ([], [1, 1.5, 1.6], [1, .7, .6]):
    shown = page(launches_of(one, factors) if factors else one, "percentiles")
    rows = 0
    for table in re.findall(r"<table.*?</table>", shown, re.S):
        head = re.findall(r'<th scope="col">(.*?)</th>', table)
        if "p95" not in head:
            continue
        for row in re.findall(r'<th scope="row">.*', table):
            cells = [number(c) for c in re.findall(r"<td[^>]*>([0-9][^<]*)", row)]
            rows += 1
            if len(cells) > 1 and sorted(cells) != cells and sorted(cells, reverse=True) != cells:
                fail(f"percentiles {factors}: {row}")
    if not rows:
        fail("percentiles: no table has any")
    for words, there in (("the Hodges-Lehmann estimate of its launches", bool(factors)), ("Dot: the median of its samples", not factors),
                         ("of every sample of the first launch, scaled to the value of all launches", bool(factors))):
        if (words in shown) != there:
            fail(f"{len(factors)} launches: '{words}' is {'missing' if there else 'there'}")

# A share of this run's own GEMM is no MFU, whose divisor is a data sheet's peak.

listed = json.loads(run("list", "metrics", "--json").stdout)
text = json.dumps(listed)
if re.search(r"MFU relative|HFU relative", text):
    fail("a share of the run's own GEMM is named MFU")

# Operations on integers are no FLOP, in a check's table, its JSON and on its page.
integers = copy.deepcopy(one)
case = next(c for c in integers["cases"] if c["suite"] == "matmul" and c["status"] == "OK")
integers["cases"] = [case]
case["parameters"]["precision"] = "int8"
integers["run"]["planned"] = 1
json.dump(integers, open("integers.json", "w"))
open("limits.ini", "w").write("[limit integers]\nmetric = matmul.throughput\nmin = 1 PFLOP/s\nmax = 2 PFLOP/s\n")
for words in (run("check", "integers.json", "--limits", "limits.ini", "--all").stdout,
              run("check", "integers.json", "--limits", "limits.ini", "--json").stdout,
              page(integers, "integers").split("Environment")[0]):
    if "ops/s" not in words:
        fail(f"integers have no ops/s: {words[:900]}")
    bad = re.findall(r"[^<>\n]*[0-9] T?FLOP/s[^<>\n]*", words)
    if bad:
        fail(f"FLOP of integers: {bad[:3]}")
sys.exit(failed)
PY
