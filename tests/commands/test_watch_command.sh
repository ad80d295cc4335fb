#!/usr/bin/env bash
# A run at a terminal, in a pipe, resized, interrupted and killed; what `gpuproof watch` tells of it meanwhile.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset NO_COLOR
cat >soak.ini <<-INI
	[run]
	backend = host
	host_devices = 2
	[suite burn]
	loads = fp32, memory
	duration = 6s
	slice = 1s
	size = 256
	memory_most = 8MiB
INI
cat >pairs.ini <<-INI
	[run]
	backend = host
	[defaults]
	max_time = 1ms
	[suite transfer]
	directions = h2d
	memories = pageable
	sizes = 4KiB
	[suite collective]
	operations = all_reduce
	devices = 2
	sizes = 4KiB, 16KiB
INI
cat >terminal.py <<'PYTHON'
import fcntl, json, os, pty, re, select, signal, struct, subprocess, sys, termios, time

program = sys.argv[1]
PATIENCE = 300


def complain(text, output=""):
    sys.exit(f"FAILED: {text}\n{output!r}")


class Terminal:
    """The program at a pseudo-terminal of that many columns."""

    def __init__(self, columns, *arguments, **environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(environment, TERM="xterm")
            os.execv(program, [program, *arguments])
        self.output = ""
        self.resize(columns)

    def resize(self, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read(self, until=lambda output: False):
        """Reads on until the program ends or `until` is true of all that it has written."""
        end = time.time() + PATIENCE
        while not until(self.output):
            if time.time() > end:
                complain("nothing happens", self.output)
            if not select.select([self.fd], [], [], 1)[0]:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return
            if not data:
                return
            self.output += data.decode()

    def code(self):
        self.read()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def ask(*arguments, code=None):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if code is not None and done.returncode != code:
        complain(f"{arguments}: exit code {done.returncode}, not {code}", done.stdout + done.stderr)
    return done


# At a terminal, which becomes narrow while the line is there.
t = Terminal(120, "run", "soak.ini", "-o", "soak")
t.read(lambda output: "burn/0002" in output)
said = ask("report", "soak", code=3).stderr
if "the run is not finished (measuring" not in said or "gpuproof watch soak" not in said:
    complain("report of a running run", said)
status = json.loads(ask("watch", "soak", "--once", "--json", code=0).stdout)
if status["state"] != "running" or status["exit_code"] != -1 or status["cases"]["planned"] != 6:
    complain("status.json", str(status))
seen = ask("watch", "soak", "--once", code=0).stdout
if "of 6 cases: " not in seen or "soak.ini on " not in seen:
    complain("watch --once", seen)
before = len(t.output)
t.resize(40)
t.read(lambda output: "burn/0003" in output[before:])
if not re.search(r"\x1b\[[1-3]A\r\x1b\[J", t.output[before:]):
    complain("the folded line is not taken away", t.output[before:])
narrow = t.output[before:].split("\x1b[J", 1)[1]
for line in re.split(r"\r\x1b\[K", narrow):
    if len(line.split("\r\n")[0]) > 39:
        complain("a line is wider than the terminal", line)
follower = subprocess.Popen([program, "watch", "soak"], stdout=subprocess.PIPE, text=True)
if t.code() != 0:
    complain("exit code", t.output)
end = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", t.output[-3000:]).replace("\r", "")
order = ["±", "vs first", "host:0", "host:1", "6 cases: 6 OK; complete", "soak/report.html"]
places = [end.rfind(word) for word in order]
if -1 in places or places != sorted(places):
    complain(f"the end of the run has not {order} in this order", end)
row = [line for line in end.split("\n") if line.startswith("host:1 ")][-1].split()
if not float(row[1]) > 0 or row[-1] != "0" or row[-2] in "-":
    complain("the row of a device", str(row))
if end.rstrip("\n").split("\n")[-1] != "soak/report.html":
    complain("the last line is no path", end)
said = follower.communicate(timeout=PATIENCE)[0]
if follower.returncode != 0 or "complete" not in said or "\x1b" in said:
    complain("watch until the end", said)
ask("watch", "soak", code=0)

# At a terminal what was skipped is a line per reason, before the counts.
t = Terminal(80, "run", "pairs.ini", "-o", "pairs")
t.code()
told = re.findall(r"SKIPPED \d+ cases?, the first\s+\S*", t.output)
if len(told) != 1 or not re.match(r"SKIPPED 2 cases, the first\s+collective/2/all_reduce/", told[0]):
    complain("SKIPPED is not a line per reason", t.output)
wide = [line for line in re.split(r"[\r\n]+|\x1b\[K", t.output) if len(line) > 80]
if wide:
    complain("lines are not folded at the terminal's edge", wide)

# A verdict in colour, or without where NO_COLOR asks for that.
for environment, colours in ({}, True), ({"NO_COLOR": "1"}, False):
    t = Terminal(80, "run", "quick", "--suites", "launch", "--backend", "host", "-o", "v" + str(colours), "--set", "defaults.max_time=1ms",
                 "--check", **environment)
    t.code()
    if bool(re.search(r"\x1b\[[0-9;]*m", t.output)) != colours:
        complain(f"colours with {environment}", t.output)

# Ctrl-C.
t = Terminal(80, "run", "soak.ini", "-o", "stopped")
t.read(lambda output: "burn/0001" in output)
os.write(t.fd, b"\x03")
if t.code() != 130:
    complain("exit code after Ctrl-C", t.output)
said = ask("watch", "stopped", code=130).stdout
if "interrupted" not in said:
    complain("watch of an interrupted run", said)

# Killed: no process is left to say so.
killed = subprocess.Popen([program, "run", "soak.ini", "-o", "killed"], stderr=subprocess.PIPE, text=True, start_new_session=True)
killed.stderr.readline(), killed.stderr.readline()
killed.kill()
killed.wait()
said = ask("watch", "killed", code=4).stdout
if "the process has exited; last update" not in said:
    complain("watch of a killed run", said)
said = ask("report", "killed", code=3).stderr
if "was killed before it wrote result.json" not in said:
    complain("report of a killed run", said)
try:
    os.killpg(killed.pid, signal.SIGKILL)
except ProcessLookupError:
    pass

# In a pipe nothing is drawn.
done = ask("run", "soak.ini", "-o", "piped", "--set", "burn.duration=2s", code=0)
if "\x1b" in done.stdout + done.stderr or "vs first" not in done.stdout or "[1/2] OK burn/0001" not in done.stderr:
    complain("in a pipe", done.stdout + done.stderr)
ask("watch", "nowhere", code=3)
ask("watch", code=2)
PYTHON
python3 terminal.py "$program"
