# SPDX-License-Identifier: Apache-2.0
"""Turns of several processes on one GPU: what is timed has it alone, what others measure meanwhile waits.

Building engines is mostly work of the CPU: with turns, several processes build side by side and each still times on a GPU
of its own. Two kinds of turns: `alone`, no other process has one; `together`, others may have one of this kind, for
measurements that take the best of many and lose little to a neighbour.
"""
import contextlib
import fcntl
import functools
import pathlib


@contextlib.contextmanager
def locked(file, how):
    with open(file, "w") as handle:
        fcntl.flock(handle, how)
        yield


class Turns:
    def __init__(self, folder):
        self.gate, self.gpu, self.exports = (pathlib.Path(folder) / f"{name}.lock" for name in ("gate", "gpu", "exports"))
        self.held = False

    @contextlib.contextmanager
    def _turn(self, how, keep_gate):
        """Who waits for the GPU alone keeps the gate shut, so that turns together cannot follow one another for ever."""
        if self.held:
            yield
            return
        with contextlib.ExitStack() as turn, contextlib.ExitStack() as gate:
            gate.enter_context(locked(self.gate, fcntl.LOCK_EX))
            turn.enter_context(locked(self.gpu, how))
            if not keep_gate:
                gate.close()
            self.held = True
            try:
                yield
            finally:
                self.held = False

    def alone(self):
        return self._turn(fcntl.LOCK_EX, True)

    def together(self):
        return self._turn(fcntl.LOCK_SH, False)

    def exporting(self):
        """What a build must not have beside it."""
        return locked(self.exports, fcntl.LOCK_SH)

    def after_exports(self):
        """Waits until nobody exports."""
        with locked(self.exports, fcntl.LOCK_EX):
            pass

    def share_inductor(self):
        """The measurements of torch.compile's own tuning become turns together."""
        from torch._inductor.runtime import benchmarking
        for kind in set(filter(lambda x: isinstance(x, type), vars(benchmarking).values())):
            if "benchmark_gpu" in vars(kind):
                kind.benchmark_gpu = self._together(kind.benchmark_gpu)

    def _together(self, function):
        @functools.wraps(function)
        def call(*arguments, **keywords):
            with self.together():
                return function(*arguments, **keywords)
        return call
