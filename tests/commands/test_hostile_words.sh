#!/usr/bin/env bash
# Words of a command line, of INI files and of lists that a message quotes reach a terminal without anything that it obeys: control
# and escape characters, and characters that turn the text around them.
set -u
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends GPUPROOF_FAKE="devices=1"; export GPUPROOF_BACKENDS GPUPROOF_FAKE
unset SLURM_JOB_ID
failures=0 quoted=0

# refused WORDS...: a message, and none of its bytes is hostile. It quotes `word`, if a '?' is in it.
refused() {
	"$program" "$@" >out 2>&1 </dev/null && { echo "FAIL: accepted: $*" | cat -v; failures=$((failures + 1)); }
	[ -s out ] || { echo "FAIL: no message: $*" | cat -v; failures=$((failures + 1)); }
	grep -qF '?' out && quoted=$((quoted + 1))
	LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]' out || return 0
	echo "FAIL: $*: $(cat out)" | cat -v
	failures=$((failures + 1))
}

printf '[run]\nbackend = fake\n[suite transfer]\nsizes = 4KiB\n' >good.ini
for word in $'\xe2\x80\xaeevil' $'a\xe2\x81\xa7b' $'a\e[31mb' $'\xc2\x9b31m' $'a\x7fb' $'a\rb'; do
	printf '[run]\nbackend = fake\n%s = 1\n' "$word" >key.ini
	printf '[run]\nbackend = fake\n[suite %s]\n' "$word" >section.ini
	printf '[run]\nbackend = %s\n[suite transfer]\n' "$word" >value.ini
	printf '[limit a]\nmetric = %s\nmin = %s\n' "$word" "$word" >limits.ini
	printf '%s\n' "$word" >list
	for config in key section value; do
		refused config validate $config.ini
		refused run $config.ini -o r
		refused config show $config.ini
	done
	refused config validate "$word.ini"
	refused config write "$word"
	refused config keys "$word"
	refused run good.ini -o r --set "run.$word=1"
	refused run good.ini -o r --set "transfer.sizes=$word"
	refused run good.ini -o r --set "$word"
	refused run good.ini -o r --only "$word"
	refused run good.ini -o r --suites "$word"
	refused run good.ini -o r --devices "$word"
	refused run good.ini -o r --hosts list
	refused run good.ini -o r --check --limits limits.ini
	refused check "$word"
	refused limits "$word"
	refused import list
	refused population show list
	refused report "$word" --claims key.ini
	refused "$word"
	refused run "--$word"
	refused list "$word"
done
[ $quoted -ge 60 ] || { echo "FAIL: only $quoted messages quote the word"; failures=$((failures + 1)); }
[ $failures = 0 ] || exit 1
