#!/usr/bin/env bash
# usage: test_install_deps.sh PROGRAM
# ci/install-deps on systems made of stand-ins: it does nothing where all is there, installs what is missing in one call
# that asks nothing, and says in one line what a system lacks. Needs neither the network nor root.
set -uo pipefail
script=$(cd "$(dirname "$0")/../.." && pwd)/ci/install-deps
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# A system: tools that are really there, and stand-ins for those that matter.
bin=$folder/bin
mkdir "$bin"
for tool in bash cat env grep head sed sort; do ln -s "$(command -v $tool)" "$bin/$tool"; done
stand_in() { # name, body
	printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
	chmod +x "$bin/$1"
}
system() { # installed packages, user id
	echo "$1" >"$folder/installed"
	: >"$folder/calls"
	stand_in id "echo $2"
	stand_in dpkg-query "grep -qw -- \"\${!#}\" '$folder/installed' && echo 'install ok installed'"
	stand_in apt-cache "printf '%s\n' \"\$2:\" '  Installed: (none)' '  Candidate: 1.0' '  Version table:' {1..20000}"
	stand_in apt-get "echo \"\$DEBIAN_FRONTEND apt-get \$*\" >>'$folder/calls'"
	stand_in cmake "echo 'cmake version 3.25.1'"
	rm -f "$bin/sudo"
}
expect() { # exit code, words of the output ('' for none at all)
	local code=0 output
	output=$(env -i PATH="$bin" bash "$folder/script" 2>&1) || code=$?
	if [ $code -ne "$1" ] || { [ -z "$2" ] && [ -n "$output" ]; } || ! grep -qE -- "$2" <<<"$output"; then
		echo "line ${BASH_LINENO[0]}: expected exit $1 and '$2', got $code: $output"
		failed=1
	fi
}
calls() { # what apt-get was asked, in all
	grep -qE -- "$1" "$folder/calls" || { echo "line ${BASH_LINENO[0]}: no call like '$1': $(cat "$folder/calls")"; failed=1; }
}
release() { # lines of os-release
	printf '%s\n' "$@" >"$folder/os-release"
	sed "s#/etc/os-release#$folder/os-release#g" "$script" >"$folder/script"
}
all=$(sed -n '/^packages=(/,/^)/p' "$script" | grep -v -e '(' -e ')' -e '\$' | xargs)
[ "$(wc -w <<<"$all")" -ge 10 ] || { echo "the list of packages was not found: $all"; exit 1; }

release ID=debian VERSION_ID=12 'PRETTY_NAME="Debian 12"'
system "$all" 1000
expect 0 ''
[ ! -s "$folder/calls" ] || { echo "apt-get was called for nothing"; failed=1; }

system "${all/libjansson-dev/}" 0
expect 0 'installing libjansson-dev$'
calls '^noninteractive apt-get .*update$'
calls '^noninteractive apt-get .*install .*libjansson-dev$'

# sudo hands on no variables; without it there is nothing to be done.
system "${all/libjansson-dev/}" 1000
expect 3 'are missing and need root to install: libjansson-dev$'
stand_in sudo 'exec env -i PATH="$PATH" "$@"'
expect 0 'installing libjansson-dev$'
calls '^noninteractive apt-get .*install .*libjansson-dev$'

system "${all/libmstch-dev/}" 0
stand_in apt-cache "echo '  Candidate: (none)'"
expect 3 'no apt source of this machine offers libmstch-dev .*universe'
system "${all/libmstch-dev/}" 0
stand_in apt-get 'echo "E: no network" >&2; exit 100'
expect 1 'apt-get update failed'

system "$all" 0
stand_in cmake "echo 'cmake version 3.18.4'"
expect 3 'cmake has version 3.18.4; 3.21 is needed'

for old in 'debian 11' 'ubuntu 20.04'; do
	release "ID=${old% *}" "VERSION_ID=${old#* }" "PRETTY_NAME='The old one'"
	system "" 0
	expect 3 '^install-deps: The old one is too old'
done
for fine in 'ID=debian' 'ID=ubuntu VERSION_ID=24.04' 'ID=debian VERSION_ID=13' 'ID=mine VERSION_ID=1'; do
	release $fine
	system "$all" 0
	expect 0 ''
done
rm "$bin/dpkg-query" "$bin/apt-get"
expect 3 'no apt-get here: .*libjansson-dev'
exit $failed
