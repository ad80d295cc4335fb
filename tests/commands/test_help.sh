#!/usr/bin/env bash
# gpuproof help WORD: every word of the glossary has its meaning; other words name the texts that contain them; -h is a screen.
set -u
program=$(realpath "$1")
top=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

complain() {
	echo "$1"
	failed=1
}

sed -n '/^## /q;s/^| \([^|]*\) |.*/\1/p' "$top"/docs/glossary.md | grep -vx -e Word -e --- >"$folder"/words
[ "$(wc -l <"$folder"/words)" -ge 40 ] || complain "the glossary has few words: $(wc -l <"$folder"/words)"
commands=" $("$program" help | sed -n 's/^  \([a-z-]*\)  .*/\1/p' | tr '\n' ' ')"
while read -r word; do
	[[ $commands != *" $word "* ]] || continue
	"$program" help "$word" >"$folder"/out || complain "help $word: exit code $?"
	head -1 "$folder"/out | grep -q "^$word  " || complain "help $word does not begin with its meaning: $(head -1 "$folder"/out)"
done <"$folder"/words
"$program" help ASPECTS | grep -q '^aspect  ' || complain "help ASPECTS does not find aspect"
# Two arguments are one word of the glossary.
"$program" help bus bandwidth | grep -q '^bus bandwidth  ' || complain "help bus bandwidth does not find it"

"$program" help riser >"$folder"/out || complain "help riser: exit code $?"
grep -qx '  gpuproof help causes' "$folder"/out || complain "help riser does not name the topic causes: $(cat "$folder"/out)"
"$program" help preheat >"$folder"/out
grep -q '^  gpuproof help sampling$' "$folder"/out || complain "help preheat does not name the topic sampling"
"$program" help launch_target >"$folder"/out
grep -qx '  gpuproof config keys run' "$folder"/out || complain "help launch_target does not name the keys of [run]"
"$program" help stream.bandwidth >"$folder"/out
grep -qx '  gpuproof list metrics' "$folder"/out || complain "help stream.bandwidth does not name the list of metrics"
"$program" help no-such-thing >/dev/null 2>"$folder"/err
code=$?
[ $code = 2 ] && grep -q "no help text contains 'no-such-thing'" "$folder"/err || complain "help no-such-thing: exit code $code: $(cat "$folder"/err)"

# -h: a screen; --help: everything.
for command in '' run check compare export report; do
	brief=$("$program" $command -h | wc -l) whole=$("$program" $command --help | wc -l)
	[ "$brief" -le 40 ] && [ "$brief" -lt "$whole" ] || complain "$command -h has $brief lines, --help $whole"
	"$program" $command -h | awk 'length > 79 { exit 1 }' || complain "$command -h is wider than 79 columns"
done
exit $failed
