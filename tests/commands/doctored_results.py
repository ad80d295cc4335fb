"""What no look supports is accepted in no output: a result that was accepted is doctored in every way that a broken timer,
a device that skips, a forged file or a foreign process would, and each output (verdict_outputs.py) must tell the verdict that
this calls for, with its cause.

usage: doctored_results.py PROGRAM RESULT [TABLE]     RESULT: accepted, of two identical GPUs; TABLE: file for a Markdown table
"""
import copy
import html
import json
import math
import statistics
import sys

from verdict_outputs import answers, disagreements, run

HEALTHY = json.load(open(sys.argv[2]))
HEALTHY.pop("judgement", None)
failures, table = [], []
CANNOT = "exceeds the maximum of NVIDIA H200"

def judged(name, result, verdict, cause=""):
	"""All outputs tell `verdict`, and the terminal the cause."""
	json.dump(result, open("doctored.json", "w"))
	words, _, said = answers("doctored.json", [])
	table.append((name, words))
	if words["exit code"] != verdict:
		failures.append(f"{name}: {words['exit code']}, not {verdict}: {said.splitlines()[-1:]}")
	if cause not in said:
		failures.append(f"{name}: '{cause}' is missing in: {said[-400:]}")
	failures.extend(f"{name}: {text}" for text in disagreements(words))

def metrics_of(result, chosen):
	return [m for c in result["cases"] for name, m in c["metrics"].items() if chosen(c, name, m)]

def is_rate(_case, _name, metric):
	return metric["better"] == "higher" and metric["unit"] in ("B/s", "FLOP/s")

def scale(metrics, factor, *members):
	for metric in metrics:
		for member in members:
			if isinstance(metric.get(member), list):
				metric[member] = [v and v * factor for v in metric[member]]
			elif metric.get(member) is not None:
				metric[member] *= factor

FIGURE = ("value", "low", "high")

def figures_times(factor, consistent, chosen=is_rate):
	"""Figures times `factor`; consistent: with launches, amounts and samples that give them."""
	result = copy.deepcopy(HEALTHY)
	metrics = metrics_of(result, chosen)
	scale(metrics, factor, *FIGURE, "launches", *(("within",) if consistent else ()))
	if consistent:
		scale([m for m in metrics if "amount" in m], factor, "amount")
	return result

def first(name, device=None):
	return lambda c, n, _m: n == name and device in (None, c["device"])

def one_figure(name):
	result = copy.deepcopy(HEALTHY)
	return result, metrics_of(result, first(name))[0]

def skip(chosen):
	result = copy.deepcopy(HEALTHY)
	for case in result["cases"]:
		if chosen(case):
			case.update(status="SKIPPED", reason="not supported here", metrics={}, samples={})
			case["verification"]["done"] = False
			for member in ("timeline", "energy", "watches", "end"):
				case.pop(member, None)
	return result

def impossible():
	for factor in 1.05, 1.5, 10:
		judged(f"rates x {factor}", figures_times(factor, False), "INCONCLUSIVE", "cause: impossible")
	for factor in 1.5, 10:
		judged(f"rates x {factor}, with their amounts", figures_times(factor, True), "INCONCLUSIVE", CANNOT)
	for name in sorted({n for c in HEALTHY["cases"] for n, m in c["metrics"].items() if m["headline"] and is_rate(c, n, m)}):
		for factor in 1.05, 1.5, 10:
			judged(f"{name} x {factor} on cuda:1", figures_times(factor, False, first(name, "cuda:1")), "INCONCLUSIVE",
			       "cause: impossible")
	# The burst, next to a throughput that can be.
	for factor, verdict, cause in ((1.2, "ACCEPTED", ""), (2, "INCONCLUSIVE", CANNOT)):
		result, metric = one_figure("matmul.throughput")
		burst = dict(metric, headline=False, series="")
		scale([burst], factor, *FIGURE, "amount")
		next(c["metrics"] for c in result["cases"] if metric in c["metrics"].values())["matmul.burst"] = burst
		judged(f"matmul.burst of {factor} x the throughput", result, verdict, cause)

