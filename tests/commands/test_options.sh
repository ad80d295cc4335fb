#!/usr/bin/env bash
# Options of all commands: each kind of value, what is refused, and that help and completions name the same ones.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
	echo "$1"
	exit 1
}
refuses() { # pattern, arguments...: exit code 2
	local code=0
	"$program" "${@:2}" >out 2>&1 || code=$?
	[ "$code" -eq 2 ] || fail "${*:2}: exit code $code, not 2"
	grep -F -- "$1" out >/dev/null || { cat out; fail "${*:2} does not say: $1"; }
}

# Every option is in the command's help with an explanation, in the manual page and in each shell's completion.
"$program" help --man | sed 's/\\-/-/g' >manual
for shell in bash zsh fish; do "$program" completion $shell >completion.$shell; done
count=0
for command in $("$program" help | sed -n '/^usage/,/^Topics/s/^  \([a-z]*\)  .*/\1/p'); do
	"$program" help "$command" >help
	for option in $(sed -n "/^\t$command)/,/;;/s/^\t\toptions='\(.*\)'/\1/p" completion.bash); do
		count=$((count + 1))
		if [[ $option == --* ]]; then
			grep -E -- "^  (-[a-z],|   ) $option([ [].*)?  *[^ ]" help >/dev/null || fail "help $command does not explain $option"
			grep -F -- "seen_subcommand_from $command' -l ${option#--}" completion.fish >/dev/null || fail "fish: $command has no $option"
			# A flag takes no value, every other option wants one.
			if "$program" help "$command" | grep -E -- "^.{6}$option  " >/dev/null; then
				refuses "$option takes no value" "$command" validate "$option=1"
			elif ! grep -F -- " ${option}[=" help >/dev/null; then
				refuses "$option needs a value" "$command" validate "$option"
			fi
		else
			grep -E -- "^  $option, --" help >/dev/null || fail "help $command does not explain $option"
		fi
		grep -F -- "$option" manual >/dev/null || fail "the manual page lacks $option"
		grep -E -- "^		options='(.* )?$option " completion.zsh >/dev/null || fail "zsh: $option is missing"
	done
done
[ "$count" -ge 70 ] || fail "only $count options"
grep -F -- "--fail-on) values='change warning '" completion.bash >/dev/null || fail "bash: no values of history --fail-on"
grep -F -- "-l limits -s l -r -a 'a100" completion.fish >/dev/null || fail "fish: no values of check --limits"
# A number is no file, "--reference=" has values, "--set " begins settings; zsh explains commands and options.
answers() { # words..., the last one incomplete
	bash -c '. ./completion.bash; complete() { :; }; compopt() { :; }
		COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpuproof; echo "${COMPREPLY[*]}"' bash "$@"
}
[ -z "$(answers gpuproof run --launches '')" ] || fail "bash: files as numbers: $(answers gpuproof run --launches '')"
[[ $(answers gpuproof report --reference = k8) == k80 ]] || fail "bash: report --reference=k8"
[[ " $(answers gpuproof run --set run.) " == *' run.backend= '* ]] || fail "bash: settings of run --set"
[[ $(answers gpuproof config '') != *completion.bash* && $(answers gpuproof config validate compl) == *completion.bash* ]] ||
	fail "bash: a file in place of an action, or none after it"
[[ $(answers gpuproof report --reference compl) == *completion.bash* ]] || fail "bash: a RESULT after --reference, which needs no value"
grep -F "'--strict:do not accept" completion.zsh >/dev/null && grep -F "'run:run the benchmarks" completion.zsh >/dev/null || fail "zsh: no explanations"
explained=$(sed -n "s/^\t\tdescribed=( 'doctor:/x&/p" completion.zsh)
[ "$(bash -c "${explained#x}"'; printf "%s\n" "${described[@]}"' | grep -c '^[a-z]*:.')" = "$("$program" help | sed -n '/^usage/,/^Topics/s/^  \([a-z]*\)  .*/\1/p' | grep -c .)" ] ||
	fail "zsh: an apostrophe divides explanations"
! command -v zsh >/dev/null || zsh -n completion.zsh || fail "zsh: the completion is no script"
! command -v fish >/dev/null || fish --no-execute completion.fish || fail "fish: the completion is no script"

# Actions: a misspelt one, a missing operand, an option of another action; completions know which action takes what.
refuses "'trnd' is not add, trend, report, fleet, node, show, annotate, acknowledge, prune or merge; did you mean 'trend'?" history trnd
refuses "'gpu' is not devices, suites, metrics, configs or gpus; did you mean 'gpus'?" list gpu
refuses "no action given; use save, list, show or delete" baseline
refuses "save needs NAME RESULT..." baseline save night
refuses "unexpected argument 'b'; show takes one argument" baseline show a b
refuses "--keep applies to prune, not to trend" history trend --keep 3
refuses "--title applies to report, fleet, node, not to show" history show --title x
refuses "--force applies to write, not to validate" config validate --force quick
for shell in bash zsh; do
	grep -F "'history prune') options='--db -d --before --keep ' operands='' ;;" completion.$shell >/dev/null || fail "$shell: options of history prune"
	grep -E "'config keys'\) options='' operands='run limit report .*transfer " completion.$shell >/dev/null || fail "$shell: words of config keys"
done
grep -F "seen_subcommand_from config; and __fish_seen_subcommand_from keys' -a 'run limit" completion.fish >/dev/null || fail "fish: words of config keys"

# Kinds of value.
refuses "--margin: '150%' is not below 100 %" compare a b --margin 150%
refuses "--margin: " compare a b --margin much
refuses "--nights: '0' is not a positive number" history trend --nights 0
refuses "--keep: 'x' is not a whole number" history prune --keep=x
refuses "--fail-on takes change or warning, not 'regression'" history trend --fail-on regression
refuses "--layout takes single or dir, not ''" report a --layout=
refuses "--before: invalid date 'yesterday'" history prune --before yesterday
refuses "unknown option '-z'" check a -z
refuses "unknown option '--strictly'; did you mean '--strict'?" check a --strictly
refuses "--output: empty directory name" run quick -qo ''

# Ways of writing one; "--" ends the options.
for way in "--set run.seed=7" "--set=run.seed=7"; do
	"$program" config show quick $way | grep -E '^seed *= *7' >/dev/null || fail "config show quick $way: the seed is not 7"
done
"$program" config write quick -ofirst.ini >/dev/null
"$program" config write quick --output second.ini >/dev/null
cmp first.ini second.ini
refuses "first.ini" config write quick -o first.ini
"$program" config write quick --force -o first.ini >/dev/null
"$program" config validate -- first.ini second.ini >/dev/null
refuses "--origin" config validate -- --origin
