# SPDX-License-Identifier: Apache-2.0
"""Libraries of the system that a wheel brings along. They look for each other in the system alone, so they are loaded before
the module asks for them."""
import ctypes
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent / "lib"
OWN = ("libnvinfer", "libnvonnxparser", "libcudart", "libtenon", "libtensorrt_shim")  # they know their folder; scripts/pack_wheel.py packs these


def load():
    """Loads them, those first that need no other. Nothing where there is no such folder, as in a build."""
    waiting = [file for file in sorted(FOLDER.glob("*.so*")) if not file.name.startswith(OWN)]
    while waiting:
        left = []
        for file in waiting:
            try:
                ctypes.CDLL(str(file))
            except OSError:
                left.append(file)
        if len(left) == len(waiting):
            return  # the module's import says what is missing
        waiting = left


def environment(base):
    """The environment of a program of the wheel, which finds the libraries by it."""
    known = base.get("LD_LIBRARY_PATH")
    return dict(base, LD_LIBRARY_PATH=f"{FOLDER}:{known}" if known else str(FOLDER))
