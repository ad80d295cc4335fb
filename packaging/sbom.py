"""Software bill of materials of a release archive, as SPDX 2.3 JSON on standard output.

usage: sbom.py VERSION EPOCH FOLDER    FOLDER: the archive's unpacked tree

Packages that are linked in or carried along have the versions of the Debian packages that they were built from.
"""
import datetime
import hashlib
import json
import os
import subprocess
import sys

# Debian package, licence, how it is contained.
PARTS = [
    ("libjansson-dev", "MIT", "STATIC_LINK"),
    ("libsqlite3-dev", "blessing", "STATIC_LINK"),
    ("libmstch-dev", "MIT", "STATIC_LINK"),
    ("libgomp1", "GPL-3.0-or-later WITH GCC-exception-3.1", "DYNAMIC_LINK"),
    ("libhwloc15", "BSD-3-Clause", "DYNAMIC_LINK"),
]


def debian_version(package):
    return subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], check=True, capture_output=True, text=True).stdout


def identifier(name):
    return "SPDXRef-" + "".join(c if c.isalnum() else "-" for c in name)


def package(name, version, licence):
    return {"SPDXID": identifier(name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", "filesAnalyzed": False}


def files_below(folder):
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            full = os.path.join(path, name)
            data = open(full, "rb").read()
            relative = os.path.relpath(full, folder)
            yield {"SPDXID": identifier("file-" + relative), "fileName": "./" + relative,
                   "checksums": [{"algorithm": a, "checksumValue": hashlib.new(a.lower(), data).hexdigest()} for a in ("SHA1", "SHA256")],
                   "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"}


def main(version, epoch, folder):
    created = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    parts = [package(name, debian_version(name), licence) for name, licence, _ in PARTS]
    own = package("gpuproof", version, "Apache-2.0")
    files = list(files_below(folder))
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], how, identifier(name)) for name, _, how in PARTS]
    relations += [(own["SPDXID"], "CONTAINS", f["SPDXID"]) for f in files]
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"gpuproof-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/gpuproof-{version}",
        "creationInfo": {"created": created, "creators": ["Tool: gpuproof-sbom"]},
        "packages": [own, *parts], "files": files,
        "relationships": [{"spdxElementId": a, "relationshipType": r, "relatedSpdxElement": b} for a, r, b in relations]}
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
