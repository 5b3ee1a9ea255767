#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every C++ and CUDA file of a source tree is as clang-format 14 writes it.

    format.py ROOT [--fix]

Prints one line per file that is not, with what to do; ends with status 1 if there is any, and with 77 where clang-format 14 is
not installed: other versions format differently.
"""
import pathlib
import re
import shutil
import subprocess
import sys

VERSION = "14"
ENDINGS = {".cpp", ".h", ".cu", ".cuh", ".inc", ".c"}
SKIPPED = 77


def formatter():
    """The program, or None where no clang-format of the right version is installed."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        program = shutil.which(name)
        if program:
            version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            if re.search(rf"version {VERSION}\.", version):
                return program
    return None


def sources(root):
    """Relative paths of what is formatted: the tree without builds and hidden folders."""
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*")
                  if path.suffix in ENDINGS and path.is_file()
                  and not any(part == "build" or part.startswith(".") for part in path.relative_to(root).parts))


def main(root, fix):
    program = formatter()
    if not program:
        print(f"clang-format {VERSION} is not installed; scripts/setup.sh installs it on Debian 12 and Ubuntu 24.04")
        return SKIPPED
    files = sources(root)
    badly = []
    for begin in range(0, len(files), 100):
        mode = ["-i"] if fix else ["--dry-run", "-Werror"]
        result = subprocess.run([program, *mode, *files[begin:begin + 100]], cwd=root, capture_output=True, text=True)
        badly += re.findall(r"^(.+?):\d+:\d+: error: code should be clang-formatted", result.stderr, re.M)
        if result.returncode != 0 and not badly:
            print(result.stderr)
            return 1
    for name in sorted(set(badly)):
        print(f"{name} is not formatted; expected what clang-format {VERSION} writes: python3 tests/rules/format.py . --fix")
    print(f"{len(files)} files, {len(set(badly))} not formatted")
    return 1 if badly or not files else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(main(pathlib.Path(arguments[0]).resolve(), "--fix" in arguments[1:]))
