#!/usr/bin/env bash
# README.md, the topic "tour" and CONTRIBUTING.md tell the truth: the INI example is valid, commands, options and files exist.
set -euo pipefail
program=$(realpath "$1")
top=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
	echo "$1"
	exit 1
}

sed -n '/^```ini$/,/^```$/p' "$top"/README.md | sed '/^```/d' >"$folder"/example.ini
[ -s "$folder"/example.ini ] || fail "README.md has no INI example"
"$program" config validate "$folder"/example.ini

[ "$(wc -l <"$top"/README.md)" -le 130 ] || fail "README.md has more than 130 lines: what is more belongs into docs/topics"

# The commands of both tours, and of "gpuproof COMMAND ... --option": both are in the command's help.
grep -oE '^    gpuproof [a-z]+.*' "$top"/README.md | sed 's/ *#.*//; s/ *$//' >"$folder"/README.md
grep -oE '^  gpuproof [a-z]+.*' "$top"/docs/topics/tour.txt | sed 's/ *#.*//; s/ *$//' >"$folder"/tour.txt
[ "$(wc -l <"$folder"/README.md)" -ge 10 ] || fail "README.md has no tour"
[ "$(wc -l <"$folder"/tour.txt)" -ge 30 ] || fail "tour.txt has no tour"
while read -r _ command rest; do
	help=$("$program" help "$command") || fail "the tour: there is no command $command"
	for word in $rest; do
		[[ $word != --* ]] || grep -qe "$word" <<<"$help" || fail "the tour: $command has no option $word"
	done
done < <(cat "$folder"/README.md "$folder"/tour.txt)

# The tours as they stand, line by line in a folder each. Runs are planned with the config they name, and then carried out with a
# tiny one in its place: what a line leaves, the next ones find. Files of others: another build, another tool's output.
mkdir "$folder"/old
ln -s "$(realpath "$program")" "$folder"/old/gpuproof
cat >"$folder"/tiny.ini <<-INI
	[run]
	backend = host
	host_devices = 2
	[defaults]
	min_samples = 3
	max_samples = 3
	warmup = 0
	preheat = 0s
	sample_time = 10us
	[suite matmul]
	precisions = fp32
	sizes = 16
INI
gpuproof() { HOME=$folder XDG_DATA_HOME=$folder XDG_STATE_HOME=$folder "$program" "$@"; }

walk() { # the exit codes that are right, the line
	local code=0
	eval "$2" >"$folder"/said 2>&1 || code=$?
	[[ " $1 " == *" $code "* ]] || fail "the tour: $2: exit $code: $(cat "$folder"/said)"
}

right_codes() { # command
	case $1 in
		check) echo 0 1 4 5 ;;       # a CPU by the limits of a GPU
		compare | history) echo 0 1 4 ;; # three samples may look like a change
		*) echo 0 ;;
	esac
}

follow() { # the document, then the files that its lines leave
	local document=$1 line command config file
	shift
	mkdir "$folder/walk-$document"
	cd "$folder/walk-$document"
	cp "$top"/tests/data/import/nvbandwidth.json nvb.json
	while read -r line; do
		read -r _ command config _ <<<"$line"
		if [[ $command == run && $config != --* ]]; then
			[[ $line != *"-o "* ]] || ! [ -e "$(sed 's/.*-o \([a-z]*\).*/\1/' <<<"$line")" ] ||
				fail "$document: $line: that folder has a run already"
			walk "0 3" "${line/ --against ..\/old\/gpuproof/} --dry-run"
			[[ $line == *burn.duration* ]] || walk "0 4" "${line/ run $config/ run ..\/tiny.ini} -q"
		else
			walk "$(right_codes "$command")" "$line"
		fi
	done <"$folder/$document"
	for file; do
		[ -s "$file" ] || fail "$document: the tour left no $file"
	done
}
follow README.md quick/report.html page.html compare.html junit.xml mine.ini
follow tour.txt quick/report.html compare.html page.html trend.html junit.xml theirs.json mine/run.mustache mine.ini limits.ini
cd "$top"

# Suites of the table are the program's, which may have more: `gpuproof list suites` has them all.
unknown=$(comm -23 <(sed -n 's/^| `\([a-z]*\)` |.*/\1/p' "$top"/README.md | sort) \
	<("$program" list suites | sed 1d | cut -d' ' -f1 | sort))
[ -z "$unknown" ] || fail "README.md has suites that the program lacks: $unknown"

# Paths in backticks or in the list of folders.
for document in README.md CONTRIBUTING.md docs/architecture.md; do
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
