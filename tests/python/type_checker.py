# SPDX-License-Identifier: Apache-2.0
"""mypy, strict, on the package's stubs and on a program that uses them: no complaint but on the lines that are wrong on purpose."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import packages
import support

PROGRAM = pathlib.Path(__file__).with_name("typed_program.py")


def main():
    python, reason = packages.python_with("numpy", "mypy")
    if python is None:
        print(f"skipped: {reason}")
        return support.SKIPPED
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run([python, "-m", "mypy", "--strict", "--no-color-output", "--cache-dir", cache, str(PROGRAM)],
                              capture_output=True, text=True, check=False, cwd=cache,
                              env=dict(os.environ, MYPYPATH=str(packages.BUILD / "python")))
    wanted = {place for place, line in enumerate(PROGRAM.read_text().splitlines(), 1) if line.endswith("# wrong")}
    found = {int(place) for place in re.findall(rf"{PROGRAM.name}:(\d+): error", done.stdout)}
    others = [line for line in done.stdout.splitlines() if ": error" in line and f"{PROGRAM.name}:" not in line]
    if others or found != wanted or len(wanted) < 6:
        print(done.stdout + done.stderr)
        print(f"lines with errors: {sorted(found)}, expected {sorted(wanted)}; {len(others)} in the stubs")
        return 1
    print(done.stdout.strip().splitlines()[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
