# SPDX-License-Identifier: Apache-2.0
"""The table of formulas, and what they share: operands from a fixed seed, and decisions that no rounding can turn."""
import dataclasses
from typing import Callable

import numpy as np

FORMULAS = {}  # by (name, version)
FP32_MARGIN = 1e-4


@dataclasses.dataclass
class Formula:
    """What a plugin computes: in words for the table of docs/plugins.md, where that is defined, and in numpy."""
    name: str
    versions: tuple
    text: str
    source: str
    halves: bool  # whether floating operands may be FP16
    cases: Callable  # (draw, version) -> Cases


@dataclasses.dataclass
class Case:
    """Fields, inputs and expected outputs; None: the plugin says nothing about this output."""
    fields: dict
    inputs: list
    expected: list
    tolerance: float = 1e-4  # of values up to 1, and relative beyond
    absolute: bool = False  # the tolerance is of all values


def formula(name, versions, text, source, halves=True):
    """Decorates a generator of cases, called once for each version."""
    def keep(cases):
        entry = Formula(name, tuple(versions.split()), text, source, halves, cases)
        for version in entry.versions:
            assert (name, version) not in FORMULAS, f"{name} {version} has two formulas"
            FORMULAS[name, version] = entry
        return cases
    return keep


class Draw:
    """Random operands in double precision which the operands of the network hold exactly."""

    def __init__(self, seed, halves):
        self.random = np.random.default_rng(seed)
        self.halves = halves
        self.unclear = False  # rounding may turn a decision of this case
        # How near to a threshold rounding may turn what follows. Plugins that decide in FP32 whatever their operands are set it.
        self.margin = 6e-3 if halves else FP32_MARGIN

    def held(self, values):
        return np.asarray(values).astype(np.float16 if self.halves else np.float32).astype(np.float64)

    def real(self, *shape, low=-1.0, high=1.0):
        return self.held(self.random.uniform(low, high, shape))

    def whole(self, *shape, low, high, dtype=np.int32):
        return self.random.integers(low, high + 1, shape).astype(dtype)

    def distinct(self, *shape):
        """Numbers between 0 and 1 in a random order, no two alike."""
        count = int(np.prod(shape))
        return self.held(self.random.permutation(np.arange(count) + 0.5).reshape(shape) / count)

    def boxes(self, *shape, size=1.0):
        """[..., 4]: two ends in order, between 0 and `size`."""
        ends = self.real(*shape, 4, low=0, high=size)
        return np.concatenate([np.minimum(ends[..., :2], ends[..., 2:]), np.maximum(ends[..., :2], ends[..., 2:])], -1)

    def above(self, values, threshold, inclusive=False, given=False):
        """values > threshold, or >=. `given`: they are operands, which nothing has rounded."""
        values = np.asarray(values, np.float64)
        margin = (1e-6 if given else self.margin) * max(1.0, abs(threshold))
        self.unclear |= bool(np.any(np.abs(values - threshold) < margin))
        return values >= threshold if inclusive else values > threshold

    def ordered(self, values):
        """The order from the greatest."""
        values = np.asarray(values, np.float64)
        order = np.argsort(-values, kind="stable")
        sizes = values[order][np.isfinite(values[order])]
        self.unclear |= bool(np.any(sizes[:-1] - sizes[1:] < (2e-4 if self.halves else 1e-6)))
        return order


def f32(value):
    """A field of FP32 as the plugin reads it."""
    return float(np.float32(value))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis):
    weights = np.exp(x - x.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


def overlap(a, b, longer=0.0):
    """Intersection over union of one box with boxes [.., 4] of ordered ends; `longer`: 1 where ends are whole pixels."""
    sides = np.minimum(a[2:], b[..., 2:]) - np.maximum(a[:2], b[..., :2]) + longer
    common = np.where((sides > 0).all(-1), sides.prod(-1), 0)
    area = np.prod(a[2:] - a[:2] + longer)
    return common / (area + (b[..., 2:] - b[..., :2] + longer).prod(-1) - common)


def suppressed(draw, boxes, scores, threshold, longer=0.0):
    """Greedy non-maximum suppression: the indices that stay, from the best score on."""
    kept = []
    for candidate in draw.ordered(scores):
        others = boxes[kept] if kept else np.zeros((0, 4))
        if not draw.above(overlap(boxes[candidate], others, longer), threshold).any():
            kept.append(candidate)
    return np.array(kept, int)


def between(image, y, x):
    """Linear between the pixels around places inside an image [C, H, W]; y and x of any one shape: [C, ...]."""
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    dy, dx = y - top, x - left
    result = 0
    for row, vertical in ((top, 1 - dy), (top + 1, dy)):
        for column, across in ((left, 1 - dx), (left + 1, dx)):
            pixel = image[:, np.clip(row, 0, image.shape[1] - 1), np.clip(column, 0, image.shape[2] - 1)]
            result = result + vertical * across * pixel
    return result


def sampled(image, y, x):
    """Linear between pixels, where everything outside of the image [C, H, W] is 0."""
    framed = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    inside = (y > -1) & (y < image.shape[1]) & (x > -1) & (x < image.shape[2])
    return between(framed, np.where(inside, y, 0) + 1, np.where(inside, x, 0) + 1) * inside


def cases_of(entry, version, halves, seeds=200):
    """The cases of a formula, each from the first seed that makes it clear; and the seeds that were tried."""
    found, count = {}, 0
    for seed in range(seeds):
        draw = Draw(seed, halves)
        for count, case in enumerate(entry.cases(draw, version), 1):
            if not draw.unclear:
                found.setdefault(count - 1, case)
            draw.unclear = False
        if len(found) == count:
            return [found[index] for index in range(count)], seed + 1
    raise AssertionError(f"{entry.name} {version}: no clear operands for cases {sorted(set(range(count)) - set(found))} in {seeds} draws")
