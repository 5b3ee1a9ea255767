# SPDX-License-Identifier: Apache-2.0
"""The programs of the wheel as commands: pip makes one of each function."""
import os
import pathlib
import sys

from ._libraries import environment


def _become(name):
    program = str(pathlib.Path(__file__).resolve().parent / "bin" / name)
    os.execve(program, [program, *sys.argv[1:]], environment(os.environ))


def trtexec():
    _become("trtexec")


def tensorrt_player():
    _become("tensorrt_player")


def tenon_check_plugins():
    _become("tenon_check_plugins")