def inconsistent():
	for name in "stream.bandwidth", "transfer.bandwidth", "matmul.throughput", "parallel.step_time", "alloc.latency":
		result, metric = one_figure(name)
		scale([metric], 1.5, *FIGURE)
		judged(f"{name} 1.5 x its samples", result, "INCONCLUSIVE", "contradicts its samples")
		result, metric = one_figure(name)
		metric["launches"] = [metric["value"] * f for f in (1, 0.99, 0.98)]
		scale([metric], 1.02, *FIGURE)
		judged(f"{name} above all its launches", result, "INCONCLUSIVE", "is outside the range of its repetitions")

def skipped():
	suites = sorted({c["suite"] for c in HEALTHY["cases"]})
	for suite in suites:
		for device in "cuda:0", "cuda:1":
			alone = lambda c, d=device: c["suite"] == suite and c["devices"] == [d]
			if any(alone(c) for c in HEALTHY["cases"]) and any(c["suite"] == suite and c["devices"] != [device] and
			                                                   len(c["devices"]) == 1 for c in HEALTHY["cases"]):
				judged(f"{suite} skipped on {device}", skip(alone), "REJECTED", "skipped on this device, but measured on cuda:")
		judged(f"{suite} skipped on all", skip(lambda c: c["suite"] == suite), "INCONCLUSIVE",
		       f"no case of suite {suite} was measured" if suite in ("alloc", "parallel") else "not measured, although")
	for part in "h2d/pinned", "d2h/pinned", "p2p/":
		judged(f"{part} skipped on all", skip(lambda c: part in c["id"]), "INCONCLUSIVE", "not measured, although")
	for precision in "fp32", "tf32", "fp16", "bf16":
		for device, other in ("cuda:0", "cuda:1"), ("cuda:1", "cuda:0"):
			judged(f"matmul {precision} missing on {device}", skip(lambda c: c["id"].startswith(f"matmul/{precision}/") and
			       c["device"] == device), "REJECTED", f"skipped on this device, but measured on {other}")
		judged(f"matmul {precision} skipped on all", skip(lambda c: c["id"].startswith(f"matmul/{precision}/")), "INCONCLUSIVE",
		       "not measured, although")
	result = copy.deepcopy(HEALTHY)
	result["cases"] = [c for c in result["cases"] if not (c["id"].startswith("matmul/fp16/") and c["device"] == "cuda:1")]
	judged("matmul fp16 of cuda:1 not in the file", result, "INCONCLUSIVE")

def foreign():
	text = "1 other process may use this GPU (pid 4711) and will slow down measurements"
	result = copy.deepcopy(HEALTHY)
	result["preflight"] = [f for f in result["preflight"] if f["subject"] != "processes cuda:1"]
	result["preflight"].append(dict(severity="warning", subject="processes cuda:1", topic="processes", device="cuda:1", text=text))
	judged("pid 4711 on cuda:1", result, "INCONCLUSIVE", "pid 4711")
	slow = metrics_of(result, lambda c, _n, m: c["device"] == "cuda:1" and "h2d/pinned" in c["id"] and m["unit"] == "B/s")
	scale(slow, 0.4, *FIGURE, "amount")
	judged("pid 4711 on cuda:1, and its link slow", result, "INCONCLUSIVE", "another process may have used cuda:1, so this value does not count; stop it")

