# SPDX-License-Identifier: Apache-2.0
"""The progress of a build in one line, of a terminal or of a notebook's cell."""
import shutil
import sys
import threading
import time

from . import tensorrt as trt

_INTERVAL = 0.1  # seconds between two lines
_CELLS = 16


class ProgressBar(trt.IProgressMonitor):
    """Draws the phases of a build on `stream` (standard error by default), outermost first, and takes the line away at the end.

        config.progress_monitor = tensorrt.ProgressBar()
    """

    def __init__(self, stream=None):
        trt.IProgressMonitor.__init__(self)
        self._stream, self._lock = stream or sys.stderr, threading.Lock()
        self._phases = {}  # name: [steps, steps that are done], in the order in which they began
        self._drawn, self._width = 0.0, 0

    def _line(self):
        parts = []
        for name, (steps, done) in self._phases.items():
            filled = min(_CELLS, _CELLS * done // max(steps, 1))
            parts.append(f"{name} [{'=' * filled}{' ' * (_CELLS - filled)}] {done}/{steps}")
        text = " > ".join(parts).encode("ascii", "replace").decode()
        return text[:shutil.get_terminal_size().columns - 1]

    def _draw(self, always=False):
        now = time.monotonic()
        if not always and now - self._drawn < _INTERVAL:
            return
        line = self._line()
        self._stream.write("\r" + line.ljust(self._width) + ("" if line else "\r"))
        self._stream.flush()
        self._drawn, self._width = now, len(line)

    def phase_start(self, phase_name, parent_phase, num_steps):
        with self._lock:
            self._phases[phase_name] = [num_steps, 0]
            self._draw()

    def step_complete(self, phase_name, step):
        with self._lock:
            if phase_name in self._phases:
                self._phases[phase_name][1] = step + 1
            self._draw()
        return True

    def phase_finish(self, phase_name):
        with self._lock:
            self._phases.pop(phase_name, None)
            self._draw(always=not self._phases)
