#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/fuzzing.md: fuzz_figures.py TARGET PAGE prints a target's executions by damage so far; with a LOG of
libFuzzer or of the driver behind it, adds that run to the columns of the one or the other."""
import re
import sys

LIBFUZZER, DAMAGE = 2, 4  # the cell of the executions; seconds stand behind it


def figures(log):
    """The cell that a run belongs to, its executions and seconds, as its log says them."""
    driver = re.search(r"(\d+) executions in (\d+) seconds", log)
    if driver:
        return DAMAGE, int(driver[1]), int(driver[2])
    executions = re.search(r"stat::number_of_executed_units: *(\d+)", log)
    done = re.search(r"Done \d+ runs in (\d+) second", log)
    return LIBFUZZER, int(executions[1]) if executions else 0, int(done[1]) if done else 0


def main():
    target, page_path = sys.argv[1:3]
    with open(page_path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for i, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] != f"`{target}`" or len(cells) != 6:
            continue
        if len(sys.argv) == 3:
            print(cells[DAMAGE].replace(",", ""))
            return
        with open(sys.argv[3], encoding="utf-8", errors="replace") as file:
            at, *more = figures(file.read())
        for k in range(2):
            cells[at + k] = f"{int(cells[at + k].replace(',', '')) + more[k]:,}"
        lines[i] = f"| {' | '.join(cells)} |"
        break
    else:
        sys.exit(f"{page_path} has no row for {target}")
    with open(page_path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
