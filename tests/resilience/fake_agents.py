#!/usr/bin/env python3
"""usage: fake_agents.py COUNT TEMPLATE

Agents of COUNT nodes in one process, for a conductor that has set GPUPROOF_AGENT_ADDRESS and GPUPROOF_AGENT_TOKEN: they speak
the protocol of src/fleet/wire/message.h and write the summary that TEMPLATE, the folder of a node, holds. One of 100 nodes is 10 % slow, from
f00007 on; of the others f(COUNT/2) dies, f(COUNT/3) falls silent and f(COUNT/4) has another kernel."""
import json
import os
import re
import selectors
import socket
import sys

count, template = int(sys.argv[1]), sys.argv[2]
host, port = os.environ["GPUPROOF_AGENT_ADDRESS"].split(",")[-1].rsplit(":", 1)
token = os.environ["GPUPROOF_AGENT_TOKEN"]
result, header_line = json.load(open(template + "/summary.json")), open(template + "/run.jsonl").readline()
build = result["gpuproof"]["version"]
header = os.path.dirname(os.path.abspath(__file__)) + "/../../src/fleet/wire/message.h"
protocol = int(re.search(r"define FLEET_PROTOCOL (\d+)", open(header).read()).group(1))
planted = {count // 2: "dead", count // 3: "silent", count // 4: "drift"}

NO_TIMES = ("n", "batch", "amount", "warmup")

def scale(values, factor):
    """The same as a slower device gives: samples, statistics and figures agree."""
    for key, value in values.items():
        if isinstance(value, dict):
            scale(value, factor)
        elif isinstance(value, list):
            values[key] = [v * factor if isinstance(v, float) else v for v in value]
        elif isinstance(value, float) and key not in NO_TIMES:
            values[key] = value * factor

made = {}
def variant(factor, kernel):
    if (factor, kernel) not in made:
        document = json.loads(json.dumps(result))
        for case in document["cases"]:
            for metric in case["metrics"].values():
                scale(metric, {"B/s": factor, "s": 1 / factor}.get(metric.get("unit"), 1))
            for series in case["samples"].values():
                scale(series, 1 / factor if series.get("unit") == "s" else 1)
        document["environment"]["kernel"] = kernel
        made[factor, kernel] = json.dumps(document)
    return made[factor, kernel]

def write(folder, what, number):
    os.makedirs(folder, exist_ok=True)
    open(folder + "/run.jsonl", "w").write(header_line)
    factor = 0.9 if what == "slow" else 1 + 0.001 * (number * 7919 % 7 - 3)
    open(folder + "/summary.json", "w").write(variant(factor, "5.0" if what == "drift" else result["environment"]["kernel"]))

poll = selectors.DefaultSelector()
for number in range(count):
    what = planted.get(number, "slow" if number % 100 == 7 else "good")
    s = socket.create_connection((host, int(port)))
    name = "f%05d" % number
    s.sendall((token.ljust(64) + name.ljust(63) + "\n" + json.dumps({"kind": "hello", "protocol": protocol, "build": build,
                                                                     "node": name}) + "\n").encode())
    poll.register(s, selectors.EVENT_READ, [number, what, b"", False])
left = count
while left:
    for key, _ in poll.select(1):
        s, state = key.fileobj, key.data
        number, what = state[0], state[1]
        try:
            data = s.recv(65536)
        except OSError:
            data = b""
        if not data:
            poll.unregister(s)
            s.close()
            left -= 1
            continue
        state[2] += data
        while b"\n" in state[2]:
            line, state[2] = state[2].split(b"\n", 1)
            order = json.loads(line)
            if order["kind"] != "start" or state[3]:
                if order["kind"] == "refuse":
                    sys.stderr.write("refused: %s\n" % order.get("text"))
                continue
            state[3] = True
            if what == "dead":
                s.sendall(b'{"kind":"alive","planned":60,"finished":3,"text":"case in flight"}\n')
                s.shutdown(socket.SHUT_RDWR)
            elif what != "silent":
                write(order["directory"] + "/nodes/f%05d" % number, what, number)
                s.sendall(b'{"kind":"alive","planned":60,"finished":60,"text":""}\n{"kind":"done","state":"complete"}\n')
