#!/usr/bin/env bash
# packaging/sign: a package and the sums are signed by a throw-away key, and one byte that is changed is refused.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
for tool in gpg rpmsign rpmbuild rpmkeys; do
	command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'gpgconf --kill all >/dev/null 2>&1; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export GNUPGHOME=$folder/keys
failed=0
complain() { echo "$*"; failed=1; }

mkdir -m 700 keys
mkdir files
gpg --batch --quiet --passphrase '' --quick-gen-key 'throw-away <throw@away.invalid>' rsa2048 sign never 2>log || { cat log; exit 1; }
cat >small.spec <<'S'
Name: gpuproof
Version: 1
Release: 1
Summary: Small
License: Apache-2.0
BuildArch: noarch
%description
Small.
%files
S
rpmbuild -bb --quiet --define "_topdir $folder/rpm" --define "_rpmdir $folder/files" --define '_build_name_fmt %%{NAME}.rpm' small.spec >log 2>&1 ||
	{ cat log; exit 1; }
echo archive >files/gpuproof.tar.xz
"$top/packaging/sign" throw@away.invalid files >out 2>&1 && complain "signed without sums: $(cat out)"
(cd files && sha256sum gpuproof.rpm gpuproof.tar.xz >SHA256SUMS)
"$top/packaging/sign" another@away.invalid files >out 2>&1 && complain "signed by a key that is not there"
[ ! -e files/SHA256SUMS.asc ] || complain "signed by no key"
"$top/packaging/sign" throw@away.invalid files >out 2>&1 || { cat out; complain "not signed"; }

# Elsewhere, with the public key only.
export GNUPGHOME=$folder/others
mkdir -m 700 others
gpg --batch --quiet --import files/gpuproof-key.asc 2>log || complain "the public key: $(cat log)"
rpm=(rpmkeys --define "_dbpath $folder/rpmdb" --define '_keyring rpmdb')
rpm --define "_dbpath $folder/rpmdb" --initdb
verified() {
	(cd files && gpg --batch --verify SHA256SUMS.asc SHA256SUMS && sha256sum --quiet -c SHA256SUMS) >log 2>&1 &&
		"${rpm[@]}" --checksig files/gpuproof.rpm >>log 2>&1
}
"${rpm[@]}" --checksig files/gpuproof.rpm 2>/dev/null | grep -q 'NOT OK' || complain "the package carries no signature, or is trusted without the key"
"${rpm[@]}" --import files/gpuproof-key.asc || complain "rpm does not take the key"
verified || { cat log; complain "what was signed does not verify"; }
cp -r files whole
sed -i 's/archive/Archive/' files/gpuproof.tar.xz
verified && complain "a changed archive verifies"
rm -r files && cp -r whole files
echo >>files/SHA256SUMS
verified && complain "changed sums verify"
rm -r files && cp -r whole files
size=$(stat -c %s files/gpuproof.rpm)
printf 'X' | dd of=files/gpuproof.rpm bs=1 seek=$((size - 3)) conv=notrunc status=none
"${rpm[@]}" --checksig files/gpuproof.rpm >log 2>&1 && { cat log; complain "a changed package verifies"; }
cp -r whole again
echo changed >>again/gpuproof.tar.xz
GNUPGHOME=$folder/keys "$top/packaging/sign" throw@away.invalid again >out 2>&1 && complain "files that are not those of the sums are signed"
exit $failed
