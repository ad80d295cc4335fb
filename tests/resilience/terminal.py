"""What a person does to a run in a terminal; test_terminal.sh gives it the program and an empty folder."""
import fcntl, json, os, pty, re, select, signal, struct, subprocess, sys, termios, time

PROGRAM = sys.argv[1]
CTRL_C, CTRL_Z = b"\x03", b"\x1a"
PATIENCE = 60
failures = 0


def fail(*words):
    global failures
    failures += 1
    print("FAILED:", *words)


class Terminal:
    """A program on a terminal of its own, as its foreground job."""

    def __init__(self, *arguments, fake, columns=100):
        os.environ["GPUPROOF_FAKE"] = fake
        self.said = b""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        # No fork in between: its process is the program's. What started the test may have SIGINT ignored.
        self.process = subprocess.Popen(["env", "--default-signal", "setsid", "--ctty", *arguments],
                                        stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.fd = ours

    def listen(self, seconds, until=None):
        """Reads until `until` was said or the time is over; False when the terminal is gone or the time is."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if until and until in self.said:
                return True
            if not select.select([self.fd], [], [], 0.02)[0]:
                continue
            try:
                block = os.read(self.fd, 65536)
            except OSError:
                return False
            if not block:
                return False
            self.said += block
        return False

    def wait_for(self, text):
        if not self.listen(PATIENCE, text):
            fail("never said", text, "but", self.text()[-600:])

    def press(self, key):
        os.write(self.fd, key)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self):
        os.close(self.fd)
        self.fd = -1

    def end(self):
        """The exit code; negative: the signal that ended it."""
        while self.fd >= 0 and self.process.poll() is None:
            self.listen(0.1)
        if self.fd >= 0:
            self.listen(0.2)
            self.close()
        return self.process.wait(PATIENCE)

    def text(self):
        return self.said.decode(errors="replace")


def processes_of(folder):
    """Every process that has the folder on its command line, zombies aside."""
    listed = subprocess.run(["ps", "-eo", "stat=,args="], capture_output=True, text=True).stdout
    return [line for line in listed.splitlines()
            if line[0] != "Z" and "run" in line and re.search(r" " + re.escape(folder) + r"( |$)", line)]


def left_of(folder):
    """The processes that are still there after ten seconds: they end after the one that the shell waits for."""
    end = time.monotonic() + 10
    while processes_of(folder) and time.monotonic() < end:
        time.sleep(0.02)
    return processes_of(folder)


def look_at(folder, what, resume_code=0, fake="devices=2"):
    """What must hold of any run that has come to an end, whatever ended it."""
    left = left_of(folder)
    if left:
        fail(what, "left", left)
    with open(folder + "/result.json") as file:
        result = json.load(file)
    with open(folder + "/report.html") as file:
        if "</html>" not in file.read()[-30:]:
            fail(what, "half a report")
    os.environ["GPUPROOF_FAKE"] = fake
    resumed = subprocess.run([PROGRAM, "run", "--resume", folder, "--quiet"], capture_output=True, text=True)
    if resumed.returncode != resume_code or resumed.stdout.strip() != folder + "/report.html":
        fail(what, "--resume:", resumed.returncode, resumed.stdout, resumed.stderr)
    with open(folder + "/result.json") as file:
        whole = json.load(file)
    if whole["run"]["state"] != "complete" or len(whole["cases"]) != whole["run"]["planned"]:
        fail(what, "is not complete after --resume:", whole["run"])
    return result


def config(name, samples, sizes="1KiB, 2KiB", suite=None, run=""):
    with open(name, "w") as file:
        file.write(f"[run]\nbackend = fake\n{run}[defaults]\nmin_samples = {samples}\nmax_samples = {samples}\n"
                   "sample_time = 1ms\nmax_time = 1h\n")
        file.write(suite or f"[suite transfer]\ndirections = h2d\nmemories = pinned\nsizes = {sizes}\n")


def run(folder, file, fake="devices=2 clock=host", *options, columns=100):
    return Terminal(PROGRAM, "run", file, "-o", folder, *options, fake=fake, columns=columns)


def interrupted(terminal, folder, what, code=130):
    """It ended with the code, told where the report is and how to continue."""
    got = terminal.end()
    if got != code:
        fail(what, "exit code", got, "not", code, terminal.text()[-800:])
    for words in (folder + "/report.html", "To continue: gpuproof run --resume " + folder):
        if words not in terminal.text():
            fail(what, "does not say", words, terminal.text()[-800:])


def test_sizes_of_the_window():
    terminal = run("sizes", "short.ini")
    terminal.wait_for(b"case 1/")
    for rows, columns in ((10, 20), (24, 132), (1, 1), (0, 0), (24, 60)):
        terminal.resize(rows, columns)
        terminal.listen(0.15)
    if terminal.end() != 0:
        fail("a window that changes its size", terminal.text())
    look_at("sizes", "a window that changes its size")


def test_ctrl_c_in_a_sample():
    terminal = run("sample", "long.ini")
    terminal.wait_for(b"case 1/")
    terminal.listen(0.2)
    terminal.press(CTRL_C)
    interrupted(terminal, "sample", "Ctrl-C in a sample")


def test_second_ctrl_c():
    """While a case hangs the second one ends it at once; the report is written all the same."""
    terminal = run("second", "long.ini", "devices=2 hang@copy:30")
    terminal.wait_for(b"case 1/")
    terminal.press(CTRL_C)
    terminal.wait_for(b"Press Ctrl-C again to stop now")
    terminal.listen(0.4)
    began = time.monotonic()
    terminal.press(CTRL_C)
    interrupted(terminal, "second", "a second Ctrl-C")
    if time.monotonic() - began > 4:
        fail("a second Ctrl-C took", time.monotonic() - began, "s")


def test_ctrl_c_while_probing():
    """Nothing has begun: nothing is left, and the shell sees that the signal ended it."""
    terminal = run("probing", "short.ini", "devices=2 hang@open")
    terminal.listen(0.5)
    terminal.press(CTRL_C)
    if terminal.end() != -signal.SIGINT:
        fail("Ctrl-C while probing:", terminal.text())
    left = left_of("probing")
    if os.path.exists("probing") or left:
        fail("Ctrl-C while probing left", os.listdir("."), left)


def test_ctrl_c_while_ranks_set_up():
    for n, seconds in enumerate((0, 0.02, 0.06, 0.2)):
        folder = f"ranks{n}"
        terminal = run(folder, "ranks.ini", "devices=4")
        terminal.wait_for(b"about")
        terminal.listen(seconds)
        terminal.press(CTRL_C)
        terminal.end()
        if b"before the first measurement" in terminal.said and terminal.process.returncode == 130:
            if os.path.exists(folder):
                fail("Ctrl-C before the first case left", os.listdir(folder))
            continue
        if b"; complete" in terminal.said:
            continue  # a fast machine was done before the key came
        interrupted(terminal, folder, f"Ctrl-C while ranks are set up, {seconds} s")
        look_at(folder, f"Ctrl-C while ranks are set up, {seconds} s", fake="devices=4")


def test_ctrl_c_between_launches():
    """It used to be lost, and the next launch began; or to end the program without a report."""
    for n, seconds in enumerate((0, 0.02, 0.05)):
        folder = f"between{n}"
        terminal = run(folder, "brief.ini", "devices=2 clock=host", "--launches", "40")
        terminal.wait_for(b"launch 2 of 40")
        terminal.listen(seconds)
        terminal.press(CTRL_C)
        interrupted(terminal, folder, f"Ctrl-C between launches, {seconds} s")
        result = json.load(open(folder + "/result.json"))
        if result["run"]["state"] != "interrupted":
            fail("a run without its last launches is", result["run"]["state"])
        if os.path.exists(folder + "/launch-40"):
            fail("Ctrl-C between launches: all of them were made")


def test_ctrl_c_after_the_measurement():
    """All is measured, and the driver hangs when it is looked at once more: the first one is answered, the second ends it."""
    with open("calls", "wb") as file:
        file.write(bytes(56))
    terminal = run("after", "checked.ini", f"devices=2 calls={os.getcwd()}/calls hang@open:3", "--check")
    end = time.monotonic() + PATIENCE
    while not os.path.exists("after/result.json") and time.monotonic() < end:
        terminal.listen(0.05)
    terminal.listen(0.3)
    terminal.press(CTRL_C)
    terminal.wait_for(b"stopping as soon as the results are written. Press Ctrl-C again to stop now.")
    terminal.listen(0.4)
    terminal.press(CTRL_C)
    if terminal.end() != -signal.SIGINT:
        fail("a second Ctrl-C after the measurement: exit code", terminal.process.returncode, terminal.text())
    os.environ["GPUPROOF_FAKE"] = "devices=2"
    resumed = subprocess.run([PROGRAM, "run", "--resume", "after", "--check"], capture_output=True, text=True)
    if resumed.returncode != 0 or "nothing to do" not in resumed.stderr or "ACCEPTED" not in resumed.stdout:
        fail("--resume --check of what is measured:", resumed)


def test_ctrl_c_in_a_comparison():
    """Its two sides cannot be continued, which is said."""
    terminal = run("compared", "long.ini", "devices=2 clock=host", "--against", "long.ini")
    terminal.wait_for(b"case 1/")
    terminal.press(CTRL_C)
    if terminal.end() != 130 or b"cannot be continued. The results so far are in compared/a" not in terminal.said:
        fail("Ctrl-C in a comparison:", terminal.process.returncode, terminal.text())


def test_closed_window():
    terminal = run("closed", "long.ini")
    terminal.wait_for(b"case 1/")
    terminal.close()
    if terminal.end() != 143:
        fail("a closed window: exit code", terminal.process.returncode)
    result = json.load(open("closed/result.json"))
    if result["run"]["state"] != "interrupted" or not os.path.exists("closed/report.html"):
        fail("a closed window:", result["run"], os.listdir("closed"))


def test_ctrl_z():
    """Stopped, the time does not count; in the background nothing is drawn over what the shell shows."""
    shell = Terminal("bash", "--norc", "--noediting", "-i", fake="devices=2 clock=host")
    shell.listen(0.3)
    shell.press(f"PS1='$ '; '{PROGRAM}' run short.ini -o stopped\n".encode())
    shell.wait_for(b"case 1/")
    shell.press(CTRL_Z)
    shell.wait_for(b"Stopped")
    shell.listen(1)
    shell.press(b"bg; echo in the background\n")
    shell.wait_for(b"\nin the background")
    shell.listen(0.3)
    before = len(shell.said)
    shell.listen(0.7)
    drawn = shell.said[before:]
    if b"case " in drawn and b"cases: " not in drawn:
        fail("a run in the background draws", drawn)
    shell.press(b"fg\n")
    shell.wait_for(b"stopped/report.html")
    shell.press(b"exit\n")
    shell.end()
    result = look_at("stopped", "Ctrl-Z")
    if [case["id"] for case in result["cases"] if case["status"] != "OK"]:
        fail("Ctrl-Z cost a case:", shell.text()[-800:])


config("short.ini", 250, "4MiB, 5MiB, 6MiB, 7MiB")
config("brief.ini", 5)
config("long.ini", 1000000)
config("checked.ini", 5, suite="[suite transfer]\ndirections = h2d\nmemories = pinned\nsizes = 4KiB\n"
       "[limit fast]\nmetric = transfer.bandwidth\nmin = 1 MB/s\n")
config("ranks.ini", 2, suite="[suite parallel]\nlayers = 256, 256, 64\nbatch = 60\nmicrobatches = 2\n"
       "devices = 2, 3\nmodes = ddp, tensor, 1f1b\nsustained_time = 0s\n")
for name, test in list(globals().items()):
    if name.startswith("test_"):
        began = time.monotonic()
        test()
        print(f"{name}: {time.monotonic() - began:.1f} s")
sys.exit(1 if failures else 0)
