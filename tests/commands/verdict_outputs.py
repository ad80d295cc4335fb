"""The verdict of one result as each output tells it: exit codes, terminal, JSON, JUnit, Markdown, Prometheus, CSV, OCP, nagios,
node-problem-detector, history, the report, the acceptance page and the result itself."""
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

PROGRAM = sys.argv[1]

def run(*arguments):
	done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
	return done.returncode, done.stdout

def word_of(code):
	return {0: "ACCEPTED", 1: "REJECTED", 4: "INCONCLUSIVE", 5: "REJECTED"}.get(code, f"exit code {code}")

def word_in(sentence):
	"""Every sentence begins with its verdict."""
	return re.match(r"\W*(\w*)", sentence).group(1).upper()

def disagreements(told):
	"""Texts about every pair of {output: what it tells} that differs."""
	return [f"{a} says {x!r}, {b} says {y!r}" for (a, x), (b, y) in itertools.combinations(told.items(), 2) if x != y]

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
	"""{output: verdict}; the sentence as each output tells it; all that the terminal says."""
	words, sentences = {}, {}
	code, out = run("check", path, *limits)
	words["exit code"] = word_of(code)
	sentences["terminal"] = out.rstrip("\n").split("\n")[-1]
	words["terminal"] = word_in(sentences["terminal"])
	said = out
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
	words["kept result"] = word_in(sentences["result"])
	words["kept: exit code"] = word_of(code)
	sentences["kept: terminal"] = out.rstrip("\n").split("\n")[-1]
	words["JUnit"], red = junit_word(run("export", "junit", "kept.json")[1])
	words["JUnit's counts"] = "ACCEPTED" if not red else words["JUnit"] if words["JUnit"] != "ACCEPTED" else "red"
	sentences["Markdown"] = re.search(r"\*\*(.*?)\*\*", run("export", "markdown", "kept.json")[1]).group(1)
	words["Markdown"] = word_in(sentences["Markdown"])
	metrics = run("export", "prometheus", "kept.json")[1]
	accepted = re.search(r"^gpuproof_check_accepted\S* ([01])$", metrics, re.M).group(1) == "1"
	words["Prometheus"] = "ACCEPTED" if accepted else words["JSON"] if words["JSON"] != "ACCEPTED" else "not accepted"
	nagios = run("check", "kept.json", "--as", "nagios")[0]
	words["nagios"] = {0: "ACCEPTED", 1: "ACCEPTED", 2: "REJECTED"}.get(nagios, "INCONCLUSIVE")
	npd = run("check", "kept.json", "--as", "npd")[0]
	words["node-problem-detector"] = {0: "ACCEPTED", 1: "REJECTED"}.get(npd, "INCONCLUSIVE")
	ocp = run("export", "ocp", "kept.json")[1].rstrip("\n")
	end = json.loads(ocp.split("\n")[-1])["testRunArtifact"]["testRunEnd"]
	words["OCP"] = {"PASS": "ACCEPTED", "FAIL": "REJECTED"}.get(end["result"], "INCONCLUSIVE")
	words["OCP's diagnoses"] = words["OCP"] if ('"type":"FAIL"' in ocp) == (words["OCP"] == "REJECTED") else "another verdict"
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
		words["CSV"] = f"no FAIL of {sorted(lacks)[:3]}"
	return words, sentences, said
