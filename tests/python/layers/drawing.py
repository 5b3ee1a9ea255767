# SPDX-License-Identifier: Apache-2.0
"""What the layers' options are drawn with: a random case of a layer, with its inputs and the results by numpy."""
import math

import numpy as np

FLOATS = (np.float32, np.float16)
INTEGERS = (np.int32, np.int64)
ALL = (*FLOATS, *INTEGERS, np.int8, np.uint8, np.bool_)
LARGEST = {0: 1, 1: 40, 2: 12, 3: 7, 4: 5, 5: 4, 6: 3, 7: 3, 8: 3}  # extent by rank

CASES = {}


def layer(function):
    """Registers function(draw), which returns a Case or, where what was drawn is nothing, None."""
    CASES[function.__name__] = function
    return function


class Case:
    """build(network, tensors) returns the outputs' tensors for those of `inputs`; `expected` are their values.

    Inputs named in `shapes` are shape tensors, those in `fixed` have static extents, all others may be dynamic.
    """

    def __init__(self, inputs, build, expected, tolerance=0.0, shapes=(), fixed=()):
        self.inputs, self.build, self.expected, self.tolerance = inputs, build, expected, tolerance
        self.shapes, self.fixed = set(shapes), set(fixed)


class Draw:
    """Random options and values; what was chosen stands in `text`."""

    def __init__(self, seed):
        self.random, self.chosen = np.random.default_rng(seed), []

    def note(self, **what):
        self.chosen += [f"{name}={value}" for name, value in what.items()]

    @property
    def text(self):
        return " ".join(self.chosen)

    def one(self, name, choices):
        value = list(choices)[int(self.random.integers(len(choices)))]
        self.note(**{name: getattr(value, "__name__", value)})
        return value

    def chance(self, part=0.5):
        return bool(self.random.random() < part)

    def number(self, low, high):
        return int(self.random.integers(low, high + 1))

    def shape(self, low=0, high=8, empty=0.06):
        """Extents of a rank between `low` and `high`; one in sixteen shapes has no elements."""
        rank = self.number(low, high)
        extents = [self.number(1, LARGEST[rank]) for _ in range(rank)]
        if rank and self.chance(empty):
            extents[self.number(0, rank - 1)] = 0
        self.note(shape=tuple(extents))
        return tuple(extents)

    def thinned(self, shape):
        """The shape with some extents of 1, which broadcast."""
        return tuple(1 if self.chance(0.25) else extent for extent in shape)

    def values(self, shape, dtype, low=-3.0, high=3.0):
        dtype = np.dtype(dtype)
        if dtype == np.bool_:
            return np.asarray(self.random.random(shape) < 0.5)
        if dtype.kind == "f":
            return np.asarray(self.random.uniform(low, high, shape)).astype(dtype)
        return np.asarray(self.random.integers(0 if dtype.kind == "u" else int(3 * low), int(3 * high) + 1, shape)).astype(dtype)


def tolerance(dtype, single=2e-5, half=4e-3):
    return half if np.dtype(dtype) == np.float16 else single if np.dtype(dtype).kind == "f" else 0


def along(values, axis, rank):
    """A vector as the axis of a tensor of so many axes."""
    return np.reshape(values, [-1 if a == axis else 1 for a in range(rank)])


def size_of(shape):
    return math.prod(shape)
