# SPDX-License-Identifier: Apache-2.0
"""What makers of random nodes draw from: extents, arrays, and nodes with their operands."""
import dataclasses
import random

import numpy as np

EXTENTS = [1, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33]
LARGE = [1, 2, 3, 7, 8, 15, 16, 17, 32, 33, 47, 63, 64, 65, 96, 100, 127, 128, 130, 255, 256, 257]


@dataclasses.dataclass
class Constant:
    """An operand that is an initializer, always."""
    array: np.ndarray


@dataclasses.dataclass
class Node:
    operator: str
    operands: list  # arrays, Constants, or None for one that is left out
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: int = 1
    domain: str = ""
    opset: int = 21
    tolerance: float = 1e-4
    fixed: bool = False  # whether extents stay known: what the operator wants of its operands depends on them


class Draw(random.Random):
    times = 1  # as large as usual
    empty = False  # whether there are extents of 0

    def extent(self, most=33):
        if self.empty and self.chance(0.15):
            return 0
        return self.choice([e for e in (EXTENTS if self.times == 1 else LARGE) if e <= most * self.times])

    def shape(self, rank=None, most=17, elements=20000):
        elements *= self.times
        rank = self.randint(1, 5) if rank is None else rank
        while True:
            shape = [self.extent(most) for _ in range(rank)]
            if int(np.prod(shape)) <= elements:
                return shape

    def floats(self, shape, low=-2.0, high=2.0):
        values = np.random.default_rng(self.getrandbits(32)).uniform(low, high, shape).astype(np.float32)
        return np.asarray(values)

    def integers(self, shape, low, high, dtype=np.int64):
        return np.random.default_rng(self.getrandbits(32)).integers(low, high + 1, shape).astype(dtype)

    def bools(self, shape):
        return self.integers(shape, 0, 1).astype(bool)

    def array(self, shape, dtype):
        if dtype == np.bool_:
            return self.bools(shape)
        if np.issubdtype(dtype, np.floating):
            return self.floats(shape).astype(dtype)
        if dtype in (np.int8, np.uint8):
            info = np.iinfo(dtype)
            return self.integers(shape, info.min, info.max, dtype)
        return self.integers(shape, -9, 9, dtype)

    def chance(self, of):
        return self.random() < of

    def axes(self, rank, least=1):
        axes = self.sample(range(rank), self.randint(min(least, rank), rank))
        return [a - rank if self.chance(0.3) else a for a in axes]

    def axis(self, rank):
        axis = self.randrange(rank)
        return axis - rank if self.chance(0.3) else axis

    def broadcast(self, shape):
        """A shape that broadcasts to `shape`."""
        shape = [1 if self.chance(0.25) else e for e in shape]
        return shape[self.randint(0, len(shape)):] if self.chance(0.3) else shape

    def maybe_constant(self, array, of=0.5):
        return Constant(array) if self.chance(of) else array
