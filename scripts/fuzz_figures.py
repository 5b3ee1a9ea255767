#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/fuzzing.md: fuzz_figures.py TARGET PAGE prints a target's executions so far; with a LOG of libFuzzer or
of the driver behind it, adds that run."""
import re
import sys


def figures(log):
    """Executions and seconds of a run, as its log says them."""
    driver = re.search(r"(\d+) executions in (\d+) seconds", log)
    if driver:
        return int(driver[1]), int(driver[2])
    executions = re.search(r"stat::number_of_executed_units: *(\d+)", log)
    done = re.search(r"Done \d+ runs in (\d+) second", log)
    return int(executions[1]) if executions else 0, int(done[1]) if done else 0


def main():
    target, page_path = sys.argv[1:3]
    with open(page_path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for i, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] != f"`{target}`":
            continue
        executions, seconds = (int(cell.replace(",", "")) for cell in cells[2:4])
        if len(sys.argv) == 3:
            print(executions)
            return
        with open(sys.argv[3], encoding="utf-8", errors="replace") as file:
            more = figures(file.read())
        lines[i] = f"| `{target}` | {cells[1]} | {executions + more[0]:,} | {seconds + more[1]:,} |"
        break
    else:
        sys.exit(f"{page_path} has no row for {target}")
    with open(page_path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
