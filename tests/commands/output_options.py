"""usage: output_options.py PROGRAM COMMANDS.DEF

Every option with a value, as `help COMMAND` prints it from the option rows, is given each file that its command reads: by its
name, through links, and as /dev/fd/N. No input may change. An option that writes a new file is an output, and has to refuse
(exit code 2) each input that the command reads before. A new output option is tested by being there; a new command
needs a line in COMMANDS. Runs in a folder that test_outputs.sh has filled with the inputs."""
import hashlib, os, re, shutil, subprocess, sys

program = sys.argv[1]
# Files that a command reads, and the call that reads them. "-o new" goes where -o is the option under test.
CALLS = {
    "check": [("m.json l.ini good.json", "check m.json -l l.ini --baseline good.json")],
    "run": [("run.ini part.ini", "run run.ini -o new -q --no-report"),
            ("run.ini l.ini good.json", "run run.ini -o new -q --no-report --check --limits l.ini --baseline good.json"),
            ("hosts", "run run.ini -o new -q --no-report --hosts hosts"),
            ("ended/run.jsonl ended/result.json", "run --resume ended -q --no-report")],
    "doctor": [("hosts", "doctor --fleet -o new --hosts hosts")],
    "compare": [("m.json good.json h.db", "compare m.json good.json -d h.db")],
    "history": [("h.db mine/trend.mustache", "history report -d h.db --template-dir mine"), ("h.db", "history fleet -d h.db"),
                ("h.db", "history node vm -d h.db"), ("m.json", "history add m.json -d other.db"), ("h.db", "history merge h.db -d other.db")],
    "population": [("m.json", "population add m.json -o new.ini")],
    "fleet": [("m.json", "fleet drain m.json")],
    "report": [("m.json good.json", "report m.json good.json"), ("mine/run.mustache key", "report m.json --template-dir mine --anonymise-key key"),
               ("mine/report.css", "report m.json --template-dir mine --layout dir"), ("claims.ini", "report m.json --claims=claims.ini")],
    "export": [("m.json", "export csv m.json"), ("l.ini good.json", "export junit m.json -l l.ini --baseline good.json"),
               ("key", "export markdown m.json --anonymise-key key")],
    "evidence": [("m.json", "evidence m.json"), ("ended/run.jsonl ended/result.json", "evidence ended")],
    "import": [("nccl.json", "import nccl-json nccl.json")],
    "config": [("", "config write quick"), ("run.ini", "config show run.ini"), ("run.ini", "config validate run.ini")],
    "watch": [("ended/status.json", "watch ended")],
    "limits": [("", "limits H200")], "list": [("", "list suites")], "completion": [("", "completion bash")],
    "help": [("", "help run")], "version": [("", "version")], "agent": [("", "agent")],
}
NO_FILE = r"N|TEXT|WORD|DATE|DAYS|TIME|HOST|ID|WHO|URL|TITLE|GPU.*|\[=GPU.*|LIMIT.*|LIST|CASE|NAME|MARGIN|COMMAND|PROGRAM|SECTION\.KEY=VALUE|[a-z0-9].*"
KEPT = {("population", "output"), ("history", "db"), ("compare", "db")}  # added to, where it is of their kind
failures, outputs, tried = [], {}, 0


def digest(path):
    return hashlib.sha256(open(path, "rb").read()).hexdigest() if os.path.exists(path) else None


def options_of(command):
    """(name, value) of the options that may name a file."""
    text = subprocess.run([program, "help", command], capture_output=True, text=True).stdout
    found = re.findall(r"^ +(?:-\w, )?--([a-z-]+)(?: |(?=\[))(\S+)(?:  | ?$)", text, re.M)
    return [(name, value) for name, value in found if not re.fullmatch(NO_FILE, value)]


def call(line, option, value, fds=()):
    words = line.split()
    for one in ("--" + option, "-o" if option == "output" else "", "-d" if option == "db" else "", "-l" if option == "limits" else ""):
        if one in words:
            del words[words.index(one):words.index(one) + 2]
    words += [f"--{option}={value}"]
    shutil.rmtree("new", ignore_errors=True)
    return subprocess.run([program, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, pass_fds=fds, timeout=120)


def remove(path):
    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.path.lexists(path) and os.unlink(path)


def names_of(path):
    """Every way to name an input, and a descriptor to keep open."""
    for link in ("soft", "hard"):
        remove(link)
    remove("folder")
    os.symlink(path, "soft")
    os.link(path, "hard")
    os.symlink(os.path.dirname(path) or ".", "folder")
    fd = os.open(path, os.O_RDWR)
    return [path, "soft", "hard", "folder/" + os.path.basename(path), f"/dev/fd/{fd}"], fd


def try_input(command, line, option, path, is_output):
    global tried
    before, (names, fd) = digest(path), names_of(path)
    for name in names if is_output else names[:1]:
        tried += 1
        done = call(line, option, name, (fd,))
        if digest(path) != before:
            failures.append(f"{line} --{option}={name}: {path} is no longer what it was")
            shutil.copyfile("kept/" + path, path)
        if is_output and done.returncode not in (2, 3):
            failures.append(f"{line} --{option}={name}: exit code {done.returncode}, not 2 or 3: {done.stderr[-200:]}")
    os.close(fd)


def is_output(line, option):
    """True if the option makes a new file of the name that it is given."""
    remove("fresh")
    call(line, option, "fresh")
    made = os.path.isfile("fresh")
    remove("fresh")
    return made


for path in sorted({path for calls in CALLS.values() for reads, _ in calls for path in reads.split()}):
    os.makedirs(os.path.dirname("kept/" + path), exist_ok=True)
    shutil.copyfile(path, "kept/" + path)
for command in re.findall(r"^COMMAND\((\w+)\)", open(sys.argv[2]).read(), re.M):
    if command not in CALLS:
        failures.append(f"command {command}: add a call of it to {__file__}")
    for option, value in options_of(command) if command in CALLS else ():
        for reads, line in CALLS[command]:
            writes = is_output(line, option)
            outputs.setdefault((command, option), False)
            outputs[command, option] |= writes
            for path in reads.split():
                kept = (command, option) in KEPT and path.endswith((".db", "own.ini"))
                if not kept:
                    try_input(command, line, option, path, writes)
written = sorted(f"{command} --{option}" for (command, option), is_one in outputs.items() if is_one)
print(f"{tried} tries; outputs: {', '.join(written)}")
for known in ("check --report", "check --output", "run --events", "report --output", "export --output", "evidence --output", "import --output",
              "config --output", "history --output", "population --output"):
    if known not in written:
        failures.append(f"{known} has written no file in any call: the calls do not test it")
print("\n".join(failures))
sys.exit(bool(failures))