def others():
	result = json.loads(json.dumps(HEALTHY).replace("NVIDIA H200", "NVIDIA Foo 9000"))
	judged("a model without data sheet", result, "INCONCLUSIVE", "no data sheet for 'NVIDIA Foo 9000', so limits are derived from the driver's report")
	result = copy.deepcopy(HEALTHY)
	last = [c for c in result["cases"] if c["device"] == "cuda:1" and "telemetry" in c][-1]["telemetry"]
	last["after"]["ecc_uncorrected"] = (last["before"]["ecc_uncorrected"] or 0) + 2
	judged("2 uncorrected memory errors on cuda:1", result, "REJECTED", "uncorrected memory errors")
	json.dump(result, open("ecc.json", "w"))
	counted("memory errors", "ecc.json", 5)
	if 'failures="1"' not in run("export", "junit", "ecc.json")[1].split("\n")[1] or \
	   "uncorrected memory errors" not in run("export", "markdown", "ecc.json")[1]:
		failures.append("an export of an unjudged result is green, though memory errors were counted")

	last["after"].update(ecc_uncorrected=last["before"]["ecc_uncorrected"], xid_errors=(last["before"]["xid_errors"] or 0) + 1)
	judged("an Xid on cuda:1", result, "REJECTED", "gpu-critical-error")
	json.dump(result, open("xid.json", "w"))
	counted("an Xid", "xid.json", 1)

	headlines()

def headlines():
	"""The first sentence names the GPU and the fault, whatever the fault is."""
	def told(name, result, *words):
		json.dump(result, open("headline.json", "w"))
		said = run("check", "headline.json")[1].rstrip("\n").split("\n")[-1]
		failures.extend(f"{name}: '{w}' is missing in: {said}" for w in words if w not in said)
	result = copy.deepcopy(HEALTHY)
	next(d for d in result["devices"] if d["id"] == "cuda:1")["nvlink_count"] = 17
	told("a lost NVLink link", result, "GPU cuda:1: 17 of 18 NVLink links are active")
	# Limits that could only warn, and are undecided, are no reasons.
	run("check", "headline.json", "--report", "page.html")
	page = open("page.html", encoding="utf-8").read()
	blamed = page[page.index('<ul class="blamed">'):]
	blamed = blamed[:blamed.index("</ul>")]
	if blamed.count("<li>") != 1 or "17 of 18" not in blamed or "more reason" in page:
		failures.append(f"the page of a lost link has other reasons: {blamed[:400]}")
	told("a skipped case", skip(lambda c: c["suite"] == "stream" and c["device"] == "cuda:1"), "GPU cuda:1 in 2 of 3 memory operations, triad and read: skipped on this device")
	result = skip(lambda c: c["id"].startswith("matmul/tf32/") and c["device"] == "cuda:0")
	case = next(c for c in result["cases"] if c["status"] == "SKIPPED" and c["id"].startswith("matmul/tf32/"))
	case.update(status="ERROR", reason="killed by signal 11", end="crashed")
	told("a crash", result, "GPU cuda:0 in TF32 GEMM: killed by signal 11")
	result = copy.deepcopy(HEALTHY)
	telemetry = [c for c in result["cases"] if c["device"] == "cuda:0" and "telemetry" in c][-1]["telemetry"]
	telemetry["after"].update(xid_errors=(telemetry["before"]["xid_errors"] or 0) + 1, xid=79)
	telemetry["before"].update(xid_errors=0)
	telemetry["after"].update(xid_errors=1)
	told("an Xid", result, "GPU cuda:0: Xid 79 during the case: the GPU has fallen off the bus")

def slower(result, factor, device, *parts):
	slow = metrics_of(result, lambda c, n, m: device in c["devices"] and any(p in c["id"] for p in parts) and is_rate(c, n, m))
	scale(slow, factor, *FIGURE, "launches", "within", "amount")
	return result

def rejected(name, result, *reasons):
	"""Terminal and page name each reason in its order: GPU, fault and extent, then the limit, then the next step."""
	json.dump(result, open("rejected.json", "w"))
	said = run("check", "rejected.json", "--report", "page.html")[1]
	box = open("page.html", encoding="utf-8").read()
	box = html.unescape(box[box.index('<section class="verdict'):].split("</section>")[0])
	for place, text in ("terminal", " ".join(said.split())), ("page", box):
		at = text.find("REJECTED")
		for headline, limit, step in reasons:
			for words in filter(None, (limit, step) if place == "terminal" else (headline, limit, step)):
				found = text.find(words, at if words != headline else 0)
				if found < 0:
					failures.append(f"{name}: '{words}' is missing or too early in the {place}: {text[:900]}")
				at = max(at, found)
	if not said.startswith("REJECTED: ") or "no action" in said.lower():
		failures.append(f"{name}: the terminal does not begin with the verdict: {said[:300]}")
	sentence = said[:said.index("\n")]
	failures.extend(f"{name}: '{r[0]}' is missing in: {sentence}" for r in reasons if r[0] not in sentence)

