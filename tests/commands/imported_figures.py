#!/usr/bin/env python3
"""Reads files of other tools again, by other means than src/import, and compares every figure with imported results.

usage: imported_figures.py FILE RESULT [FILE RESULT ...]     exit code 1: a figure differs, or is in one of them alone
"""
import json, re, statistics, sys

OPERATIONS = {"sendrecv": "send_recv", "alltoall": "all_to_all"}
TYPES = "u?int(?:8|32|64)|half|float|double|bfloat16|f8e[45]m[23]|fp8_e[45]m[23]"


def add(figures, key, values):
    figures.setdefault(key, []).append(values)


def nccl_text(text, operation):
    """{(ranks, operation, type, operator, root, place, bytes): [(seconds, B/s, B/s)]}, columns counted from the right."""
    figures, ranks, columns, both = {}, {}, [], True
    for line in re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;]*m", "", text)):
        if m := re.search(r"# Collective test starting: (\w+)_perf", line):
            operation = OPERATIONS.get(m[1], m[1])
        if re.search(r"# (nThread|nccl-tests version|Collective test starting)", line):
            ranks = {} if columns else ranks
            columns, both = [], True
        if re.match(r"#\s+in-place", line):
            both = False
        if m := re.search(r"Rank +(\d+) +(?:Group +(\d+) +)?Pid +\d+ on +\S+ device", line):
            ranks[int(m[1])] = m[2] or "0"
        if m := re.search(r"#\s+size +count +(.*)", line):
            columns = [c for c in m[1].split() if c not in ("type", "redop", "root")]
        m = re.search(r"(?:^|\s|>|:)(\d+) +(\d+) +(" + TYPES + r")\b *(sum|prod|max|min|avg|mulsum|none)?\s+(.*)", line)
        if not m or not columns or m[1] == "0" or "cputime" in columns:
            continue
        tail = re.sub(r" +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d *$", " stamp", m[5]).split()
        if len(tail) == len(columns) + 1:
            root, tail = tail[0], tail[1:]
        else:
            root = "-1"
        if len(tail) == len(columns) // 2:
            tail = [None] * len(tail) + tail
        if len(tail) != len(columns):
            continue
        size = max(ranks) + 1 if len(set(ranks.values())) == 1 else sum(g == ranks[0] for g in ranks.values())
        if not all(x is None or re.fullmatch(r"[\d.e+-]+|N/A|stamp", x) for x in tail):
            continue
        for nth, place in enumerate(("out_of_place", "in_place") if both else ("in_place",)):
            at = [i for i, c in enumerate(columns) if c == "time"]
            if nth >= len(at) or tail[at[nth]] is None:
                continue
            time, algbw, busbw = (float(x) for x in tail[at[nth] : at[nth] + 3])
            add(figures, (size, operation, m[3], m[4] or "", root, place, int(m[1])), (time * 1e-6, algbw * 1e9, busbw * 1e9))
    return figures


