"""Reads every export with a real parser: of an ordinary result, and of one with hostile text in all its strings.
usage: PROGRAM=gpuproof export_formats.py RESULT LIMITS"""
import copy, csv, io, itertools, json, os, re, shutil, subprocess, sys, unicodedata
import xml.etree.ElementTree as ET

PROGRAM = os.environ["PROGRAM"]
FORMATS = ["junit", "markdown", "csv", "csv-samples", "prometheus", "result", "gbench", "github-action-bigger",
	   "github-action-smaller"]
HOSTILE = ["<script>alert(1)</script>", "]]>", "a\nb\r\nc\td", "\x01\x1b[31m\x7f", "\u202eevil\u2066", "=1+1", "+1", "-1",
	   "@SUM(A1)", "\t=1", "＝1", '"quoted", \'q\'', "| a | b |", "``` `x` ```", "{{name}}", "\\\\\" \\", "&amp;&#0;",
	   "https://example.com/ @user #1 <b>", "שלום", "\U0001f600", "\ufffe\uffff", " ", ""]
LONG = "<b>]]>" * 170_000
csv.field_size_limit(1 << 24)
failures = []

def check(condition, message):
	if not condition:
		failures.append(message[:500])

def export(form, result, *options):
	done = subprocess.run([PROGRAM, "export", form, result, *options], capture_output=True)
	check(done.returncode == 0, f"{form}: exit code {done.returncode}: {done.stderr[:300]}")
	try:
		text = done.stdout.decode("utf-8")
	except UnicodeDecodeError as error:
		check(False, f"{form}: {error}")
		text = done.stdout.decode("utf-8", "replace")
	return text

def no_controls(form, text, allowed):
	bad = {c for c in text if unicodedata.category(c) == "Cc" and c not in allowed}
	check(not bad, f"{form}: control characters {bad!r}")

# Members of Jenkins' schema; `file` and properties of test cases are not in all versions of it.
ATTRIBUTES = {
	"testsuites": {"name", "time", "tests", "failures", "errors"},
	"testsuite": {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname"},
	"testcase": {"name", "time", "classname"},
	"failure": {"type", "message"}, "error": {"type", "message"}, "skipped": {"type", "message"}, "system-out": set(),
}
CHILDREN = {"testsuites": {"testsuite"}, "testsuite": {"testcase"},
	    "testcase": {"failure", "error", "skipped", "system-out"}}

def check_junit(text, result, limits):
	no_controls("junit", text, "\n\t")
	root = ET.fromstring(text)
	for e in root.iter():
		check(e.tag in ATTRIBUTES, f"junit: element {e.tag}")
		check(set(e.keys()) <= ATTRIBUTES.get(e.tag, set()), f"junit: attributes of {e.tag}: {e.keys()}")
		check({c.tag for c in e} <= CHILDREN.get(e.tag, set()), f"junit: children of {e.tag}")
		if "time" in e.keys():
			check(re.fullmatch(r"[0-9]+\.[0-9]{3}", e.get("time")), f"junit: time {e.get('time')}")
	for suite in root:
		tests = list(suite)
		check(int(suite.get("tests")) == len(tests), "junit: count of tests")
		for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
			check(int(suite.get(attribute)) == len(suite.findall(f"testcase/{tag}")), f"junit: {attribute}")
	names = [(t.get("classname"), t.get("name")) for t in root.iter("testcase")]
	check(len(names) == len(set(names)), "junit: names are not unique")
	count = {s: sum(c["status"] == s for c in result["cases"]) for s in ("OK", "FAILED", "ERROR", "SKIPPED")}
	cases = [t for s in root if s.get("name") not in ("run", "limits") for t in s]
	if all(c["suite"] not in ("", "run", "limits") for c in result["cases"]):
		check(len(cases) == len(result["cases"]), "junit: a test per case")
		for status, tag in (("FAILED", "failure"), ("ERROR", "error"), ("SKIPPED", "skipped")):
			check(sum(t.find(tag) is not None for t in cases) == count[status], f"junit: {status} is not {tag}")
	judged = [t for s in root if s.get("name") == "limits" for t in s]
	verdict = [t for t in judged if t.get("name") == "verdict"]
	check(len(verdict) == 1, "junit: one verdict")
	check((verdict[0].find("skipped") is None) == limits, "junit: a verdict where nothing was judged, or none where it was")
	check((len(judged) > 1) == limits, "junit: tests of limits")
	return judged

def check_csv(text, result):
	no_controls("csv", text, "\n\r\t")
	rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
	check(len({len(r) for r in rows}) == 1, "csv: rows of different length")
	metrics = [(c, n, m) for c in result["cases"] for n, m in (c["metrics"] or {"": None}).items()]
	check(len(rows) == 1 + len(metrics), f"csv: {len(rows)} rows")
	for row, (case, name, metric) in zip(rows[1:], metrics):
		row = dict(zip(rows[0], row))
		if metric and metric["value"] is not None:
			check(float(row["value"]) == metric["value"], f"csv: value {row['value']}")
			check(row["status"] == case["status"], "csv: status")
	numbers = [i for i, n in enumerate(rows[0]) if n in ("value", "low", "high")]
	for row in rows[1:]:
		for i, field in enumerate(row):
			check(i in numbers or not field.lstrip(" ")[:1] in tuple("=+@＝＋－＠\t") + ("-",) or
			      re.fullmatch(r"-?[0-9.e+-]+", field), f"csv: a formula: {field[:40]!r}")
	check(all(line.endswith("\r\n") for line in text.splitlines(True)[:1]), "csv: line ends")

def check_samples(text, result):
	rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
	values = [v for c in result["cases"] for s in c["samples"].values() for v in s["values"]]
	check([float(r["value"]) for r in rows if r["value"]] == [v for v in values if v is not None], "csv-samples: values")

LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{' + LABEL + '(?:,' + LABEL + r')*\})? ([-+0-9.e]+)')

