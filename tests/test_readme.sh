#!/usr/bin/env bash
# README.md and CONTRIBUTING.md tell the truth: the INI example is valid, commands, options and files exist.
set -euo pipefail
program=$1
top=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
	echo "$1"
	exit 1
}

sed -n '/^```ini$/,/^```$/p' "$top"/README.md | sed '/^```/d' >"$folder"/example.ini
[ -s "$folder"/example.ini ] || fail "README.md has no INI example"
"$program" config validate "$folder"/example.ini

# "gpuproof COMMAND ... --option" in the tour: both are in the command's help.
grep -oE '^    gpuproof [a-z]+.*' "$top"/README.md | sed 's/#.*//' >"$folder"/tour
[ "$(wc -l <"$folder"/tour)" -ge 10 ] || fail "README.md has no tour"
while read -r _ command rest; do
	help=$("$program" help "$command") || fail "README.md: there is no command $command"
	for word in $rest; do
		[[ $word != --* ]] || grep -qe "$word" <<<"$help" || fail "README.md: $command has no option $word"
	done
done <"$folder"/tour

# Suites of the table, and no other, are those of the program.
diff <(sed -n 's/^| `\([a-z]*\)` |.*/\1/p' "$top"/README.md | sort) \
	<("$program" list suites | sed 1d | cut -d' ' -f1 | sort) || fail "README.md's suites are not the program's"

# Paths in backticks or in the list of folders.
for document in README.md CONTRIBUTING.md; do
	grep -oE '`(src|suites|kernels|tests|ci|configs|cmake|report-templates)/[A-Za-z0-9_./-]*`' "$top/$document" | tr -d '`' |
		while read -r path; do
			[ -e "$top/$path" ] || fail "$document: there is no $path"
		done
done
sed -n '/^## Folders/,/^## /s/^    \([a-z/-]*\/\) .*/\1/p' "$top"/CONTRIBUTING.md | while read -r path; do
	[ -d "$top/$path" ] || fail "CONTRIBUTING.md: there is no folder $path"
done
sed -n '/^| Preset/,/^$/s/^| `\([a-z]*\)`.*/\1/p' "$top"/CONTRIBUTING.md | while read -r preset; do
	grep -q "\"configurePreset\": \"$preset\"" "$top"/CMakePresets.json || fail "there is no preset $preset"
done
