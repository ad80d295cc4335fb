"""Every pair of outputs of one result tells the same verdict: exit codes, terminal, JSON, JUnit, Markdown, Prometheus, CSV,
the report, the acceptance page and the result itself.

usage: outputs_agree.py PROGRAM RESULT... -- RESULT...      the latter only as they are
"""
import copy
import csv
import html
import io
import itertools
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

PROGRAM, RESULTS = sys.argv[1], sys.argv[2:]
AS_THEY_ARE = RESULTS[RESULTS.index("--") + 1:]
RESULTS.remove("--")
failures = []

def run(*arguments):
	done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
	return done.returncode, done.stdout

def word_of(code):
	return {0: "ACCEPTED", 1: "REJECTED", 4: "INCONCLUSIVE", 5: "REJECTED"}.get(code, f"exit code {code}")

def box_of(page):
	box = re.search(r'<section class="verdict.*?</section>', page, re.S).group(0)
	heading = re.search(r"<h2[^>]*>.*?</span> *(.*?)</h2>", box, re.S).group(1)
	return heading.strip(), [html.unescape(p) for p in re.findall(r'<p class="answer">(.*?)</p>', box, re.S)]

def page_of_run(path):
	"""Next to other GPUs, the run has a page of its own."""
	run("report", path, "-o", "report.html")
	with open("report.html", encoding="utf-8") as f:
		page = f.read()
	if 'href="report-run.html"' not in page:
		return page
	with open("report-run.html", encoding="utf-8") as f:
		return f.read()

def junit_word(text):
	root = ET.fromstring(text)
	verdict, = [t for t in root.iter("testcase") if t.get("name") == "verdict"]
	red = int(root.get("failures")) + int(root.get("errors")) > 0
	if verdict.find("skipped") is not None:
		return None, red
	if verdict.find("failure") is not None:
		return "REJECTED", red
	return ("INCONCLUSIVE" if verdict.find("error") is not None else "ACCEPTED"), red

def answers(path, limits):
	"""{output: verdict}; and the sentence as each output tells it."""
	words, sentences = {}, {}
	code, out = run("check", path, *limits)
	words["exit code"] = word_of(code)
	sentences["terminal"] = out.rstrip("\n").split("\n")[-1]
	code, out = run("check", path, *limits, "--json")
	document = json.loads(out)
	words["exit code with --json"] = word_of(code)
	words["JSON"] = {"PASS": "ACCEPTED", "WARN": "ACCEPTED", "FAIL": "REJECTED"}.get(document["verdict"], "INCONCLUSIVE")
	sentences["JSON"] = document["sentence"]
	code, out = run("check", path, *limits, "--report", "page.html", "-o", "kept.json")
	words["exit code with --report"] = word_of(code)
	with open("page.html", encoding="utf-8") as f:
		words["acceptance page"], (sentences["acceptance page"], *_) = box_of(f.read())
	# From here on only what the kept result says.
	with open("kept.json") as f:
		judgement = json.load(f)["judgement"]
	sentences["result"] = judgement["sentence"]
	code, out = run("check", "kept.json")
	words["kept: exit code"] = word_of(code)
	sentences["kept: terminal"] = out.rstrip("\n").split("\n")[-1]
	words["JUnit"], red = junit_word(run("export", "junit", "kept.json")[1])
	words["JUnit's counts"] = "ACCEPTED" if not red else words["JUnit"] if words["JUnit"] != "ACCEPTED" else "red"
	sentences["Markdown"] = re.search(r"\*\*(.*?)\*\*", run("export", "markdown", "kept.json")[1]).group(1)
	metrics = run("export", "prometheus", "kept.json")[1]
	accepted = re.search(r"^gpuproof_check_accepted\S* ([01])$", metrics, re.M).group(1) == "1"
	words["Prometheus"] = "ACCEPTED" if accepted else words["JSON"] if words["JSON"] != "ACCEPTED" else "not accepted"
	nagios = run("check", "kept.json", "--as", "nagios")[0]
	words["nagios"] = {0: "ACCEPTED", 1: "ACCEPTED", 2: "REJECTED"}.get(nagios, "INCONCLUSIVE")
	npd = run("check", "kept.json", "--as", "npd")[0]
	words["node-problem-detector"] = {0: "ACCEPTED", 1: "REJECTED"}.get(npd, "INCONCLUSIVE")
	end = json.loads(run("export", "ocp", "kept.json")[1].rstrip("\n").split("\n")[-1])["testRunArtifact"]["testRunEnd"]
	words["OCP"] = {"PASS": "ACCEPTED", "FAIL": "REJECTED"}.get(end["result"], "INCONCLUSIVE")
	words["report"], (sentences["report"], *_) = box_of(page_of_run("kept.json"))
	if os.path.exists("nights.db"):
		os.remove("nights.db")
	run("history", "add", "kept.json", "--db", "nights.db")
	words["history"] = (re.findall("ACCEPTED|REJECTED|INCONCLUSIVE", run("history", "show", "--db", "nights.db")[1]) or ["none"])[-1]
	# CSV has the worst of the checks on a case and metric.
	rows = list(csv.DictReader(io.StringIO(run("export", "csv", "kept.json")[1])))
	fails = {c["case"] for c in document["checks"] if c["verdict"] == "FAIL" and c["case"] and c["metric"]}
	told = {r["case"] for r in rows if r["verdict"] == "FAIL"}
	lacks = fails & {r["case"] for r in rows} - told
	if lacks:
		failures.append(f"{path}: CSV lacks FAIL of {sorted(lacks)[:3]}")
	return words, sentences

