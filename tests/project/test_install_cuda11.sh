#!/usr/bin/env bash
# usage: test_install_cuda11.sh PROGRAM
# ci/install-cuda11 says what is wrong and leaves nothing; a folder that holds the toolkit is left as it is. Needs
# neither the network nor root.
set -uo pipefail
script=$(cd "$(dirname "$0")/../.." && pwd)/ci/install-cuda11
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
expect() { # exit code, words of the message, command
	local code=0 output
	output=$("${@:3}" 2>&1) || code=$?
	if [ $code -ne "$1" ] || ! grep -qE "$2" <<<"$output"; then
		echo "expected exit $1 and '$2', got $code: $output"
		failed=1
	fi
}

expect 2 'usage: ci/install-cuda11 PREFIX' "$script"
mkdir "$folder/mine"
touch "$folder/mine/file"
expect 1 'is there and is none of ours' "$script" "$folder/mine"
[ -e "$folder/mine/file" ] || { echo "a folder that is not ours was touched"; failed=1; }

# Another system: no apt here.
mkdir "$folder/bin"
for tool in bash cat mkdir dirname realpath ls mktemp rm env; do ln -s "$(command -v $tool)" "$folder/bin/$tool"; done
expect 3 'CUDA 11.8 cannot be had here: there is no apt-get' env PATH="$folder/bin" bash "$script" "$folder/new"

if command -v apt-get >/dev/null && [ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] && [ -r /usr/share/keyrings/debian-archive-keyring.gpg ]; then
	expect 1 'apt-get update failed: |are needed on the way' env GPUPROOF_DEBIAN_MIRROR="file:$folder/nowhere" "$script" "$folder/new"
fi
[ -z "$(ls -d "$folder"/new* 2>/dev/null)" ] || { echo "something was left: $(ls -d "$folder"/new*)"; failed=1; }

# The script finds nothing to do where the build found the toolkit that it laid out.
toolkit=$(sed -n 's/^cuda11_root:INTERNAL=//p' "$(dirname "$1")/CMakeCache.txt")
if [ -n "$toolkit" ] && [ -e "$toolkit/.gpuproof-cuda11" ]; then
	expect 0 'holds CUDA 11.8 already' "$script" "$toolkit"
fi
exit $failed