def reasons_of(said):
	"""The end of what check prints: the reasons and the verdict follow the tables."""
	return said[said.index("\n  cuda:0 "):]

def rejections():
	healthy = lambda: copy.deepcopy(HEALTHY)
	memory, gemm = "compare remapped rows", "Compare clocks, power limit"
	pcie, nvlink = "of the PCIe link in nvidia-smi -q", "with nvidia-smi nvlink -s and -e"
	def one(name, result, headline, limit, step, *never):
		rejected(name, result, (headline, limit, step))
		said = run("check", "rejected.json")[1]
		failures.extend(f"{name}: '{w}' is said" for w in never if w in reasons_of(said))
	one("triad and read slow", slower(healthy(), .75, "cuda:1", "stream/"), "GPU cuda:1 is up to 25 % slower than cuda:0 in 2 of 3 memory operations",
	    "(triad worst: 3.30 TB/s against 4.40 TB/s; limit 2 %). It is also 14 % below the fixed limit of 3.84 TB/s.", memory)
	one("FP16 slow", slower(healthy(), .8, "cuda:0", "matmul/fp16"), "GPU cuda:0 is 19 % slower than cuda:1 in FP16 GEMM", "limit 10 %)", gemm)
	one("GEMM slow", slower(healthy(), .85, "cuda:1", "matmul/"), "GPU cuda:1 is up to 16 % slower than cuda:0 in all 4 GEMM types",
	    "(FP16 worst: 550 TFLOP/s against 658 TFLOP/s; limit 10 %)", gemm)
	one("two types slow", slower(healthy(), .85, "cuda:1", "matmul/fp32", "matmul/bf16"), "in 2 of 4 GEMM types, BF16 and FP32", "limit 10 %)", gemm)
	one("h2d slow", slower(healthy(), .5, "cuda:0", "/h2d/"), "GPU cuda:0 is 50 % slower than cuda:1 in copies from the host", "limit 2 %)", pcie, "nvlink")
	one("PCIe slow", slower(healthy(), .5, "cuda:1", "/h2d/", "/d2h/", "/both/"), "GPU cuda:1 is up to 50 % slower than cuda:0 in both directions of copies "
	    "between host and GPU", "(from the host worst: 27.5 GB/s against 55.1 GB/s; limit 2 %)", pcie, "nvlink")
	one("NVLink slow", slower(healthy(), .3, "cuda:1", "/p2p/"), "GPUs cuda:0 and cuda:1 are 63 % below the limit in both directions of copies between GPUs",
	    "(cuda:1 to cuda:0 worst: 116 GB/s; limit at least 315 GB/s", nvlink, "PCIe")
	one("NVLink slow one way", slower(healthy(), .3, "cuda:1", "MiB@cuda:1,cuda:0"), "in copies between GPUs from cuda:1 to cuda:0", "limit at least 315 GB/s", nvlink)
	one("d2h slow, within its references", slower(healthy(), .975, "cuda:0", "/d2h/"), "GPU cuda:0 is 2.6 % slower than cuda:1 in copies to the host", "limit 2 %)",
	    "most likely it is the slower one")
	one("copy slow", slower(healthy(), .7, "cuda:1", "/local/"), "GPU cuda:1 is 30 % slower than cuda:0 in copies within its memory", "limit 2 %)", memory)
	result = healthy()
	case = next(c for c in result["cases"] if c["id"].startswith("matmul/fp16/") and c["device"] == "cuda:1")
	case.update(status="FAILED", reason="wrong result: largest error 0.5, allowed 0.001")
	case["verification"].update(passed=False, max_error=0.5)
	one("a wrong GEMM", result, "GPU cuda:1 computed or copied wrong data in FP16 GEMM", "largest error 0.5, allowed 0.001", "Drain the GPU")
	one("memory not measured", skip(lambda c: c["suite"] == "stream" and c["device"] == "cuda:1"), "GPU cuda:1 in 2 of 3 memory operations, triad and read",
	    "Each GPU must run what an identical GPU runs", "Return this GPU if it skips the case again")
	both = slower(slower(healthy(), .88, "cuda:0", "stream/"), .88, "cuda:1", "stream/")
	rejected("both slow", both, *((f"GPU cuda:{i} is up to 12 % slower than the median of 8 reference GPUs", "limit 3 %)", memory if i else "") for i in (1, 0)))
	if "the median of the node" in reasons_of(run("check", "rejected.json")[1]):
		failures.append("both slow: the median of both is a reason of its own")
	rejected("two faults", slower(slower(healthy(), .8, "cuda:1", "stream/"), .9, "cuda:0", "matmul/"),
	         ("GPU cuda:1 is up to 20 % slower than cuda:0", "limit 2 %)", memory),
	         ("GPU cuda:0 is up to 10 % slower than cuda:1 in all 4 GEMM types (undecided: limit 10 %)", "below the limit of 46.1 TFLOP/s", "Compare with more"))