def compare(path, what, told):
	for (a, x), (b, y) in itertools.combinations(told.items(), 2):
		if x != y:
			failures.append(f"{path}: {what}: {a} says {x!r}, {b} says {y!r}")

def check(path, *limits):
	words, sentences = answers(path, limits)
	compare(path, "verdict", words)
	plain = {name: re.sub(r"[\\\\]", "", text) for name, text in sentences.items()}
	compare(path, "sentence", plain)
	return words["exit code"]

def unjudged(path):
	"""What was not judged is nowhere said to be good."""
	word, _ = junit_word(run("export", "junit", path)[1])
	metrics = run("export", "prometheus", path)[1]
	page = page_of_run(path)
	if word is not None or "gpuproof_check_accepted" in metrics or not re.search(r"^gpuproof_run_judged\S* 0$", metrics, re.M):
		failures.append(f"{path}: an export has a verdict, though nothing was judged")
	if "Nothing was judged" not in run("export", "markdown", path)[1] or "Nothing was judged" not in page:
		failures.append(f"{path}: Markdown or the report does not say that nothing was judged")

def variants(path):
	"""The fixture, and what becomes of it when a rate falls, a case is wrong, or its end is missing."""
	with open(path) as f:
		result = json.load(f)
	name = os.path.basename(path)[:-5]
	slow, wrong, short, blind = (copy.deepcopy(result) for _ in range(4))
	for c in slow["cases"]:
		for m in c["metrics"].values():
			if m["unit"] in ("B/s", "FLOP/s"):
				for member in ("value", "low", "high"):
					m[member] = m[member] and m[member] / 2
	for c in wrong["cases"]:
		if c["status"] == "OK":
			c.update(status="FAILED", reason="3 of 8 bytes differ")
			break
	short["cases"].pop()
	short["run"]["state"] = "interrupted"
	for c in blind["cases"]:
		c["suite"] = "alloc"
	for kind, document in (("", result), ("slow", slow), ("wrong", wrong), ("short", short), ("blind", blind)):
		made = f"{name}{'-' if kind else ''}{kind}.json"
		with open(made, "w") as f:
			json.dump(document, f)
		yield kind, made

seen = set()
for fixture in RESULTS:
	for kind, path in itertools.islice(variants(fixture), 1 if fixture in AS_THEY_ARE else None):
		unjudged(path)
		word = check(path)
		seen.add(word)
		if word == "ACCEPTED" and kind:
			failures.append(f"{path} is accepted")
		if not kind:
			check(path, "--limits", "generic")
			check(path, "--strict")
if not {"REJECTED", "INCONCLUSIVE"} <= seen:
	failures.append(f"the fixtures show only {seen}")
print("\n".join(failures[:20]))
sys.exit(1 if failures else 0)
