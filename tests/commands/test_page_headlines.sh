#!/usr/bin/env bash
# The headline of every page that looks for something bad is green only where all was looked at: states of the input against
# the pages that compare (several results, trend, fleet, node, nodes of a run, claims).
set -u
program=$(realpath "$1")
tests=$(realpath "$(dirname "$0")/..")
command -v python3 >/dev/null || { echo "no python3 to make results with"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset GPUPROOF_DB
python3 - "$program" "$tests" <<'END'
import copy, datetime, json, math, os, random, re, subprocess, sys
program, tests = sys.argv[1:]
failed = 0

def run(*words, **more):
    return subprocess.run([program, *words], capture_output=True, text=True, **more)

def headline(page):
    text = open(page, encoding="utf-8").read()
    found = re.search(r'<section class="verdict ([a-z]+)"[^>]*>\s*<h2[^>]*><span[^>]*>(.)</span> ([^<]*)</h2>(.*?)</section>', text, re.S)
    return (found[1], found[2], found[3].strip(), re.sub("<[^>]*>", "", found[4])) if found else ("", "", "", "")

def expect(state, page, kind, words, more=""):
    """The box of `page` is of `kind`, its heading matches `words`, its text `more`."""
    global failed
    if not os.path.exists(page):
        got = ("no page", "", "", "")
    else:
        got = headline(page)
    symbols = {"ok": "✓", "failed": "✗", "error": "!", "skipped": "○"}
    if got[0] != kind or not re.fullmatch(words, got[2]) or got[1] != symbols[kind] or not re.search(more, got[3], re.S):
        print(f"{state}: {kind}, '{words}', '{more}' expected, not {got}")
        failed = 1

def title(page, state, words):
    global failed
    found = re.search("<h1>([^<]*)</h1>", open(page, encoding="utf-8").read())[1]
    if found != words:
        print(f"{state}: the title is '{found}', not '{words}'")
        failed = 1

# Several results: two nights of an H100, of which sessions compare only some figures.
first, second = (json.load(open(f"{tests}/data/nights/h100_{n}.json")) for n in (1, 3))

def compare(name, a, b):
    for side, result in (("a", a), ("b", b)):
        json.dump(result, open(f"{side}.json", "w"))
    said = run("report", "a.json", "b.json", "-o", f"{name}.html")
    assert said.returncode == 0, said.stderr
    rows = json.loads(run("compare", "a.json", "b.json", "--json").stdout)
    return f"{name}.html", rows

def only(result, keep):
    result = copy.deepcopy(result)
    result["cases"] = [c for c in result["cases"] if keep(c)]
    result["run"]["planned"] = len(result["cases"])
    return result

page, said = compare("some", first, second)
total = len(said["figures"]) if "figures" in said else len(said["rows"])
rows = said.get("figures") or said["rows"]
open_rows = [r for r in rows if r["grouped"] or r["change"] in ("NOT COMPARED",)]
assert 0 < len(open_rows) < total, "the two nights compare some figures and not others"
decided = [r for r in rows if r["change"] in ("UNCHANGED", "IMPROVED") and not r["possible"]]
bounded = [r for r in rows if r["change"] == "INCONCLUSIVE" and not r["grouped"] and r["high"] <= 1 + max(r["unchanged_within"] or 0, .01)]
assert len(decided) + len(bounded) + len(open_rows) == total, "a figure is neither decided nor open"
counts = f"No regression in {len(decided)} of {total} figures" + (f", none beyond the margin in {len(bounded)}" if bounded else "")
expect("some figures not comparable", page, "skipped", re.escape(counts),
       rf"not decided: {len(open_rows)} vary too much between sessions")
ids = lambda chosen: {r["case"].split("@")[0] for r in chosen}
closed = ids(rows) - ids(open_rows)
keep = lambda c: c["id"].split("@")[0] in closed
expect("all figures compared", compare("all", only(first, keep), only(second, keep))[0], "ok",
       f"No regression in {len(decided)} of {len(decided) + len(bounded)} figures, none beyond the margin in {len(bounded)}" if bounded
       else "No regression")
gate = run("compare", "a.json", "b.json", "--fail-on", "regression").returncode
if gate:
    print(f"all figures compared: green, and exit code {gate}")
    failed = 1
# The band of a figure is the one that decided, and the legend says how.
bands = set(re.findall(r'<rect x="([0-9.]+)" y="0" width="([0-9.]+)"', open(page, encoding="utf-8").read()))
if len(bands) < 2 or "two one-sided 95&nbsp;% bounds lie in it" not in open(page, encoding="utf-8").read():
    print(f"figures with different margins have one band: {bands}")
    failed = 1
expect("no figure comparable", compare("none", only(first, lambda c: not keep(c)), only(second, lambda c: not keep(c)))[0],
       "skipped", "Nothing could be compared", "vary too much between sessions")
expect("the same run", compare("same", first, first)[0], "skipped", "The same run twice")
half = only(second, keep)
half["cases"] = half["cases"][1:]
expect("a case is missing", compare("missing", only(first, keep), half)[0], "skipped", rf"No regression in {len(decided) - 1} of {len(decided) + len(bounded)} figures",
       "have no value to compare with")
if "<summary>1 without a value to compare with</summary>" not in open("missing.html").read():
    print("a case that only one run has is not folded")
    failed = 1
three = run("report", *(f"{tests}/data/nights/h100_{n}.json" for n in (1, 2, 3)), "-o", "three.html")
if open("three.html").read().count("The surest change for the worse comes first.") != 1:
    print("the legend of several comparisons stands not once")
    failed = 1
wrong = only(second, keep)
wrong["cases"][0].update(status="FAILED", reason="3 of 8 words differ")
expect("a wrong result", compare("wrong", only(first, keep), wrong)[0], "failed", "Wrong results")
slow = only(second, keep)
for case in slow["cases"]:
    for metric in case["metrics"].values():
        factor = 0.5 if metric["better"] == "higher" else 2 if metric["better"] == "lower" else 1
        for part in ("value", "low", "high"):
            metric[part] = metric[part] and metric[part] * factor
        metric["launches"] = [v and v * factor for v in metric.get("launches") or []]
expect("slower", compare("slow", only(first, keep), slow)[0], "failed", r"\d+ of \d+ figures regressed")
h1 = re.search("<h1>([^<]*)</h1>", open("slow.html", encoding="utf-8").read())[1]
slower = [r for r in json.loads(run("compare", "a.json", "b.json", "--json").stdout)["rows"] if r["change"] == "REGRESSED" and not r["possible"]]
worst = max(slower, key=lambda r: r["ratio"])
wanted = f"b against a: {len(slower)} of {len(decided) + len(bounded)} figures regressed, worst ratio {worst['ratio']:.3g} ({worst['case'].split('/')[0].split(':')[0]}"
if not h1.startswith(wanted):
    print(f"slower: the title is '{h1}', not '{wanted} ...'")
    failed = 1

# Histories: `figure(host, device, night, point)` gives a value, or None where there is none.
def history(name, nights, hosts, figure, points=("stream/copy", "stream/triad"), model=lambda host: "H200"):
    lines = []
    for night in range(nights):
        day = datetime.date(2026, 3, 2) + datetime.timedelta(days=night)
        for host in range(hosts):
            values = [(p, figure(host, night, p)) for p in points]
            if all(v is None for _, v in values):
                continue
            lines.append(json.dumps({
                "run": f"{night:08x}{host:08x}", "started": f"{day}T01:{host:02}:00Z", "host": f"node{host:02}",
                "devices": [{"id": "cuda:0", "machine": f"GPU-{host}", "model": model(host), "serial": f"S{host}", "slot": "0000:16:00.0"}],
                "epochs": ["driver=580\n"],
                "figures": [{"case": f"{p}@cuda:0", "metric": "stream.bandwidth", "section": "stream", "point": p, "model": model(host),
                             "machine": f"GPU-{host}", "unit": "B/s", "better": "higher", "value": v, "low": v * .999, "high": v * 1.001}
                            for p, v in values if v is not None]}))
    subprocess.run([sys.executable, f"{tests}/fixtures/nights.py", f"{tests}/data/quick_h200.json", name], input="\n".join(lines) + "\n",
                   text=True, check=True)
    said = run("history", "add", name, "--db", f"{name}.db")
    assert said.returncode == 0, said.stderr
    run("history", "report", "--db", f"{name}.db", "-o", f"{name}-trend.html")
    run("history", "fleet", "--db", f"{name}.db", "-o", f"{name}-fleet.html")
    run("history", "node", "node00", "--db", f"{name}.db", "-o", f"{name}-node.html")
    return f"{name}-trend.html", f"{name}-fleet.html", f"{name}-node.html"

def noise(host, night, point):
    return 4.4e12 * math.exp(random.Random(f"{host} {night} {point}").gauss(0, .0015))

trend, fleet, node = history("like", 20, 10, noise)
expect("trend, nothing new", trend, "ok", "Nothing new for the worse")
title(trend, "trend, nothing new", "node00 and 9 others: no new change in 20 figures over 200 runs")
expect("fleet, all alike", fleet, "ok", "No slow device")
expect("node, like the others", node, "ok", "Like the others")

trend, fleet, node = history("young", 3, 4, noise)
expect("trend, three nights", trend, "skipped", "Cannot tell yet")
expect("fleet, four nodes", fleet, "skipped", "Nothing was compared")
expect("node of four", node, "skipped", "Not compared")

# The second point is measured since three nights.
late = lambda host, night, point: noise(host, night, point) if point == "stream/copy" or night >= 17 else None
trend, _, _ = history("late", 20, 1, late)
expect("trend, a young series", trend, "skipped", "Nothing new for the worse in 1 of 2 figures", "No new change in 1 figure[.].*cannot tell yet")
title(trend, "trend, a young series", "node00: no new change in 1 of 2 figures over 20 runs")
# The second point is not measured any more.
ended = lambda host, night, point: noise(host, night, point) if point == "stream/copy" or night < 15 else None
trend, _, _ = history("ended", 20, 1, ended)
expect("trend, a series that ended", trend, "skipped", "Nothing new for the worse in 1 of 2 figures", "not in the last run")
# On nine nodes of ten the second point is not measured at all, so nothing compares it.
alone = lambda host, night, point: noise(host, night, point) if point == "stream/copy" or host == 0 else None
_, fleet, node = history("alone", 8, 10, alone)
expect("node, a case that no other has", node, "skipped", "Like the others in 1 of 2 cases", "judged in 1 of 2")
# Two devices are of a model of their own.
_, fleet, _ = history("models", 8, 12, noise, model=lambda host: "H100" if host > 9 else "H200")
expect("fleet, devices without others", fleet, "skipped", "No slow device in 10 of 12 known devices", "too few")
# A node is silent for the last nights.
_, fleet, _ = history("silent", 12, 10, lambda host, night, point: None if host == 9 and night > 7 else noise(host, night, point))
expect("fleet, a silent node", fleet, "error", "A node or device is missing")
_, fleet, node = history("slow", 12, 10, lambda host, night, point: noise(host, night, point) * (.9 if host == 0 else 1))
expect("fleet, a slow node", fleet, "failed", "Slower than the others")
expect("node, slow", node, "failed", "Slower than the others")
title(fleet, "fleet, a slow node", "1 of 10 nodes is slow: node00 cuda:0 by 9.9\u00a0% in stream")
trend, _, _ = history("worse", 24, 1, lambda host, night, point: noise(host, night, point) * (.9 if night > 14 else 1))
expect("trend, worse", trend, "failed", "Changed for the worse")

# The nodes of a run: not judged is no tick, on the page or on any of its nodes.
result = json.load(open(f"{tests}/data/acceptance_h100.json"))
cases, device = [c for c in result["cases"] if c["suite"] == "stream"], result["devices"][0]
result.update(cases=[], devices=[], nodes=[])
for n in range(3):
    there = f"n{n}/cuda:0"
    result["devices"].append(dict(device, id=there, uuid=f"GPU-{n}"))
    result["nodes"].append(dict(name=f"n{n}", status="OK", reason="", lost_at="", planned=len(cases), finished=len(cases)))
    result["cases"] += [dict(copy.deepcopy(c), id=c["id"].split("@")[0] + "@" + there, node=f"n{n}", device=there, devices=[there])
                        for c in cases]
result.pop("judgement", None)
result["run"]["planned"] = len(result["cases"])
json.dump(result, open("nodes.json", "w"))
said = run("report", "nodes.json", "--fleet", "-o", "nodes.html")
expect("nodes, not judged", "nodes.html", "skipped", "NOT JUDGED")
if os.path.exists("nodes.html") and re.search(r'class="(cell )?ok"|judged, and no check failed', open("nodes.html").read()):
    print("nodes, not judged: a node or a device is green")
    failed = 1

# Claims of which no one holds: the page of a result of other suites has no tick at all.
run("report", f"{tests}/data/burn_h200_planted.json", "--claims", "-o", "claims.html")
text = open("claims.html").read().split("<body>")[1]
if re.search(r'class="verdict ok"|<tr class="ok"|[0-9] hold', text):
    print("claims, none tested: something is green")
    failed = 1
sys.exit(failed)
END