def reads_high():
	"""One of two GPUs reads too high: reference GPUs contradict it, and the other one is not rejected."""
	for factor in 1.06, 1.1:
		for high, other in ("cuda:0", "cuda:1"), ("cuda:1", "cuda:0"):
			result = slower(copy.deepcopy(HEALTHY), factor, high, "/d2h/")
			judged(f"copies of {high} x {factor}", result, "INCONCLUSIVE", f"GPU {high} in copies to the host: ")
			checks = json.loads(run("check", "doctored.json", "--json")[1])["checks"]
			of = lambda device: {c["verdict"] for c in checks if "/d2h/" in c["case"] and c["devices"] == device}
			if of(other) != {"PASS", "SKIP"} or "INCONCLUSIVE" not in of(high):
				failures.append(f"{high} reads too high: {other} {of(other)}, {high} {of(high)}")
			said = " ".join(run("check", "doctored.json")[1].split())
			failures.extend(f"{high} reads too high: '{w}' is missing in {said[:600]}" for w in (
				f"% better than {other} and", "% better than the median of 8 reference GPUs", "cause: reads-high") if w not in said)
	# The slower one is farther from the reference GPUs.
	judged("copies of cuda:0 x 0.96, of cuda:1 x 1.025", slower(slower(copy.deepcopy(HEALTHY), .96, "cuda:0", "/d2h/"), 1.025, "cuda:1", "/d2h/"),
	       "REJECTED", "GPU cuda:0 is 6.4 % slower than cuda:1")
	# A slow GPU is rejected if the other one agrees with the reference GPUs.
	judged("copies of cuda:1 x 0.9", slower(copy.deepcopy(HEALTHY), .9, "cuda:1", "/d2h/"), "REJECTED", "GPU cuda:1 is 10 % slower than cuda:0")

