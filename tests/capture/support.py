# SPDX-License-Identifier: Apache-2.0
"""Runs programs under the capture library and replays what they did."""
import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import tempfile
import termios

import capture_reader
import schema_check

SKIPPED = 77
# TENON_CAPTURE_DEVICE=cuda captures and replays builds for the GPU.
DEVICE = os.environ.get("TENON_CAPTURE_DEVICE", "cpu")


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
    return subprocess.run(command, env=merged, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace",
                          timeout=timeout, check=False)


def expect(holds, what):
    if not holds:
        raise Failed(what)


def environment_of(setup, name, **variables):
    """The environment of a program whose capture goes to `name`."""
    environment = dict(os.environ, LD_PRELOAD=setup.shim, TRT_SHIM_NVINFER_LIB_NAME=setup.library,
                       TRT_SHIM_OUTPUT_JSON_FILE=setup.path(name + ".json"), TENON_DEVICE=DEVICE)
    environment.update(variables)
    return environment


def captured(setup, command, name, **variables):
    """Runs the command with the shim preloaded; the finished process."""
    return run(command, environment_of(setup, name, **variables))


def peak(command, environment):
    """Exit status, and the peak of resident memory in MiB."""
    process = subprocess.Popen(command, env=dict(os.environ, **environment))  # pylint: disable=consider-using-with
    _, status, usage = os.wait4(process.pid, 0)
    return status, usage.ru_maxrss / 1024


def play(setup, name, *options, **variables):
    """Replays; the finished process."""
    environment = {"TENON_DEVICE": DEVICE}
    environment.update(variables)
    return run([setup.program("tensorrt_player"), "-j", setup.path(name + ".json"), *options], environment)


def play_on_terminal(setup, name, *options, columns=80):
    """What the player writes to a terminal."""
    own, other = pty.openpty()
    fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([setup.program("tensorrt_player"), "-j", setup.path(name + ".json"), *options], stderr=other,
                          stdout=subprocess.DEVNULL, env=dict(os.environ, TENON_DEVICE=DEVICE)) as process:
        os.close(other)
        text = b""
        try:
            while part := os.read(own, 4096):
                text += part
        except OSError:
            pass  # the terminal is gone with the process
        process.wait()
    os.close(own)
    return text.decode(errors="replace")


def same_files(first, second):
    with open(first, "rb") as one, open(second, "rb") as other:
        return one.read() == other.read()


def lines_of(path):
    """The capture as a reader that knows only JSON sees it."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)["calls"]


def scene(setup, name, engines, code=0, replay_code=0, **variables):
    """Captures a scene of the program and compares each engine with its replay."""
    done = captured(setup, [setup.program("capture_program"), name, setup.path("engine")], name, **variables)
    expect(done.returncode == code, f"the program ended with {done.returncode}: {done.stdout[-2000:]}")
    played = play(setup, name, "-o", setup.path("replayed"))
    expect(played.returncode == replay_code, f"the player ended with {played.returncode}: {played.stdout[-2000:]}")
    expect("not the application's bytes" not in played.stdout, played.stdout[-2000:])
    found = 0
    for suffix in [""] + [str(i) for i in range(100)]:
        if os.path.exists(setup.path("engine" + suffix)) and os.path.exists(setup.path("replayed" + suffix)):
            expect(same_files(setup.path("engine" + suffix), setup.path("replayed" + suffix)),
                   f"engine{suffix} differs")
            found += 1
    expect(found >= engines, f"{found} of {engines} engines replayed: {played.stdout[-2000:]}")
    return played.stdout


def check_capture(setup, name):
    """A capture is what its schema says, and what a second reader expects; that reader's listing."""
    with open(os.path.join(setup.source, "docs", "capture.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    with open(setup.path(name), encoding="utf-8") as file:
        schema_check.check(json.load(file), schema, schema)
    return capture_reader.Reader(setup.path(name)).listing()


def check_captures(setup):
    """Checks each capture in the folder of the test; the second reader must count what the player counts."""
    for name in sorted(os.listdir(setup.folder)):
        if name.endswith(".json") and not name.startswith("damaged"):
            counted = check_capture(setup, name)
            listed = play(setup, name[:-5], "--list").stdout
            expect(listed == counted, f"{name}: the player lists\n{listed}\nthe second reader\n{counted}")
