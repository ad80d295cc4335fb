"""What the Open Compute Project's specification says of a stream of Test & Validation output 2.0 in prose, beyond its schema:
order, numbers, pairs of begin and end, allowed ends, ids that exist.

usage: ocp_state.py [--killed] FILE...    (--killed: the stream must be right as far as it goes, and have no end)
"""
import json
import sys

ENDS = {("SKIP", "NOT_APPLICABLE"), ("ERROR", "NOT_APPLICABLE"), ("COMPLETE", "PASS"), ("COMPLETE", "FAIL")}
STEP_ENDS = {"COMPLETE", "ERROR", "SKIP"}
VALIDATORS = {"GREATER_THAN_OR_EQUAL", "LESS_THAN_OR_EQUAL"}
INSIDE = {"measurement", "diagnosis", "error", "log"}

class Wrong(Exception):
	pass

def want(truth, what):
	if not truth:
		raise Wrong(what)

class Stream:
	def __init__(self):
		self.lines = self.measurements = self.diagnoses = 0
		self.state, self.step, self.steps, self.hardware = "empty", None, set(), set()
		self.failed = False
		self.last = ""

	def run(self, kind, body):
		if kind == "testRunStart":
			want(self.state == "versioned", "testRunStart is not the second line")
			self.state = "running"
			infos = body["dutInfo"]["hardwareInfos"]
			self.hardware = {i["hardwareInfoId"] for i in infos}
			want(len(self.hardware) == len(infos), "a hardwareInfoId is given twice")
			software = [i["softwareInfoId"] for i in body["dutInfo"]["softwareInfos"]]
			want(len(set(software)) == len(software), "a softwareInfoId is given twice")
		elif kind == "testRunEnd":
			want(self.state == "running" and self.step is None, "testRunEnd inside a step")
			want((body["status"], body["result"]) in ENDS, f"{body}: no valid end")
			want(not self.failed or body["result"] == "FAIL" or body["status"] != "COMPLETE",
			     "a diagnosis is FAIL, and the run PASS")
			self.state = "ended"
		else:
			want(self.state == "running" and kind in {"log", "error"}, f"{kind} outside of a run")

	def in_step(self, id, kind, body):
		want(self.state == "running", f"{kind} outside of a run")
		if kind == "testStepStart":
			want(self.step is None and id not in self.steps, f"step {id} is begun twice, or inside another one")
			self.step = id
			self.steps.add(id)
			return
		want(id == self.step, f"{kind} of step {id}, which is not open")
		if kind == "testStepEnd":
			want(body["status"] in STEP_ENDS, f"step {id} ends in {body['status']}")
			self.step = None
			return
		want(kind in INSIDE, f"{kind} in a step")
		want(body.get("hardwareInfoId", None) in self.hardware | {None}, f"{body}: there is no such hardware")
		self.measurements += kind == "measurement"
		self.diagnoses += kind == "diagnosis"
		self.failed = self.failed or (kind == "diagnosis" and body["type"] == "FAIL")
		for validator in body.get("validators", []):
			want(validator["type"] in VALIDATORS and isinstance(validator["value"], (int, float)), f"{validator}")

	def take(self, line):
		want(self.state != "ended", "a line after the end")
		want(line.pop("sequenceNumber") == self.lines, f"line {self.lines} has another sequenceNumber")
		stamp = line.pop("timestamp")
		want(len(stamp) == 20 and stamp >= "1970", f"timestamp {stamp}")
		self.lines += 1
		(artifact, body), = line.items()
		if artifact == "schemaVersion":
			want(self.state == "empty" and body == {"major": 2, "minor": 0}, "schemaVersion")
			self.state = "versioned"
		elif artifact == "testRunArtifact":
			self.run(*next(iter(body.items())))
		else:
			id = body.pop("testStepId")
			self.in_step(id, *next(iter(body.items())))

def check(path, killed):
	stream = Stream()
	with open(path, encoding="utf-8") as f:
		text = f.read()
	want(killed or text.endswith("\n"), "the last line is not whole")
	for line in text.split("\n")[:-1]:
		stream.take(json.loads(line))
	want(stream.state == ("running" if killed else "ended"), f"the stream is {stream.state} at its end")
	return stream

if __name__ == "__main__":
	killed = sys.argv[1] == "--killed"
	bad, lines, measurements, diagnoses = 0, 0, 0, 0
	for path in sys.argv[1 + killed:]:
		try:
			stream = check(path, killed)
			lines += stream.lines
			measurements += stream.measurements
			diagnoses += stream.diagnoses
		except (Wrong, ValueError, KeyError) as e:
			print(f"{path}: {e}")
			bad += 1
	print(f"{len(sys.argv) - 1 - killed} streams, {lines} lines, {measurements} measurements, {diagnoses} diagnoses; {bad} wrong")
	sys.exit(1 if bad or not lines else 0)