def nccl_json(root):
    figures = {}
    operation = re.sub(r".*/|_perf.*", "", root["args"][0])
    config = root["config"]
    stride = config["nthreads"] * config["ngpus"]
    ranks = (max(d["rank"] for d in config["devices"]) // stride + 1) * stride
    for row in root["results"]:
        for place in ("out_of_place", "in_place"):
            if row.get(place) and row["size"] and "time" in row[place]:
                p = row[place]
                add(figures, (ranks, OPERATIONS.get(operation, operation), row["type"], row["redop"], row["root"].strip(), place, row["size"]),
                    (p["time"] * 1e-6, p["alg_bw"] * 1e9, p["bus_bw"] * 1e9))
    return figures


def nccl_result(result, figures):
    """The same keys as far as they are parameters; what is none of them is no difference."""
    found = {}
    short = {"float": "fp32", "half": "fp16", "double": "fp64", "bfloat16": "bf16"}
    mine = {}
    for case in result["cases"]:
        p = case["parameters"]
        if "size" in p:
            mine[(p["devices"], p["operation"], p.get("precision", p.get("type")), p.get("reduction"), p.get("root"),
                  p.get("placement", "out_of_place"), p["size"])] = case
    for key, values in figures.items():
        ranks, operation, kind, operator, root, place, size = key
        for mine_key, case in mine.items():
            r, o, k, op, ro, pl, s = mine_key
            if (r, o, pl, s) == (ranks, operation, place, size) and k in (None, short.get(kind, kind)) and op in (None, operator) \
                    and ro in (None, float(root)):
                found.setdefault(mine_key, []).extend(values)
                break
        else:
            yield f"{key}: not in the result"
    for key, case in mine.items():
        values = found.get(key)
        if not values:
            yield f"{case['id']}: not in the file"
            continue
        for nth, name in enumerate(("collective.time", "collective.algbw", "collective.busbw")):
            told = [v[nth] for v in values if v[nth] > 0]
            have = case["metrics"].get(name)
            if bool(told) != bool(have) or told and (have["n"] != len(told) or not close(have["value"], statistics.median(told))):
                yield f"{case['id']}: {name} {have} is not {told}"


def close(a, b):
    return abs(a - b) <= 1e-9 * abs(b)


def babelstream(text):
    """{(operation, bytes of an element): (B/s, seconds)}"""
    units = {"mbytes": 1e6, "mibytes": 2**20, "mb": 1e6, "mib": 2**20, "gb": 1e9, "gib": 2**30, "tb": 1e12, "tib": 2**40}
    figures = {}
    size = 4 if re.search(r"Precision: float", text) else 8
    unit = re.search(r"max_(\w+?)_per_sec|^Function +(\w+)/s", text, re.M)
    for m in re.finditer(r"^(Copy|Mul|Add|Triad|Dot)(?:,\d+,\d+,(\d+),|\s+)([\d.e+]+)[, ]+([\d.e+-]+)", text, re.M):
        factor = units[(unit[1] or unit[2]).lower()]
        figures[(m[1].lower(), int(m[2] or size))] = (float(m[3]) * factor, float(m[4]))
    return figures


def stream_result(result, figures):
    mine = {(c["parameters"]["operation"], 8 if c["parameters"]["precision"] == "fp64" else 4):
            (c["metrics"]["stream.bandwidth"]["value"], c["metrics"]["stream.time"]["value"]) for c in result["cases"]}
    for key in set(mine) | set(figures):
        if key not in mine or key not in figures or not all(map(close, mine[key], figures[key])):
            yield f"{key}: {mine.get(key)} is not {figures.get(key)}"


def numbers_of_nvbandwidth(text):
    """All figures as one sorted list: of tests in both directions the last matrix alone."""
    figures = []
    if "{" in text:
        root = json.loads(text[text.index("{") :])["nvbandwidth"]
        for test in root.get("testcases", []):
            matrix = test.get("bandwidth_matrix", []) if test["status"] == "Passed" else []
            if matrix and "device_to_device_bidirectional" in test["name"] and len(matrix) == 3 * len(matrix[0]):
                matrix = matrix[2 * len(matrix) // 3 :]
            figures += [float(x) for row in matrix for x in row if x != "N/A"] if "of_tomorrow" not in test["name"] else []
        return sorted(figures)
    for block in re.split(r"^(?=.*\((?:GB/s|ns)\)$)", text, flags=re.M)[1:]:
        if not re.search(r"(Read|Write)[12] bandwidth", block.split("\n")[0]):
            for row in re.findall(r"^ *\d+((?: +(?:\d+\.\d+|N/A))+)$", block, re.M):
                figures += [float(x) for x in row.split() if x != "N/A"]
    return sorted(figures)


def nvbandwidth_result(result, figures):
    mine = sorted(m["value"] * (1e9 if name == "transfer.latency" else 1e-9)
                  for c in result["cases"] for name, m in c["metrics"].items())
    if len(mine) != len(figures) or not all(map(close, mine, figures)):
        yield f"{len(mine)} figures of nvbandwidth are not the {len(figures)} of the file"


def benchmarks(root):
    factor = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    figures = {}
    for b in root["benchmarks"]:
        if b.get("run_type", "iteration") == "iteration" and 0 < b["real_time"] < 1e99 and "_stddev" not in b["name"] and not b.get("skipped") and not b.get("error_occurred"):
            add(figures, (b.get("run_name", b["name"]), b.get("family_index")), b["real_time"] * factor[b.get("time_unit", "ns")])
    for b in root["benchmarks"]:
        key = (b.get("run_name"), b.get("family_index"))
        if b.get("aggregate_name") == "median" and len(figures.get(key, [])) < 2:
            figures[key] = [b["real_time"] * factor[b.get("time_unit", "ns")]]
    return figures


def benchmark_result(result, figures):
    mine = sorted(c["metrics"]["benchmark.time"]["value"] for c in result["cases"] if "benchmark.time" in c["metrics"])
    theirs = sorted(statistics.median(v) for v in figures.values())
    if len(mine) < len(theirs) or not all(any(close(a, b) for b in mine) for a in theirs):
        yield f"times {mine} are not {theirs}"


def compare(path, result):
    tool = result["environment"]["provenance"]
    text = open(path, encoding="utf-8-sig", errors="replace").read()
    if "(text)" in tool and "ccl-tests" in tool:
        operation = next((c["parameters"]["operation"] for c in result["cases"]), "")
        return nccl_result(result, nccl_text(text, operation))
    if "nccl-tests" in tool:
        return nccl_result(result, nccl_json(json.loads(text)))
    if "BabelStream" in tool:
        return stream_result(result, babelstream(text))
    if "nvbandwidth" in tool:
        return nvbandwidth_result(result, numbers_of_nvbandwidth(text))
    if "Google Benchmark" in tool:
        return benchmark_result(result, benchmarks(json.loads(text.replace("-nan", "NaN"))))
    return [f"no reader of {tool}"]


wrong = 0
for path, result in zip(sys.argv[1::2], sys.argv[2::2]):
    for message in compare(path, json.load(open(result))):
        print(f"{path}: {message}")
        wrong += 1
sys.exit(wrong > 0)
