#!/usr/bin/env bash
# Pages stay light: their bytes by kind, and identical devices are one bar with a dot for each, while devices of two models
# have bars of their own.
set -u
program=$(realpath "$1")
data=$(cd "$(dirname "$0")/../data" && pwd)
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
python3 - "$program" "$data" <<'END'
import copy, json, os, random, re, subprocess, sys
program, data = sys.argv[1:]

def page(name, *arguments):
    said = subprocess.run([program, "report", *arguments, "-o", name], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    return open(name, encoding="utf-8").read()

def bars(html, title):
    """The drawing of the chart of bars of that title in suite matmul."""
    html = html[html.index('>matmul</h2>'):]
    return re.search(rf'<strong>{title}</strong>.*?<svg(.*?)</svg>', html, re.S)[1]

# Eight identical devices made of one: each scatters, and has its own dot in the bar of each case.
two = json.load(open(f"{data}/quick_h200_x2.json"))
eight = copy.deepcopy(two)
eight["devices"] = [dict(two["devices"][0], id=f"cuda:{d}", uuid=f"GPU-{d}") for d in range(8)]
eight["cases"] = []
for case in two["cases"]:
    if len(case["devices"]) > 1:
        eight["cases"].append(case)
    for d in range(8 if case["device"] == "cuda:0" and len(case["devices"]) == 1 else 0):
        one = copy.deepcopy(case)
        factor = random.Random(f"{d} {case['id']}").gauss(1, .004)
        one.update(id=case["id"].replace("cuda:0", f"cuda:{d}"), device=f"cuda:{d}", devices=[f"cuda:{d}"], samples={})
        for metric in one["metrics"].values():
            metric["series"] = ""
            for part in ("value", "low", "high"):
                metric[part] = metric[part] and metric[part] * factor
        eight["cases"].append(one)
eight["run"]["planned"] = len(eight["cases"])
json.dump(eight, open("eight.json", "w"))
mixed = copy.deepcopy(two)
mixed["devices"][1]["name"] = "NVIDIA H100"
json.dump(mixed, open("mixed.json", "w"))
for name, devices in (("two", 2), ("eight", 8)):
    drawn = bars(page(f"{name}.html", f"{data}/quick_h200_x2.json" if name == "two" else "eight.json"), "Throughput")
    count = drawn.count("<rect ")
    assert count == 8 and drawn.count("h3v3h-3z") == count * devices, (name, count, drawn.count("h3v3h-3z"))
    assert "cuda:" not in drawn, drawn
drawn = bars(page("mixed.html", "mixed.json"), "Throughput")
assert "h3v3h-3z" not in drawn and "cuda:0" in drawn and "cuda:1" in drawn, "devices of two models share a bar"

page("one.html", f"{data}/quick_h200.json")
page("claims.html", f"{data}/claims_h200_x2.json", "--claims")
page("compare.html", f"{data}/nights/h100_1.json", f"{data}/nights/h100_3.json")
page("arch.html", f"{data}/compare_h200_x2.json", "--baseline", "v100-sxm2")
most = {"one": 165, "two": 220, "eight": 350, "claims": 90, "compare": 95, "arch": 145}
heavy = {name: os.path.getsize(f"{name}.html") // 1000 for name, kilobytes in most.items()
         if os.path.getsize(f"{name}.html") > 1000 * kilobytes}
assert not heavy, f"kB: {heavy}, at most {most}"
END