def check_prometheus(text, result):
	no_controls("prometheus", text, "\n\t")
	check(text.endswith("\n"), "prometheus: last line")
	seen, types, last = set(), set(), None
	for line in text.split("\n")[:-1]:
		if line.startswith("# HELP "):
			continue
		if line.startswith("# TYPE "):
			last = line.split(" ")[2]
			check(last not in types, f"prometheus: {last} twice")
			types.add(last)
			continue
		sample = SAMPLE.fullmatch(line)
		check(sample, f"prometheus: {line[:200]!r}")
		if sample:
			check(sample[1] == last, f"prometheus: {sample[1]} outside its family")
			check((sample[1], sample[2]) not in seen, f"prometheus: repeated {line[:100]}")
			seen.add((sample[1], sample[2]))
			float(sample[3])
	check(len(seen) > 5, "prometheus: hardly any sample")
	if shutil.which("promtool"):
		lint = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True)
		# Only names that are ours can please it in style.
		check(b"error while linting" not in lint.stderr, f"prometheus: promtool: {lint.stderr.decode()}")

def check_gbench(text, result):
	document = json.loads(text, parse_constant=lambda c: check(False, f"gbench: {c}"))
	check(set(document) == {"context", "benchmarks"}, "gbench: members")
	for b in document["benchmarks"]:
		check({"name", "run_name", "run_type", "repetitions", "threads"} <= set(b), "gbench: members of a benchmark")
		if not b.get("error_occurred"):
			check({"iterations", "real_time", "cpu_time", "time_unit"} <= set(b), "gbench: times")
	timed = [c for c in result["cases"] if c["status"] == "OK" and any(s["unit"] == "s" and s["values"] for s in c["samples"].values())]
	check(sum(b["run_type"] == "aggregate" for b in document["benchmarks"]) == len(timed), "gbench: a median per case")

def check_actions(text, result, better):
	entries = json.loads(text)
	wanted = [m["value"] for c in result["cases"] if c["status"] == "OK" for m in c["metrics"].values()
		  if m["headline"] and m["better"] == better and m["value"] is not None]
	check([e["value"] for e in entries] == wanted, f"github-action {better}: values")
	for e in entries:
		check(set(e) - {"range", "extra"} == {"name", "unit", "value"}, "github-action: members")

def check_markdown(text):
	no_controls("markdown", text, "\n")
	check(len(text.encode()) <= 1 << 20, "markdown: over 1 MiB")
	for line in text.split("\n"):
		if not line.startswith("|"):
			check("<" not in line and "http" not in line, f"markdown: {line[:80]!r}")
			continue
		# Without its code spans a row holds our words only.
		rest = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", line)
		check(not re.search(r"[<>{}@]|script|http|\\\|", rest), f"markdown: outside code: {rest[:120]!r}")

def check_all(path, limits=(), repeat=False):
	with open(path) as f:
		result = json.load(f)
	judged = check_junit(export("junit", path, *limits), result, bool(limits) or "judgement" in result)
	check_markdown(export("markdown", path, *limits))
	check_csv(export("csv", path, *limits), result)
	check_samples(export("csv-samples", path), result)
	check_prometheus(export("prometheus", path, *limits), result)
	check_gbench(export("gbench", path), result)
	check_actions(export("github-action-bigger", path), result, "higher")
	check_actions(export("github-action-smaller", path), result, "lower")
	for form in FORMATS if repeat else ():
		check(export(form, path) == export(form, path), f"{form}: same result, other bytes")
	return judged