def host_noise():
	"""Launches of a copy that other users of the host slow down do not decide; the fastest launches do."""
	def launches(zero, one, slow=1, both=1):
		result = slower(copy.deepcopy(HEALTHY), slow * both, "cuda:1", "/h2d/pinned/512MiB")
		result = slower(result, both, "cuda:0", "/h2d/pinned/512MiB")
		for device, factors in ("cuda:0", zero), ("cuda:1", one):
			for m in metrics_of(result, lambda c, n, _m, d=device: n == "transfer.bandwidth" and c["device"] == d and "/h2d/pinned/512MiB" in c["id"]):
				# The value is between the launches, and the samples belong to the first one.
				m["launches"] = [m["value"] * f for f in factors]
				m.pop("within", None)
				# The Hodges-Lehmann estimate of the logarithms.
				means = [math.sqrt(a * b) for i, a in enumerate(m["launches"]) for b in m["launches"][i:]]
				m.update(value=statistics.median(means), low=min(m["launches"]), high=max(m["launches"]), interval="launches")
		return result
	quiet, noisy = (1, .999, .998, .999, 1), (1, .995, .93, .99, .9)
	judged("a noisy host", launches(quiet, noisy), "ACCEPTED")
	judged("too few launches on a noisy host", launches(quiet[:3], noisy[:3]), "INCONCLUSIVE", "copies from the host")
	judged("a slow link on a noisy host", launches(quiet, noisy, .96), "REJECTED", "slower than cuda:0 in copies from the host")
	# The fastest launches agree, so neither GPU reads too high, in whichever order they come.
	high = (1.0, 1.06, 1.05, 1.06, 1.04)
	for zero, one in (quiet, high), (high, quiet), (high, noisy), (noisy, high):
		judged("launches that vary upwards", launches(zero, one), "INCONCLUSIVE")
		for c in json.loads(run("check", "doctored.json", "--json")[1])["checks"]:
			if "better than" in c["reason"] and "with which" in c["reason"] and "-" in c["reason"].split("%")[0]:
				failures.append(f"the slower GPU is said to read high: {c['reason']}")
	for zero, one in (quiet, noisy), (noisy, quiet):
		judged("equal fastest launches above the references", launches(zero, one, both=1.04), "ACCEPTED")

def one_slow_end():
	"""A GPU that all slow links share is named, and not each of its links."""
	def of_four(slow):
		result = copy.deepcopy(HEALTHY)
		text = json.dumps({"devices": HEALTHY["devices"], "cases": [c for c in HEALTHY["cases"] if "/p2p/" not in c["id"]]})
		for old, new in ("cuda:0", "cuda:2"), ("cuda:1", "cuda:3"), ("serial-", "serial-2-"), ("uuid-", "uuid-2-"):
			text = text.replace(old, new)
		more = json.loads(text)
		result["devices"] += more["devices"]
		result["cases"] += more["cases"]
		for like in [c for c in result["cases"] if "/p2p/" in c["id"] and c["id"].endswith("cuda:0,cuda:1")]:
			for a, b in [(a, b) for a in range(4) for b in range(4) if a != b and {a, b} != {0, 1}]:
				result["cases"].append(json.loads(json.dumps(like).replace("cuda:0", "cuda:A").replace("cuda:1", f"cuda:{b}")
				                                  .replace("cuda:A", f"cuda:{a}")))
		result["run"]["planned"] = len(result["cases"])
		return slower(result, .3, *slow) if slow else result
	json.dump(of_four(None), open("four.json", "w"))
	if run("check", "four.json")[0] != 0:
		failures.append("four sound GPUs are not accepted")
	rejected("all links of cuda:2 slow", of_four(("cuda:2", "/p2p/")),
	         ("GPU cuda:2 is 63 % below the limit in all 6 directions of copies between GPUs", "limit at least 315 GB/s", "nvidia-smi nvlink"))
	if "Also:" in run("check", "rejected.json")[1]:
		failures.append("the other ends of the links of cuda:2 are named as well")
	two = slower(slower(of_four(None), .3, "cuda:2", "cuda:2,cuda:3", "cuda:3,cuda:2"), .3, "cuda:0", "cuda:0,cuda:1", "cuda:1,cuda:0")
	rejected("two links slow", two, ("GPUs cuda:0 and cuda:1 are 63 % below the limit", "315 GB/s", ""),
	         ("GPUs cuda:2 and cuda:3 are 63 % below the limit", "315 GB/s", ""))

