# SPDX-License-Identifier: Apache-2.0
"""Draws digits of `strokes.py` as 28x28 grey pictures, each bent, tilted, thickened and soiled at random."""
import numpy as np

import strokes

SIDE = 28


def bend(points, random):
    """Random smooth displacement, slant, rotation, scale, perspective and shift; returns pixel coordinates."""
    count = len(points)

    def uniform(low, high):
        return random.uniform(low, high, (count, 1, 1))

    x, y = points[..., 0].copy(), points[..., 1].copy()
    for _ in range(2):
        x, y = (x + uniform(-0.05, 0.05) * np.sin(uniform(2, 7) * y + uniform(0, 6.28)),
                y + uniform(-0.05, 0.05) * np.sin(uniform(2, 7) * x + uniform(0, 6.28)))
    strokes_apart = random.normal(0.0, 0.012, (2, count, points.shape[1], 1))
    x, y = x + strokes_apart[0], y + strokes_apart[1]
    x *= uniform(0.6, 1.15)
    x -= uniform(-0.2, 0.45) * y
    angle = uniform(-0.22, 0.22)
    x, y = np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y
    depth = 1.0 + uniform(-0.25, 0.25) * x + uniform(-0.25, 0.25) * y
    x, y = x / depth, y / depth
    # What a writer's box does: the digit is scaled to the height of the field, however it was bent before.
    height = y.max(axis=(1, 2), keepdims=True) - y.min(axis=(1, 2), keepdims=True)
    width = x.max(axis=(1, 2), keepdims=True) - x.min(axis=(1, 2), keepdims=True)
    size = uniform(16.0, 21.0) / np.maximum(np.maximum(height, width), 0.5)
    x = (x - x.mean(axis=(1, 2), keepdims=True)) * size + (SIDE - 1) / 2 + uniform(-1.8, 1.8)
    y = (y - y.mean(axis=(1, 2), keepdims=True)) * size + (SIDE - 1) / 2 + uniform(-1.8, 1.8)
    return x, y


def ink(x, y, thickness, softness):
    """Ink of the pixels from the distance of each to the nearest of the segments, [count, SIDE, SIDE]."""
    count = len(x)
    start = np.stack([x[..., :-1], y[..., :-1]], -1).reshape(count, -1, 2).astype(np.float32)
    step = np.stack([np.diff(x), np.diff(y)], -1).reshape(count, -1, 2).astype(np.float32)
    length = np.maximum((step**2).sum(-1), 1e-6)
    row, column = np.meshgrid(np.arange(SIDE, dtype=np.float32), np.arange(SIDE, dtype=np.float32), indexing="ij")
    row, column = row.ravel()[None], column.ravel()[None]
    nearest = np.full((count, SIDE * SIDE), 1e9, np.float32)
    for k in range(start.shape[1]):
        dx, dy = column - start[:, k, :1], row - start[:, k, 1:]
        along = np.clip((dx * step[:, k, :1] + dy * step[:, k, 1:]) / length[:, k, None], 0.0, 1.0)
        np.minimum(nearest, (dx - along * step[:, k, :1])**2 + (dy - along * step[:, k, 1:])**2, out=nearest)
    return np.clip((thickness - np.sqrt(nearest)) / softness + 0.5, 0.0, 1.0).reshape(count, SIDE, SIDE)


def pictures(count, seed, batch=500):
    """`count` pictures as uint8 [count, SIDE, SIDE] (ink 255 on 0) and their labels, the same for the same seed."""
    random = np.random.default_rng(seed)
    points, labels = strokes.glyphs()
    by_label = [np.flatnonzero(labels == digit) for digit in range(10)]
    images, answers = [], []
    for begin in range(0, count, batch):
        size = min(batch, count - begin)
        digits = (begin + np.arange(size)) % 10
        chosen = np.array([random.choice(by_label[digit]) for digit in digits])
        x, y = bend(points[chosen], random)
        thickness = random.uniform(0.65, 2.0, (size, 1)).astype(np.float32)
        softness = random.uniform(0.8, 1.6, (size, 1)).astype(np.float32)
        image = ink(x, y, thickness, softness)
        image *= random.uniform(0.7, 1.0, (size, 1, 1))
        image += random.uniform(0.0, 0.08, (size, 1, 1)) * random.standard_normal(image.shape)
        images.append(np.clip(image * 255.0 + 0.5, 0, 255).astype(np.uint8))
        answers.append(digits)
    return np.concatenate(images), np.concatenate(answers)
