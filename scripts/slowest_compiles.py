#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the compile steps that took longest, from the log that ninja keeps in a build folder.

    slowest_compiles.py BUILD_FOLDER [COUNT]
"""
import pathlib
import re
import sys


def steps(log):
    """Seconds of the latest run of each step: {output: seconds}. Lines are start, end (ms), mtime, output, hash."""
    latest = {}
    for line in log.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) == 5:
            latest[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000.0
    return latest


def main(folder, count=10):
    log = pathlib.Path(folder) / ".ninja_log"
    if not log.exists():
        sys.exit(f"error: {log} is missing; expected a folder that ninja has built in")
    compiles = {output: time for output, time in steps(log).items() if output.endswith((".o", ".gch"))}
    print(f"== slowest of {len(compiles)} compile steps in {folder} ({sum(compiles.values()):.0f} s together)")
    for output, time in sorted(compiles.items(), key=lambda item: -item[1])[:int(count)]:
        print(f"{time:7.1f} s  {re.sub('CMakeFiles/[^/]*/', '', output)}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