def collectives():
	"""Limits on collectives judge pairs over NVLink: not copies through the host, several nodes, or more devices."""
	def pair(share, links=18, chosen="transport: nccl", **parameters):
		result = copy.deepcopy(HEALTHY)
		for device in result["devices"]:
			device["nvlink_count"] = links
		like = next(c for c in result["cases"] if "/p2p/" in c["id"])
		# Measured on two H200s; the interval is the usual one between runs.
		for operation, value in ("all_reduce", 300.3e9 * share), ("all_gather", 246.0e9 * share):
			metric = dict(value=value, unit="B/s", better="higher", headline=True, low=value * .982, high=value * 1.018,
			              interval="typical", within_low=value * .999, within_high=value * 1.001, n=20, series="")
			case = dict(copy.deepcopy(like), suite="collective", id=f"collective/2/{operation}/256MiB@cuda:0,cuda:1",
			            parameters={"devices": 2, "operation": operation, "size": 1 << 28, **parameters},
			            parameter_text={"devices": str(parameters.get("devices", 2)), "size": "256MiB"},
			            parameter_units={"devices": "1", "size": "B"},
			            point=[{"axis": "operation", "value": operation}], metrics={"collective.busbw": metric}, samples={},
			            notes="", paths=[chosen] if chosen else [])
			case.pop("timeline", None)
			result["cases"].append(case)
		result["run"]["planned"] = len(result["cases"])
		return result
	def limits_of(result):
		json.dump(result, open("pair.json", "w"))
		code, said = run("check", "pair.json", "--json")
		return code, {c["limit"]: c["verdict"] for c in json.loads(said)["checks"] if c["limit"] in ("all-reduce", "all-gather")}
	for name, result, code, verdict in (
			("a healthy pair", pair(1), 0, "PASS"), ("two dead links of 18", pair(16 / 18), 1, "FAIL"),
			("a third of the rate", pair(1 / 3), 1, "FAIL"), ("transport as a parameter", pair(1 / 3, chosen="", transport="nccl"), 1, "FAIL"),
			("copies through the host", pair(.1, chosen="transport: host_copy"), 4, "INCONCLUSIVE"),
			("host_copy as a parameter", pair(.1, chosen="", transport="host_copy"), 0, "SKIP"),
			("an unknown transport", pair(.1, chosen=""), 0, "SKIP"), ("two nodes", pair(.1, nodes=2), 0, "SKIP"),
			("four devices", pair(.1, devices=4), 0, "SKIP")):
		got = limits_of(result)
		if got != (code, {"all-reduce": verdict, "all-gather": verdict}):
			failures.append(f"collectives, {name}: {got}")
	# A node whose collectives fell back from NCCL is not judged, and so not accepted.
	judged("collectives through the host", pair(.1, chosen="transport: host_copy"), "INCONCLUSIVE", "it used host_copy, which [limit all-")
	# The number of links finds the first dead one.
	rejected("one dead link of 18", pair(17 / 18, 17), ("17 of 18 NVLink links are active", "data sheet", "Return the GPU if a link stays down"))
	rejected("slow collectives", pair(.5), ("GPUs cuda:0 and cuda:1 are 46 % below the limit in both collectives", "limit at least 230 GB/s", "nvidia-smi nvlink"))

def counted(name, path, code):
	"""A fault that was counted rejects, and no output says that a result was wrong."""
	got, said = run("check", path, "--report", "page.html")
	if got != code:
		failures.append(f"{name}: exit code {got}, not {code}")
	run("check", path, "-o", "kept.json")
	said += open("page.html").read() + "".join(run("export", f, "kept.json")[1] for f in ("junit", "markdown", "prometheus", "ocp"))
	said += run("check", path, "--json")[1].replace('"wrong_result": true', "wrong data") + run("check", path, "--as", "nagios")[1]
	for words in "WRONG RESULT", "gpu-wrong-result", "wrong data":
		if words in said:
			failures.append(f"{name}: an output says '{words}': {said[said.find(words) - 200:][:300]}")

def write(path):
	names = list(table[0][1])
	with open(path, "w") as f:
		print("| doctored |", " | ".join(names), "|", file=f)
		print("|---" * (len(names) + 1) + "|", file=f)
		for name, words in table:
			print(f"| {name} |", " | ".join(words.get(n, "") for n in names), "|", file=f)

judged("as it was measured", HEALTHY, "ACCEPTED")
for part in impossible, inconsistent, skipped, foreign, others, rejections, reads_high, host_noise, collectives, one_slow_end:
	part()
if len(sys.argv) > 3:
	write(sys.argv[3])
print("\n".join(failures))
sys.exit(1 if failures else 0)
