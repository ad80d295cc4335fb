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
	grep -q "^gpuproof: the output '.*' is the file that is read as '.*': it must be another one$" err ||
		{ echo "$*: the message is"; cat err; failed=1; }
	[ "$(sha256sum <"$file")" = "$before" ] || { echo "$*: $file is no longer what it was"; failed=1; }
}

cp "$here/data/quick_h200.json" m.json
ln -s m.json link.json
ln m.json hard.json
cp "$here/data/import/nccl.json" nccl.json
mkdir run && cp m.json run/result.json
printf '[limit l]\nmetric = transfer.bandwidth\nmin = 1 GB/s\n' >l.ini
printf 'some secret that is long enough for a key\n' >key
"$program" history add m.json -d h.db 2>/dev/null || { echo "history add failed"; exit 1; }
"$program" baseline save good m.json -d h.db >/dev/null 2>&1 || { echo "baseline save failed"; exit 1; }
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
refused h.db check run --baseline baseline:good -l l.ini --report h.db
refused h.db export junit baseline:good -l l.ini -o h.db

# Another file, new or there already, is written as ever.
echo old >page.html
"$program" report m.json -o page.html >/dev/null && grep -q '</html>' page.html || { echo "report -o page.html: not written"; failed=1; }
exit $failed
