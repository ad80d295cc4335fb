#!/usr/bin/env bash
# gpuproof run --launches, --check, --against: what is measured again, what it is called, and the exit code. Times are those of
# the fake backend's clock, so that repetitions differ by what the script says, on any machine.
set -u
program=$(realpath "$1")
GPUPROOF_BACKENDS=$(dirname "$program")/tests/backends GPUPROOF_FAKE='noise=0.1% between=1%:7'; export GPUPROOF_BACKENDS GPUPROOF_FAKE
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# expect CODE WORD ARGUMENTS...: the exit code, and WORD in stdout or stderr
expect() {
	local code=$1 word=$2 got
	shift 2
	"$program" run "$@" --no-report >out 2>err
	got=$?
	if [ $got -ne "$code" ]; then
		echo "run $*: exit code $got, not $code"; cat out err; failed=1
	fi
	if ! cat out err | grep -qF -- "$word"; then
		echo "run $*: '$word' is missing in"; cat out err; failed=1
	fi
}
complain() {
	echo "$*"
	failed=1
}

suite='[suite transfer]
directions = h2d
memories = pinned
sizes = 64KiB
min_samples = 10
max_samples = 20
max_time = 20ms'
printf '[run]\nbackend = fake\n%s\n' "$suite" >plain.ini
printf '[run]\nbackend = fake\n%s\n[limit slow]\nmetric = transfer.bandwidth\nmin = 1 kB/s\n' "$suite" >wide.ini
printf '[run]\nbackend = fake\n%s\n[limit slow]\nmetric = transfer.bandwidth\nmin = 1 TB/s\n' "$suite" >tight.ini
# Wide enough that one launch leaves it open: the limit is what this machine does, give or take anything.
printf '[run]\nbackend = fake\n%s\n[limit slow]\nmetric = transfer.bandwidth\nmin = 1 * baseline\nlaunch_spread = 50 %%\n' "$suite" >open.ini

# Launches: each in its directory, pooled in the first one's.
expect 0 'launch 3 of 3' plain.ini -o three --launches 3
"$program" report three -o page.html >/dev/null && grep -q '<li>Values and intervals cover 3 launches, each in new processes' page.html || complain "the page does not say that its figures are of three launches"
# A page for a pipe, and nothing but the page.
"$program" report three -o - >piped.html && cmp -s page.html piped.html || complain "report -o - is not the page"
[ -e ./- ] && complain "report -o - wrote a file called -"
"$program" report three --layout=dir -o - >out 2>err
[ $? -eq 2 ] && grep -q 'needs a directory' err && [ ! -s out ] || complain "a page in a pipe with a style sheet next to it: $(cat err)"
"$program" check three --report - >out 2>err
[ $? -eq 2 ] && grep -q 'needs a file' err || complain "check --report -: $(cat err)"
"$program" report three three -o both.html >/dev/null && grep -q 'Each run is 3 launches: a difference can be called possible, but not proven' both.html ||
	complain "a comparison of three launches each does not say what it is worth"
"$program" run plain.ini --dry-run --launches 3 | tail -1 | grep -q 's for 3 launches$' || complain "--dry-run does not count launches"
for file in three/launch-2/result.json three/launch-3/result.json three/launch-3/run.jsonl; do
	[ -s $file ] || complain "$file is missing"
done
[ "$(grep -o '"launches": \[[^]]*\]' three/result.json | head -1 | tr ',' '\n' | wc -l)" = 3 ] ||
	complain "result.json does not hold three launches: $(grep -c launches three/result.json)"
