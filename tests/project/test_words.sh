#!/usr/bin/env bash
# The words of tests/project/words.txt are in no file, and no comment begins with What, Of, Whether, Where or Who: it begins
# with a verb or a noun. Texts for users keep the rules of user_texts.py. Exempt: the table of former names and its tests, the glossary, and files that earlier versions wrote.
set -u
cd "$(dirname "$0")/../.." || exit 1
exempt='^(src/base/former_names\.c|tests/project/(words\.txt|test_words\.sh|user_texts\.(py|txt))|tests/commands/test_former_names\.sh|docs/glossary\.md):'
failed=0

files() { # folders: the text files in them
	find "$@" \( -path tests/data -o -path tests/golden -o -path tests/fuzz/corpus -o -path docs/samples -o -name __pycache__ \) \
		-prune -o -type f -print | LC_ALL=C sort
}

sought=$(grep -v '^#' tests/project/words.txt | cut -f1 | paste -sd'|')
# A test that looks at an old word itself says so in its line.
found=$(files src suites kernels report-templates configs docs ci cmake tests README.md CONTRIBUTING.md CMakeLists.txt |
	tr '\n' '\0' | xargs -0 grep -HnIPi "(?<![A-Za-z])($sought)(?![A-Za-z])" | grep -vE "$exempt" | grep -v 'former name')
if [ -n "$found" ]; then
	echo "$found" | cut -c1-200
	echo "words of others (tests/project/words.txt): say instead"
	while IFS=$'\t' read -r word instead; do
		[[ $word != \#* ]] && echo "$found" | cut -d: -f3- | grep -qPi "(?<![A-Za-z])($word)(?![A-Za-z])" &&
			echo "  $word: $instead"
	done <tests/project/words.txt
	failed=1
fi

# The first line of a comment: after its opening, or below one that stands alone.
found=$(files src suites kernels report-templates configs ci cmake tests CMakeLists.txt | tr '\n' '\0' | xargs -0 awk '
	FNR == 1 { above = ""; mark = "" }
	{
		mark = FILENAME ~ /\.(c|h|cu|cuh|def|inc|cpp|css|cjs)$/ ? "(/\\*+|//)" : FILENAME ~ /\.ini$/ ? "^;" : "^[ \t]*#"
		begins = mark "[ \t]*(What|Of|Whether|Where|Whose|Who|Whatever|Whoever)[^A-Za-z]"
		opened = above ~ /^[ \t]*\/\*+$/ && $0 ~ /^[ \t]*\*[ \t]*(What|Of|Whether|Where|Whose|Who|Whatever|Whoever)[^A-Za-z]/
		first = mark ~ /^\^/ ? above !~ mark : 1
		if (opened || ($0 ~ begins && first))
			print FILENAME ":" FNR ": " substr($0, 1, 150)
		above = $0
	}')
if [ -n "$found" ]; then
	echo "$found"
	echo "a comment begins with a verb or a noun"
	failed=1
fi

# The grammar of texts for users; it must find a fault where there is one.
python3 tests/project/user_texts.py . || failed=1
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy"/src "$copy"/suites "$copy"/docs/topics "$copy"/docs/commands "$copy"/tests/project
cp README.md SECURITY.md "$copy"
cp tests/project/user_texts.txt "$copy"/tests/project
for text in 'they are not told apart here' 'What was measured is kept' "$(printf 'word %.0s' {1..26})"; do
	printf 'const char *text = "%s";\n' "$text" >"$copy"/src/fault.c
	python3 tests/project/user_texts.py "$copy" | grep -F "src/fault.c: " >/dev/null || {
		echo "user_texts.py finds nothing in: $text"
		failed=1
	}
done

exit $failed
