"""Every pair of outputs (verdict_outputs.py) of one result tells the same verdict.

usage: outputs_agree.py PROGRAM RESULT... -- RESULT...      the latter only as they are
"""
import copy
import itertools
import json
import os
import re
import sys

from verdict_outputs import answers, disagreements, junit_word, page_of_run, run

RESULTS = sys.argv[2:]
AS_THEY_ARE = RESULTS[RESULTS.index("--") + 1:]
RESULTS.remove("--")
failures = []

def check(path, *limits):
	words, sentences, _ = answers(path, limits)
	plain = {name: re.sub(r"[\\\\]", "", text) for name, text in sentences.items()}
	failures.extend(f"{path}: {text}" for text in disagreements(words) + disagreements(plain))
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
				for member in ("value", "low", "high", "amount"):
					m[member] = m.get(member) and m[member] / 2
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
