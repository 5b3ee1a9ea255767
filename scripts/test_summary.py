#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads ctest's JUnit report and prints slow, skipped and failed tests and, last, `N passed, N failed`.

    test_summary.py REPORT.xml [AGAIN.xml]

AGAIN.xml, if it is there, is the report of a second run, alone, of what failed in the first.
"""
import collections
import os
import re
import sys
import xml.etree.ElementTree

SLOWEST = 5


def reason(case):
    """Why a test was skipped: the line after GoogleTest's mark, or the last line of a script."""
    lines = [line.strip() for line in (case.findtext("system-out") or "").splitlines() if line.strip()]
    for k, line in enumerate(lines):
        if line.endswith(": Skipped") and k + 1 < len(lines):
            return lines[k + 1]
    for line in lines:
        if re.match(r"(?i)skip", line):
            return line
    skipped = case.find("skipped")
    return lines[-1] if lines else (skipped.get("message") if skipped is not None else None) or "no reason given"


def was_skipped(case):
    """True for a test that ran and said so; a program that could not be started is a failure."""
    mark = case.find("skipped")
    return mark is not None and (mark.get("message") or "").startswith("SKIP_")


def read(path):
    return xml.etree.ElementTree.parse(path).getroot().findall("testcase")


def main(path, again):
    cases = read(path)
    passed_alone = {case.get("name") for case in read(again) if case.get("status") == "run"} if os.path.exists(again) else set()
    state = collections.Counter()
    skipped, failed = collections.Counter(), []
    for case in cases:
        status = case.get("status")
        if status == "run" or case.get("name") in passed_alone:
            state["passed"] += 1
        elif status == "disabled" or (status == "notrun" and was_skipped(case)):
            state["skipped"] += 1
            skipped[reason(case)] += 1
        else:
            state["failed"] += 1
            failed.append(case.get("name"))
    slow = sorted(cases, key=lambda case: -float(case.get("time") or 0))[:SLOWEST]
    print("== slowest tests")
    for case in slow:
        print(f"{float(case.get('time') or 0):7.1f} s  {case.get('name')}")
    if skipped:
        print(f"== {state['skipped']} skipped")
        for text, count in skipped.most_common():
            print(f"{count:5d}  {text}")
    if passed_alone:
        print("== failed beside others, passed alone")
        print("\n".join(f"       {name}" for name in sorted(passed_alone)))
    if failed:
        print("== failed")
        print("\n".join(f"       {name}" for name in failed))
    print(f"{state['passed']} passed, {state['failed']} failed")
    return 1 if failed or not state["passed"] else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else ""))
