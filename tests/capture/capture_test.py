#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures programs and replays them: the engines must be the programs' own, byte by byte, and failures the same."""
import argparse
import os
import sys

import applications
import environment
import players
import programs
from support import Failed, Setup, check_captures

TESTS = {function.__name__: function for function in (
    programs.layers, programs.interleaved, programs.threads, programs.failure, programs.users, programs.profiles,
    programs.streams, programs.plugins, programs.answers, programs.killed, programs.large, programs.control_flow, players.verify, players.emitted,
    players.lost_output, players.interrupted, players.measured, applications.trtexec, applications.python, applications.models, applications.light_models,
    applications.large_models, environment.environment, environment.wrong_values,
    environment.library_and_threads, environment.tactic_cache, environment.damage, environment.fuzz)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--keep", action="store_true", help="leave the files of the test")
    parser.add_argument("--recorder", help="folder of a libnvinfer that only remembers calls, for the test fuzz")
    parser.add_argument("test", choices=sorted(TESTS))
    given = parser.parse_args()
    setup = Setup(os.path.abspath(given.build))
    setup.recorder = given.recorder
    try:
        code = TESTS[given.test](setup) or 0
        if given.test not in ("damage", "fuzz"):  # they change captures, or look at those of other tests
            check_captures(setup)
        return code
    except Failed as error:
        print(f"failed: {error}")
        return 1
    finally:
        if not given.keep:
            setup.clean()


if __name__ == "__main__":
    sys.exit(main())
