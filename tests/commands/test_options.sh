#!/usr/bin/env bash
# Options of all commands: each kind of value, what is refused, and that help and completions name the same ones.
set -euo pipefail
program=$1
help_texts=$(cd "$(dirname "$0")/../../docs/commands" && pwd)
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

# Every option is in the command's help with an explanation, in the manual page and in completion.
"$program" help --man | sed 's/\\-/-/g' >manual
for shell in bash zsh fish; do "$program" completion $shell >completion.$shell; done
words() { # words..., the last one incomplete: "files" or "words", then the words with explanations
	"$program" completion words -- "$@" >answer || fail "no words for: $*"
	cut -f1 answer
}
count=0
for command in $("$program" help | sed -n '/^usage/,/^Topics/s/^  \([a-z]*\)  .*/\1/p'); do
	"$program" help "$command" >help
	for option in $(words "$command" - | tail -n +2); do
		count=$((count + 1))
		echo "$command $option" >>all-options
		if [[ $option == --* ]]; then
			grep -E -- "^  (-[a-z],|   ) $option([ [].*)?  *[^ ]" help >/dev/null || fail "help $command does not explain $option"
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
		grep -P -- "^$option\t[^ ]" answer >/dev/null || fail "completion does not explain $option of $command"
	done
	words "$command" - >/dev/null
done
[ "$count" -ge 70 ] || fail "only $count options"
# No explanation is of an option that is gone; shared.txt has those of several commands.
for text in "$help_texts"/*.txt; do
	command=$(basename "$text" .txt)
	for option in $(sed -n 's/^\(--[a-z-]*\): .*/\1/p' "$text"); do
		if [ "$command" = shared ]; then
			[ "$(grep -cF -- "$option" all-options)" -ge 2 ] || fail "shared.txt explains $option, of fewer than two commands"
		else
			grep -Fx -- "$command $option" all-options >/dev/null || fail "$command.txt explains $option, which is not there"
		fi
	done
done
is() { # the words, on one line; words...
	[ "$(words "${@:2}" | paste -sd' ')" = "$1" ] || fail "words for ${*:2}: $(paste -sd' ' answer), not $1"
}
is "words change warning" history trend --fail-on ""
is "words change warning" history trend --fail-on=
is "words change warning" history trend --fail-on = w
[[ $(words check -l "" | paste -sd' ') == files\ *\ h200* ]] || fail "no values of check -l"
is words run --launches ""
is files run --output ""
is files check x --max-agee ""
is "words devices suites metrics configs gpus" list ""
is "words --set --origin" config show x -
is "words --db -d --before --keep" history prune -
[[ $(words config keys "" | paste -sd' ') == "files run limit fleet report "*transfer* ]] || fail "no words of config keys"
is files nonsense ""
refuses "no shell given" completion
refuses "no completion script for 'tcsh'" completion tcsh

# The scripts ask the program. A number is no file, "--reference=" has values, "--set " begins settings.
answers() { # words..., the last one incomplete
	bash -c '. ./completion.bash; complete() { :; }; compopt() { :; }
		COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpuproof "$1"; echo "${COMPREPLY[*]}"' bash "$program" "$@"
}
[ -z "$(answers run --launches '')" ] || fail "bash: files as numbers: $(answers run --launches '')"
[[ $(answers report --reference = k8) == k80 ]] || fail "bash: report --reference=k8"
[[ " $(answers run --set run.) " == *' run.backend= '* ]] || fail "bash: settings of run --set"
[[ $(answers config '') != *completion.bash* && $(answers config validate compl) == *completion.bash* ]] ||
	fail "bash: a file in place of an action, or none after it"
[[ $(answers report --reference compl) == *completion.bash* ]] || fail "bash: a RESULT after --reference, which needs no value"
if command -v zsh >/dev/null; then
	zsh -n completion.zsh || fail "zsh: the completion is no script"
	# Completion needs a pseudo-terminal.
	cat >terminal.zsh <<-'ZSH'
		zmodload zsh/zpty
		zpty z zsh -f -i
		zpty -w z "PS1=; autoload -Uz compinit; compinit -D -u; source ./completion.zsh; compdef _gpuproof $1; print rea''dy"
		zpty -r -m z seen '*ready*'
		zpty -w -n z "$1 history trend --fail-on wa"$'\t'
		zpty -r -m z seen '*rning*'
	ZSH
	timeout 60 zsh -f terminal.zsh "$program" || fail "zsh: no values of history --fail-on"
fi
if command -v fish >/dev/null; then
	fish --no-execute completion.fish || fail "fish: the completion is no script"
	seen() { # line
		PATH=$(dirname "$program"):$PATH HOME=$folder fish -c "source completion.fish; complete -C '$1'" | cut -f1
	}
	[ "$(seen "gpuproof check x --limits h2")" = h200 ] || fail "fish: values of check --limits: $(seen "gpuproof check x --limits h2")"
	[ "$(seen "gpuproof history trend --fail-on=ch")" = --fail-on=change ] || fail "fish: history --fail-on=: $(seen "gpuproof history trend --fail-on=ch")"
	[ "$(seen "gpuproof config validate completion.b")" = completion.bash ] || fail "fish: a file"
fi

# Actions: a misspelt one, a missing operand, an option of another action; an option of another one.
refuses "'trnd' is not add, trend, report, fleet, node, show, annotate, acknowledge, prune or merge; did you mean 'trend'?" history trnd
refuses "'gpu' is not devices, suites, metrics, configs or gpus; did you mean 'gpus'?" list gpu
refuses "no action given. Actions: add or show" population
refuses "annotate needs DATE TEXT" history annotate night
refuses "unexpected argument 'b'; show takes one argument" population show a b
refuses "--keep applies to prune, not to trend" history trend --keep 3
refuses "--title applies to report, fleet, node, not to show" history show --title x
refuses "--force applies to write, not to validate" config validate --force quick

# Kinds of value.
refuses "--margin: '150%': expected a percentage below 100 %" compare a b --margin 150%
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