# Words that the format of a result allows only some values for.
FIXED = {"format", "status", "end", "better", "interval", "stop", "series", "capabilities", "started", "finished", "text", "unit"}
# Names of devices and cases: unique, and the same wherever they stand.
NAMES = {"id", "device", "devices"}

def poison(value, text, keys=None, key="", names=None):
	"""text(): what each string becomes; `keys`: only members of these names."""
	names = {} if names is None else names
	if isinstance(value, dict):
		return {k: v if k == "parameter_units" else poison(v, text, keys, k, names) for k, v in value.items()}
	if isinstance(value, list):
		return [poison(v, text, keys, key, names) for v in value]
	if not isinstance(value, str) or key in FIXED or (keys and key not in keys):
		return value
	if text and key in NAMES:
		# A device's id is short: a longer one would be cut where the device says it, and not in its cases.
		return names.setdefault(value, f"{len(names)} {text() if '/' in value else text()[:4]}")
	if key == "suite":
		return text() or "none"
	return text() if text else SECRETS[key]

def check_poisoned(result, text, keys, what):
	before = len(failures)
	with open("hostile.json", "w") as f:
		json.dump(poison(result, text, keys), f)
	check_all("hostile.json")
	failures[before:] = [f"{what}: {m}" for m in failures[before:]]

SECRETS = {"hostname": "frodo.example.org", "label": "customer-a", "uuid": "GPU-8f1c2d3e-1111-2222-3333-444455556666",
	   "pci": "0000:3b:00.0", "reason": "lost on frodo at 3b:00.0, see /home/alice/log", "serial": "S/N-1650"}
TELLING = ["frodo", "customer", "8f1c2d3e", "3b:00", "alice", "tight", "own.ini", "S/N"]

def check_anonymised(result, limits):
	telling = poison(result, None, set(SECRETS))
	telling["environment"]["cuda:0 serial"] = SECRETS["serial"]
	with open("telling.json", "w") as f:
		json.dump(telling, f)
	outputs = {form: export(form, "telling.json", "-l", limits, "--anonymise") for form in FORMATS}
	subprocess.run([PROGRAM, "report", "telling.json", "-o", "telling.html", "--anonymise"], check=True, capture_output=True)
	with open("telling.html", encoding="utf-8") as f:
		outputs["report"] = f.read()
	for form, text in outputs.items():
		for word in TELLING:
			check(word not in text, f"{form} --anonymise: '{word}' survives")
	with open("rewritten.json", "w") as f:
		f.write(outputs["result"])
	check_all("rewritten.json")

def main(path, limits):
	check_all(path, repeat=True)
	judged = check_all(path, ("-l", limits))
	check([t for t in judged if t.get("name").startswith("[tight]")] and all(t.find("failure") is not None for t in judged if not t.get("name").startswith("[promises]")), "junit: a limit that is violated is no failure")
	with open(path) as f:
		result = json.load(f)
	# Every status.
	for status in ("SKIPPED", "FAILED", "ERROR"):
		case = copy.deepcopy(result["cases"][0])
		case.update(id=f"{case['id']}/{status}", status=status, reason=f"a reason for {status}")
		case["metrics"] = {} if status == "SKIPPED" else case["metrics"]
		result["cases"].append(case)
	result["run"]["planned"] = 99
	with open("mixed.json", "w") as f:
		json.dump(result, f)
	check_all("mixed.json")
	run = [s for s in ET.fromstring(export("junit", "mixed.json")) if s.get("name") == "run"]
	check(run and run[0].find("testcase/error") is not None, "junit: an incomplete run is no error")
	# Each string another one, all the same, and long ones.
	for turn in range(3):
		order = itertools.cycle(HOSTILE[turn:] + HOSTILE[:turn])
		check_poisoned(result, lambda: next(order), None, f"turn {turn}")
	check_poisoned(result, lambda: "\n=<b>]]>\x1b\u202e|`\"'&", None, "all the same")
	check_poisoned(result, lambda: LONG, {"reason", "hostname"}, "long")
	check_anonymised(result, limits)
	many = copy.deepcopy(result)
	few = result["cases"][0]
	few = dict(few, samples={name: dict(series, values=[]) for name, series in few["samples"].items()})
	many["cases"] = [dict(few, id=f"{few['id']} {i}") for i in range(12000)]
	many["run"].update(planned=12000, samples_left_out=True)
	with open("many.json", "w") as f:
		json.dump(many, f)
	summary = export("markdown", "many.json")
	check_markdown(summary)
	check("rows are left out" in summary, "markdown: rows vanish without a word")
	for message in failures[:20]:
		print(message)
	return 1 if failures else 0

sys.exit(main(sys.argv[1], sys.argv[2]))
