#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tenon_check_plugins finds the fault of each plugin of the library, and none in the good ones."""
import argparse
import subprocess
import sys

FIELD = ["--field", "amount:f32=1.5"]
# The check that finds the fault of each plugin, and a part of its words; the good ones have none.
FAULTS = {
    "Good": None, "OldGood": None,
    "OtherName": ("identity", "the plugin says that it is 'Other'"),
    "NoClone": ("clones", "clone() returned null"),
    "ClonesItself": ("clones", "clone() returned the plugin itself"),
    "CloneForgets": ("formats, tactics, workspace", "a clone that is configured like the plugin has another state"),
    "RestoreForgets": ("state and its creator", "the plugin from the state has another state"),
    "StateVaries": ("state and its creator", "another one when it is asked for again"),
    "ReadsNoData": ("creation with no data in field 'amount'", "signal 11"),
    "LooksAhead": ("formats, tactics, workspace", "looks at operands behind"),
    "ChangesItsMind": ("formats, tactics, workspace", "answers otherwise when it is asked again"),
    "TakesNothing": ("formats, tactics, workspace", "takes nothing of input 0 f32 LINEAR"),
    "TacticZero": ("formats, tactics, workspace", "a tactic twice, or one below 1"),
    "WritesBehind": ("an engine of it, saved, loaded, run", "writes behind the 1920 bytes of output 0"),
    "WritesBefore": ("an engine of it, saved, loaded, run", "writes before the memory of output 0"),
    "ChangesInput": ("an engine of it, saved, loaded, run", "enqueue() changes input 0"),
    "LeavesElement": ("an engine of it, saved, loaded, run", "does it write every element"),
    "SharesScratch": ("two contexts on two threads", "do they share memory?"),
    "NeverEnds": ("an engine of it, saved, loaded, run", "does not return within 3 s"),
    "Crashes": ("an engine of it, saved, loaded, run", "ends the process by signal 11"),
    "Exits": ("an engine of it, saved, loaded, run", "ends the process: does it call exit()?"),
    "OldForgetsSpace": ("clones", "a clone is 'OldForgetsSpace' version '1' namespace '', the plugin"),
    "OldTooLong": ("state and its creator", "wrote beyond the 3 bytes"),
    "OldTooShort": ("state and its creator", "leaves byte 4 of 7 unwritten"),
}


def run(options, *arguments):
    return subprocess.run([options.program, *arguments], capture_output=True, text=True, check=False, timeout=200)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--library", required=True)
    options = parser.parse_args()
    wrong = []

    def expect(holds, what):
        if not holds:
            wrong.append(what)

    for name, fault in FAULTS.items():
        done = run(options, options.library, "--plugin", name, *FIELD, "--seconds", "3")
        lines = [line.strip() for line in done.stdout.splitlines()]
        found = [line for line in lines if line.startswith("WRONG")]
        if fault is None:
            expect(done.returncode == 0 and not found and lines[-1].endswith("0 wrong, 0 skipped"), f"{name}: {done.stdout}{done.stderr}")
            expect(len([line for line in lines if line.startswith("good")]) >= 11, f"{name}: {done.stdout}")
            continue
        check, words = fault
        expect(done.returncode == 1, f"{name}: status {done.returncode}")
        expect(any(line.startswith(f"WRONG    {check}: ") and words in line for line in found), f"{name}: {done.stdout}{done.stderr}")

    done = run(options, options.library, "--plugin", "Good")
    expect("createPlugin() returns null for the fields that were given; it names: amount" in done.stdout, done.stdout)
    expect(run(options, "/no/such/library.so").returncode == 1, "a library that is not there")
    done = run(options, options.library, "--plugin", "Good", *FIELD, "--input", "f33:1")
    expect(done.returncode == 2 and "'f33:1' is no input; expected TYPE:EXTENTS" in done.stderr, done.stderr)
    done = run(options, options.library, "--plugin", "Good", "--field", "amount:f32=much")
    expect(done.returncode == 2 and "'much' in 'amount:f32=much' is no number" in done.stderr, done.stderr)
    done = run(options, options.library, "--plugin", "None")
    expect(done.returncode == 1 and "nothing was checked" in done.stdout, done.stdout)
    print("\n".join(wrong))
    print(f"{len(FAULTS)} plugins, {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
