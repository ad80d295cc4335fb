#!/usr/bin/env bash
# No command writes its output over a file that it reads: exit code 2, a message that names the file, and the file as it was.
set -u
program=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset GPUPROOF_DB
failed=0

refused() { # FILE ARGUMENTS...
	local file=$1 before got
	shift
	before=$(sha256sum <"$file")
	"$program" "$@" >out 2>err </dev/null
	got=$?
	[ $got -eq 2 ] || { echo "$*: exit code $got, not 2"; cat out err; failed=1; }
	grep -q "^gpuproof: the output '.*' is the same file as the input '.*'; name another file$" err ||
		{ echo "$*: the message is"; cat err; failed=1; }
	[ "$(sha256sum <"$file")" = "$before" ] || { echo "$*: $file is no longer what it was"; failed=1; }
}

cp "$here/data/quick_h200.json" m.json
ln -s m.json link.json
ln m.json hard.json
cp "$here/data/import/nccl.json" nccl.json
mkdir run && cp m.json run/result.json
printf '[limit l]\nmetric = transfer.bandwidth\nmin = 45 GB/s\n' >l.ini
printf 'some secret that is long enough for a key\n' >key
"$program" history add m.json -d h.db 2>/dev/null || { echo "history add failed"; exit 1; }
"$program" report --dump-templates mine >/dev/null || exit 1

for output in m.json ./m.json link.json hard.json; do
	refused m.json report m.json -o $output
	refused m.json export csv m.json -o $output
	refused m.json check m.json --report $output
done
refused run/result.json report m.json run -o run/result.json
refused run/result.json export markdown run -o run/result.json
refused m.json check run --baseline m.json -l l.ini --report m.json
refused m.json export junit run --baseline m.json -l l.ini -o m.json
refused l.ini check m.json --limits l.ini --report l.ini
refused l.ini export junit m.json --limits l.ini -o l.ini
refused key report m.json --anonymise-key key -o key
refused key export csv m.json --anonymise-key key -o key
refused mine/run.mustache report m.json --template-dir mine -o mine/run.mustache
refused mine/trend.mustache history report -d h.db --template-dir mine -o mine/trend.mustache
refused h.db history report -d h.db -o h.db
refused nccl.json import nccl-json nccl.json -o nccl.json
cp nccl.json result.json
refused result.json import nccl-json result.json
export GPUPROOF_DB=h.db

# check keeps its result, config writes a copy, two outputs are two files; a chart, report.css or night goes over no input either.
refused m.json check m.json -o m.json
refused l.ini check m.json -l l.ini -o l.ini
mkdir css && "$program" report --dump-templates css >/dev/null
refused css/report.css report m.json --template-dir css --layout dir -o css/page.html
"$program" check m.json --report twice -o ./twice >out 2>err; [ $? = 2 ] && [ ! -e twice ] || { echo "two outputs to one file: $(cat out err)"; failed=1; }
echo 1 >twice
"$program" check m.json --report twice -o ./twice >out 2>err
[ $? = 2 ] && grep -q -e '--report and --output both write' err && [ "$(cat twice)" = 1 ] || { echo "two outputs to one file: $(cat out err)"; failed=1; }

# run --events: over nothing that the run reads or writes: config and its includes, limits, baseline, hosts, population, journal.
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends GPUPROOF_POPULATION=own.ini; export GPUPROOF_BACKENDS GPUPROOF_POPULATION
"$program" population add m.json >/dev/null 2>&1 || { echo "population add failed"; failed=1; }
printf 'include = part.ini\n[run]\nbackend = fake\n' >run.ini
printf '[suite transfer]\ndirections = h2d\nmemories = pinned\nsizes = 64KiB\nmax_time = 5ms\n' >part.ini
printf 'localhost\n' >hosts
ln -s run.ini to-run
"$program" run run.ini -o ended -q --no-report >/dev/null 2>&1 || { echo "run.ini does not run"; failed=1; }
refused run.ini run run.ini -o new --events run.ini
refused run.ini run run.ini -o new --events to-run
refused part.ini run run.ini -o new --events part.ini
refused l.ini run run.ini -o new --check --limits l.ini --events l.ini
refused m.json run run.ini -o new --check --limits l.ini --baseline m.json --events m.json
refused hosts run run.ini -o new --hosts hosts --events hosts
refused own.ini run run.ini -o new --check --limits l.ini --events own.ini
refused ended/run.jsonl run --resume ended --events ended/run.jsonl
owned() { # FILE ARGUMENTS...: a name of the run's own
	local before
	before=$([ -e "$1" ] && sha256sum <"$1")
	"$program" run "${@:2}" --events "$1" >out 2>err
	[ $? = 2 ] && grep -q 'the run writes its own files there' err || { echo "--events $1: $(cat out err)"; failed=1; }
	[ "$([ -e "$1" ] && sha256sum <"$1")" = "$before" ] || { echo "--events $1: it is not what it was"; failed=1; }
}
owned ended/result.json --resume ended
mkdir empty empty/launch-2
for name in run.jsonl result.json status.json report.html launch-2/run.jsonl; do owned empty/$name run.ini -o empty; done
"$program" run run.ini -o empty --events empty/events.ocp -q --no-report >out 2>err && [ -s empty/events.ocp ] ||
	{ echo "--events in the run's folder: $(cat out err)"; failed=1; }
[ ! -e new ] || { echo "a refused run began"; failed=1; }

# Every option with a value, of every command, from the option rows.
unset GPUPROOF_DB
rm -rf mine other.db && "$program" report --dump-templates mine >/dev/null
cp m.json good.json && cp "$here"/../configs/claims/a-cards.ini claims.ini
python3 "$here/commands/output_options.py" "$program" "$here/../src/cli/commands.def" >tried 2>&1 || { cat tried; failed=1; }

# Another file, new or there already, is written as ever.
echo old >page.html
"$program" report m.json -o page.html >/dev/null && grep -q '</html>' page.html || { echo "report -o page.html: not written"; failed=1; }
exit $failed
