#!/usr/bin/env bash
# A result that no look supports is accepted nowhere: impossible figures, members that contradict each other, skipped suites, models
# without a data sheet, foreign processes and memory errors, each doctored into an accepted run of two H200s.
set -u
program=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
python3 - "$program" "$here/data/acceptance_h200_x2.json" <<'PY'
import copy, json, subprocess, sys
program, source = sys.argv[1:]
healthy = json.load(open(source))
healthy.pop("judgement", None)
failures = []

def run(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr

def judged(name, result, codes, cause):
    json.dump(result, open(f"{name}.json", "w"))
    code, text = run("check", f"{name}.json", "-o", f"{name}.judged.json", "--report", f"{name}.html")
    junit = run("export", "junit", f"{name}.judged.json")[1]
    prometheus = run("export", "prometheus", f"{name}.judged.json")[1]
    if code not in codes:
        failures.append(f"{name}: exit code {code}, not {codes}: {text.splitlines()[-1:]}")
    if cause and cause not in text:
        failures.append(f"{name}: '{cause}' is missing in: {text[-400:]}")
    green = 'failures="0" errors="0"' in junit.split("\n")[1] and "gpuproof_check_accepted 1" in prometheus
    if green != (0 in codes) or ("</span> ACCEPTED" in open(f"{name}.html").read()) != (0 in codes):
        failures.append(f"{name}: an output says something else")

def rates(result, factor, launches=True):
    for case in result["cases"]:
        for metric in case["metrics"].values():
            if metric["better"] == "higher" and metric["unit"] in ("B/s", "FLOP/s"):
                for member in ("value", "low", "high"):
                    metric[member] = metric[member] and metric[member] * factor
                if launches and "launches" in metric:
                    metric["launches"] = [v and v * factor for v in metric["launches"]]

def amounts(result, factor):
    for case in result["cases"]:
        for metric in case["metrics"].values():
            if "amount" in metric:
                metric["amount"] *= factor

def skip(result, part, device):
    for case in result["cases"]:
        if part in case["id"] and device in (None, case["device"]):
            case.update(status="SKIPPED", reason="not supported here", metrics={}, samples={})
            case["verification"]["done"] = False
            for member in ("timeline", "energy", "watches", "end"):
                case.pop(member, None)

judged("healthy", healthy, {0}, None)
for factor in 1.05, 1.5, 10:
    result = copy.deepcopy(healthy)
    rates(result, factor)
    judged(f"rates-{factor}", result, {1, 4}, "cause: impossible")
for factor in 1.5, 10:
    result = copy.deepcopy(healthy)
    rates(result, factor)
    amounts(result, factor)
    judged(f"peaks-{factor}", result, {1, 4}, "is above what a NVIDIA H200 can do")
# The burst, next to a throughput that can be.
for factor, codes, cause in ((1.2, {0}, None), (2, {1, 4}, "is above what a NVIDIA H200 can do")):
    result = copy.deepcopy(healthy)
    metrics = next(c["metrics"] for c in result["cases"] if c["id"].startswith("matmul/bf16"))
    burst = copy.deepcopy(metrics["matmul.throughput"])
    for member in ("value", "low", "high", "amount"):
        burst[member] *= factor
    burst.update(headline=False, series="")
    metrics["matmul.burst"] = burst
    judged(f"burst-{factor}", result, codes, cause)
result = copy.deepcopy(healthy)
metric = next(m for c in result["cases"] for n, m in c["metrics"].items() if n == "stream.bandwidth")
for member in ("value", "low", "high"):
    metric[member] *= 1.5
judged("unlike-samples", result, {1, 4}, "is not what its samples give")
result = copy.deepcopy(healthy)
metric = next(m for c in result["cases"] for n, m in c["metrics"].items() if n == "stream.bandwidth")
metric["launches"] = [metric["value"] * f for f in (1, 0.99, 0.98)]
for member in ("value", "low", "high"):
    metric[member] *= 1.02
judged("unlike-launches", result, {1, 4}, "is outside its repetitions")
for part, device, codes, words in (
        ("stream/", "cuda:1", {1}, "skipped here, and measured on cuda:0"), ("stream/", None, {4}, "not measured, though"),
        ("h2d/pinned", None, {4}, "not measured, though"), ("d2h/pinned", None, {4}, "not measured, though"),
        ("matmul/fp16", "cuda:1", {1}, "skipped here, and measured on cuda:0"), ("matmul/fp16", None, {4}, "not measured, though"),
        ("matmul/tf32", "cuda:0", {1}, "skipped here, and measured on cuda:1"), ("p2p/", None, {4}, "not measured, though")):
    result = copy.deepcopy(healthy)
    skip(result, part, device)
    judged(f"skip-{part.replace('/', '-')}-{device}", result, codes, words)
result = json.loads(json.dumps(healthy).replace("NVIDIA H200", "NVIDIA Foo 9000"))
judged("no-sheet", result, {4}, "no data sheet for 'NVIDIA Foo 9000'; derived limits hold")
result = copy.deepcopy(healthy)
for finding in result["preflight"]:
    if finding["subject"] == "processes cuda:1":
        finding.update(severity="warning", text="1 other process may compute on it (pid 4711): measurements will be disturbed")
        break
else:
    result["preflight"].append(dict(severity="warning", subject="processes cuda:1",
                                    text="1 other process may compute on it (pid 4711): measurements will be disturbed"))
judged("foreign", result, {4}, "pid 4711")
for case in result["cases"]:
    if case["device"] == "cuda:1" and "h2d/pinned" in case["id"]:
        for metric in case["metrics"].values():
            if metric["unit"] == "B/s":
                for member in ("value", "low", "high", "amount"):
                    metric[member] = metric.get(member) and metric[member] * 0.4
judged("foreign-slow", result, {4}, "another process used cuda:1: end it, and repeat the run")
result = copy.deepcopy(healthy)
last = [c for c in result["cases"] if c["device"] == "cuda:1" and "telemetry" in c][-1]["telemetry"]
last["after"]["ecc_uncorrected"] = (last["before"]["ecc_uncorrected"] or 0) + 2
judged("ecc", result, {5}, "uncorrected memory errors")
junit = run("export", "junit", "ecc.json")[1]
if 'failures="1"' not in junit.split("\n")[1] or "uncorrected memory errors" not in run("export", "markdown", "ecc.json")[1]:
    failures.append("an export of an unjudged result is green, though memory errors were counted")
print("\n".join(failures))
sys.exit(1 if failures else 0)
PY
