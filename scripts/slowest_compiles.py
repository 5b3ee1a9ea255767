#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what compiling costs: the steps that took longest, from the log that ninja keeps in a build folder.

    slowest_compiles.py BUILD_FOLDER [COUNT]
    slowest_compiles.py BUILD_FOLDER [COUNT] --again TARGET [--every N]

With --again the steps of a target (trtexec is what scripts/demo.sh builds) are compiled once more, one after the other,
past compiler caches, and their processor time counts: times of a log say little when other programs ran, or when a cache
answered. --every N takes each N-th step only and multiplies.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys


def steps(log):
    """Seconds of the latest run of each step: {output: seconds}. Lines are start, end (ms), mtime, output, hash."""
    latest = {}
    for line in log.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) == 5:
            latest[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000.0
    return {output: time for output, time in latest.items() if output.endswith((".o", ".gch"))}


def short(output):
    return re.sub("CMakeFiles/[^/]*/", "", output)


def print_slowest(compiles, count, what):
    print(f"== slowest of {len(compiles)} compile steps {what} ({sum(compiles.values()):.0f} s together)")
    for output, time in sorted(compiles.items(), key=lambda item: -item[1])[:count]:
        print(f"{time:7.1f} s  {short(output)}")


def ninja(folder, *arguments):
    return subprocess.run(["ninja", "-C", folder, *arguments], check=True, capture_output=True, text=True).stdout


def compiled_again(folder, target, every):
    """Processor seconds of each N-th compile step of a target: {output: seconds}."""
    needed = set(ninja(folder, "-t", "inputs", target).split())
    commands = {entry["output"]: entry["command"] for entry in json.loads(ninja(folder, "-t", "compdb"))}
    objects = sorted(output for output in needed if output.endswith(".o") and output in commands)
    environment = dict(os.environ, CCACHE_DISABLE="1")
    times = {}
    for output in objects[::every]:
        words = shlex.split(commands[output])
        words[words.index("-o") + 1] = "/dev/null"
        if "-MF" in words:
            words[words.index("-MF") + 1] = "/dev/null"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times[output] = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return times


def print_folders(times, every):
    folders = collections.defaultdict(list)
    for output, time in times.items():
        folders["/".join(pathlib.PurePath(short(output)).parts[:3])].append(time)
    print(f"== by folder{f', of each {every}. step times {every}' if every > 1 else ''}")
    for folder, spent in sorted(folders.items(), key=lambda item: -sum(item[1])):
        print(f"{sum(spent) * every:7.0f} s  {len(spent) * every:4} steps  {sum(spent) / len(spent):6.2f} s each  {folder}")
    print(f"{sum(times.values()) * every:7.0f} s of processor time in all")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("count", nargs="?", type=int, default=10)
    parser.add_argument("--again", metavar="TARGET")
    parser.add_argument("--every", metavar="N", type=int, default=1)
    options = parser.parse_args()
    if options.again:
        times = compiled_again(options.folder, options.again, max(options.every, 1))
        if not times:
            sys.exit(f"error: target '{options.again}' of {options.folder} has no compile steps")
        print_slowest(times, options.count, f"of {options.again}, compiled again")
        print_folders(times, max(options.every, 1))
        return
    log = pathlib.Path(options.folder) / ".ninja_log"
    if not log.exists():
        sys.exit(f"error: {log} is missing; expected a folder that ninja has built in")
    print_slowest(steps(log), options.count, f"in {options.folder}")


if __name__ == "__main__":
    main()
