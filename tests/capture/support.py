# SPDX-License-Identifier: Apache-2.0
"""Runs programs under the capture library and replays what they did."""
import json
import os
import shutil
import subprocess
import tempfile

SKIPPED = 77


class Failed(Exception):
    """A check did not hold; the text says which."""


class Setup:
    """Where the build's libraries and programs are, and a folder for the test's files."""

    def __init__(self, build):
        self.build = build
        self.libraries = os.path.join(build, "lib")
        self.programs = os.path.join(build, "bin")
        self.source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.folder = tempfile.mkdtemp(prefix="tenon_capture_")
        self.shim = os.path.join(self.libraries, "libtensorrt_shim.so")
        self.library = os.path.join(self.libraries, "libnvinfer.so.10")

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name):
        return os.path.join(self.programs, name)

    def clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def run(command, environment=None, timeout=300):
    merged = dict(os.environ)
    merged.update(environment or {})
    return subprocess.run(command, env=merged, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=timeout, check=False)


def expect(holds, what):
    if not holds:
        raise Failed(what)


def captured(setup, command, name, **variables):
    """Runs the command with the shim preloaded; the finished process."""
    environment = {"LD_PRELOAD": setup.shim, "TRT_SHIM_NVINFER_LIB_NAME": setup.library,
                   "TRT_SHIM_OUTPUT_JSON_FILE": setup.path(name + ".json"), "TENON_DEVICE": "cpu"}
    environment.update(variables)
    return run(command, environment)


def play(setup, name, *options, **variables):
    """Replays; the finished process."""
    environment = {"TENON_DEVICE": "cpu"}
    environment.update(variables)
    return run([setup.program("tensorrt_player"), "-j", setup.path(name + ".json"), *options], environment)


def same_files(first, second):
    with open(first, "rb") as one, open(second, "rb") as other:
        return one.read() == other.read()


def lines_of(path):
    """The capture as a reader that knows only JSON sees it."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)["calls"]
