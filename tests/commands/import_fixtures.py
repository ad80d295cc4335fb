#!/usr/bin/env python3
"""Imports every file of tests/data/import that has a sidecar FILE.expect, and holds the result against its lines:
source WORDS; with OPTIONS; refused WORDS; cases N; devices N; state WORD; started TIME; fact NAME WORDS; left WORDS;
ok ID METRIC VALUE SAMPLES; status ID STATUS; FAILED, ERROR or SKIPPED ID WORDS. A file has all of them, in any order.

usage: import_fixtures.py GPUPROOF FOLDER
"""
import glob, json, os, re, shlex, subprocess, sys, tempfile


def case_of(result, rest):
    """The longest id that `rest` begins with, and what follows."""
    found = max((c for c in result["cases"] if (rest + " ").startswith(c["id"] + " ")), key=lambda c: len(c["id"]), default=None)
    return found, rest[len(found["id"]) :].strip() if found else rest


def differs(kind, rest, result):
    if kind in ("cases", "devices"):
        return str(len(result[kind])) != rest and f"{len(result[kind])}"
    if kind in ("state", "started"):
        return result["run"][kind] != rest and result["run"][kind]
    if kind == "fact":
        return not any(rest.startswith(k + " ") and rest[len(k) + 1 :] in v for k, v in result["environment"].items()) and result["environment"]
    if kind == "left":
        return rest not in result["environment"].get("not imported", "") and result["environment"].get("not imported")
    case, words = case_of(result, rest)
    if not case:
        return f"no such case among {[c['id'] for c in result['cases']][:40]}"
    if kind == "ok":
        metric, value, samples = words.split()
        have = case["metrics"].get(metric, {"value": 0, "n": 0})
        good = abs(have["value"] - float(value)) <= 1e-9 * abs(float(value)) and have["n"] == int(samples)
        return (not good or case["status"] != "OK") and (have, case["status"], case["reason"])
    if kind == "status":
        return case["status"] != words and case["status"]
    return (case["status"] != kind or words not in case["reason"]) and (case["status"], case["reason"])


program, folder = sys.argv[1:3]
bad = count = 0
with tempfile.TemporaryDirectory() as work:
    for sidecar in sorted(glob.glob(folder + "/**/*.expect", recursive=True)):
        lines = [l.split(" ", 1) for l in open(sidecar).read().splitlines() if l]
        path, options = sidecar[: -len(".expect")], [o for k, r in lines if k == "with" for o in shlex.split(r)]
        output = os.path.join(work, f"{count}.json")
        ran = subprocess.run([program, "import", path, "-o", output] + options, capture_output=True, text=True)
        refused = [r for k, r in lines if k == "refused"]
        count += 1
        problems = []
        if not any(k == "source" for k, _ in lines):
            problems.append("no source is named")
        if refused:
            if ran.returncode != 2 or refused[0] not in ran.stderr:
                problems.append(f"exit {ran.returncode}, {ran.stderr.strip()!r}, not refused: {refused[0]}")
        elif ran.returncode:
            problems.append(f"exit {ran.returncode}: {ran.stderr.strip()}")
        else:
            result = json.load(open(output))
            for kind, rest in lines:
                if kind not in ("source", "with") and (have := differs(kind, rest, result)):
                    problems.append(f"{kind} {rest}: it is {have}")
        for problem in problems:
            print(f"{os.path.basename(path)}: {problem}")
        bad += len(problems)
print(f"{count} files")
sys.exit(bad > 0 or count < 20)