# Each launch times the host, and the pooled result keeps all of them.
[ "$(grep -c '"host\.' three/launch-2/result.json)" = 4 ] || complain "a launch has no yardstick of the host"
grep '"host.call"' three/result.json | grep -q '"launches": \[[^]]*,[^]]*,' ||
	complain "the yardsticks of launches are not pooled"
grep -q '"launches": \[' three/launch-2/result.json && complain "a single launch claims to be several"
# An interrupted one continues where it was: the third is missing.
rm -r three/launch-3 three/result.json
"$program" run --resume three --no-report -q >/dev/null || complain "resume: exit code $?"
[ -s three/launch-3/result.json ] || complain "resume does not make the missing launch"
[ -s three/result.json ] || complain "resume does not pool"
"$program" compare three three >compared || complain "compare: exit code $?"
grep -qF 'are the same run' compared || complain "compare of pooled results: $(cat compared)"

# As many launches as each case needs: six of all, and further ones of what is not known to the target. Every case needs
# all of them to be known to a hundredth of a percent, none to be known to 100 %.
printf '[run]\nbackend = fake\nlaunches = auto\nlaunches_most = 8\nlaunch_target = 0.01 %%\n%s\n' "$suite" >auto.ini
expect 0 'launch 8 of 8, with 1 of 1 case' auto.ini -o auto
grep -q '1 case needs more launches than launches_most = 8 to reach launch_target = 0.01%' err || complain "a figure that stays uncertain is not named: $(cat err)"
[ "$(grep -o '"launches": \[[^]]*\]' auto/result.json | head -1 | tr ',' '\n' | wc -l)" = 8 ] || complain "auto does not take eight launches"
expect 0 'launch 6 of 6 or more' auto.ini -o few --set run.launch_target=100%
[ ! -e few/launch-7 ] || complain "auto takes launches that nothing needs"
# Continued, the first six say the same again.
rm -r auto/launch-8 auto/result.json
"$program" run --resume auto --no-report -q >/dev/null || complain "resume of auto: exit code $?"
[ -s auto/launch-8/result.json ] && [ ! -e auto/launch-9 ] || complain "resume of auto takes other launches"
[ "$(grep -o '"launches": \[[^]]*\]' auto/result.json | head -1 | tr ',' '\n' | wc -l)" = 8 ] || complain "resume of auto does not pool"
expect 2 "'many' is neither auto nor a whole number" plain.ini -o no --launches many
expect 2 'allowed: auto, 1 to 1000' plain.ini -o no --launches 0
expect 2 '--against cannot use launches = auto' auto.ini -o no --against plain.ini

# Verdicts after the run.
expect 0 'ACCEPTED: the only check passed.' wide.ini -o wide --check
expect 1 'REJECTED: 0 of 1 check passed; 1 failed. Worst: ' tight.ini -o tight --check
expect 0 'ACCEPTED: the only check passed.' tight.ini -o other --check --limits wide.ini
expect 2 '--strict need --check' wide.ini -o no --limits wide.ini
expect 2 'no such file' wide.ini -o no --check --limits nowhere.ini
[ ! -e no ] || complain "a run began although its limits are wrong"
expect 3 'nowhere' wide.ini -o no --check --baseline nowhere

# An inconclusive figure is measured again, once.
expect 4 '1 case is undecided after one launch and will be repeated in 4 more' open.ini -o open --check --baseline wide
[ -s open/launch-5/result.json ] || complain "no extension"
[ ! -e open/launch-6 ] || complain "more than one extension"
grep -q '"launches": \[' open/result.json || complain "the extension is not pooled"

# Two configs in turns, and two builds.
printf '[run]\nbackend = fake\n%s\n' "${suite/64KiB/64KiB, 128KiB}" >more.ini
expect 0 'launch 2 of 2 of B' plain.ini -o turns --launches 2 --against more.ini --set run.seed=3
grep -qF 'does not have this case' out || complain "the case that only B has is not named: $(cat out)"
grep -qF '[suite transfer] sizes' out || complain "the difference of the configs is not named: $(cat out)"
[ -s turns/a/launch-2/result.json ] && [ -s turns/b/launch-2/result.json ] || complain "launches are missing"
expect 0 '1 figure: 1' plain.ini -o builds --against "$program"
[ -s builds/b/result.json ] || complain "the other build left nothing"
# The other build takes turns as well: each time one launch, also where the config says how many there are.
printf '#!/bin/sh\necho called >>calls\nexec "%s" "$@"\n' "$program" >build && chmod +x build
expect 0 'launch 3 of 3 of B' plain.ini -o turned --launches 3 --against ./build
printf '[run]\nbackend = fake\nlaunches = 2\n%s\n' "$suite" >twice.ini
expect 0 'launch 2 of 2 of B' twice.ini -o again --against ./build
[ "$(wc -l <calls)" = 5 ] || complain "the other build was called $(wc -l <calls) times, not 3 + 2"
for side in turned/a=3 turned/b=3 again/a=2 again/b=2; do
	[ "$(grep -o '"launches": \[[^]]*\]' ${side%=*}/result.json | head -1 | tr ',' '\n' | wc -l)" = ${side#*=} ] ||
		complain "${side%=*}/result.json does not hold ${side#*=} launches"
done
printf '#!/bin/sh\nexit 2\n' >build
expect 3 './build ended without measuring: exit code 2' plain.ini -o refused --against ./build
expect 2 'no such file' plain.ini -o no --against nowhere.ini
expect 2 '--against cannot be combined with --check' plain.ini -o no --against more.ini --check
[ ! -e no ] || complain "a run began although it cannot be compared"
exit $failed
