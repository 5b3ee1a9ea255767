#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The interpreters of CPython on this machine, one of each release that wheels are for. scripts/wheel.sh builds modules for those that
have headers; tests install wheels for all.

    pythons.py      prints the interpreters that have headers, a line each; the releases without go to standard error
"""
import pathlib
import shutil
import subprocess
import sys

RELEASES = [(3, minor) for minor in range(9, 15)]
ASK = ("import os, sys, sysconfig; print(sys.implementation.name, *sys.version_info[:2], int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))), "
       "int(os.path.exists(os.path.join(sysconfig.get_paths()['include'], 'Python.h'))))")


def facts(interpreter):
    """(release, whether it has headers) of a CPython that has the interpreter's lock; else (None, False)."""
    done = subprocess.run([str(interpreter), "-E", "-c", ASK], capture_output=True, text=True, check=False)
    words = done.stdout.split()
    if done.returncode or len(words) != 5 or words[0] != "cpython" or words[3] != "0":
        return None, False
    return (int(words[1]), int(words[2])), words[4] == "1"


def candidates(release):
    """Where an interpreter of a release may be: in PATH, among pyenv's, in folders of their own."""
    name = ".".join(map(str, release))
    yield shutil.which(f"python{name}")
    yield from sorted(pathlib.Path.home().glob(f".pyenv/versions/{name}.*/bin/python3"))
    for pattern in (f"python{name}*/bin/python3", f"python/{name}*/bin/python3", f"python/cp{name.replace('.', '')}-cp*/bin/python3"):
        yield from sorted(pathlib.Path("/opt").glob(pattern))


def find(release, needs_headers=False):
    """The first interpreter of a release, or None."""
    for candidate in candidates(release):
        if candidate is None:
            continue
        found, has_headers = facts(candidate)
        if found == release and (has_headers or not needs_headers):
            return str(candidate)
    return None


def main():
    for release in RELEASES:
        interpreter = find(release, needs_headers=True)
        if interpreter:
            print(interpreter)
        else:
            print(f"no Python {release[0]}.{release[1]} with headers is here: no module for it", file=sys.stderr)


if __name__ == "__main__":
    main()
