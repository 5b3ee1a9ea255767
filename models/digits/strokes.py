# SPDX-License-Identifier: Apache-2.0
"""How the ten digits are written: strokes of our own making, several ways per digit.

A glyph is a list of strokes in a box of width 1 and height 1.4 (x to the right, y down). A stroke is either
    line(x, y, x, y, ...)                        straight pieces through the points
    curve(x, y, x, y, ...)                       a smooth curve through the points (Catmull-Rom)
    arc(cx, cy, rx, ry, from_degrees, to_degrees) a piece of an ellipse; 0 points right, 90 points down
`glyphs()` turns each into one array of short segments.
"""
import math

import numpy as np

PIECES = 14  # segments per stroke: every stroke gets the same number, so that glyphs stack into one array
STROKES = 3  # the most strokes of a glyph; glyphs with fewer repeat their last one


def resample(points):
    """PIECES + 1 points at equal distance along a polyline."""
    points = np.asarray(points, np.float64)
    lengths = np.hypot(*np.diff(points, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    at = np.linspace(0.0, along[-1], PIECES + 1)
    return np.stack([np.interp(at, along, points[:, k]) for k in (0, 1)], axis=1)


def line(*xy):
    return resample(np.reshape(xy, (-1, 2)))


def curve(*xy):
    points = np.reshape(np.asarray(xy, np.float64), (-1, 2))
    padded = np.concatenate([[2 * points[0] - points[1]], points, [2 * points[-1] - points[-2]]])
    fine = []
    for before, start, end, after in zip(padded, padded[1:], padded[2:], padded[3:]):
        for t in np.linspace(0.0, 1.0, 12, endpoint=False):
            fine.append(0.5 * (2 * start + (end - before) * t + (2 * before - 5 * start + 4 * end - after) * t**2
                               + (3 * start - before - 3 * end + after) * t**3))
    fine.append(points[-1])
    return resample(fine)


def arc(cx, cy, rx, ry, start, stop):
    angles = [math.radians(start + (stop - start) * k / 60) for k in range(61)]
    return resample([(cx + rx * math.cos(a), cy + ry * math.sin(a)) for a in angles])


GLYPHS = {
    0: [
        [arc(0.5, 0.7, 0.42, 0.66, -90, 270)],
        [arc(0.5, 0.7, 0.30, 0.64, -110, 250)],
        [arc(0.5, 0.7, 0.48, 0.52, -60, 300)],
        [curve(0.62, 0.06, 0.2, 0.3, 0.1, 0.85, 0.4, 1.34, 0.8, 1.1, 0.9, 0.5, 0.66, 0.1, 0.36, 0.12)],
        [curve(0.55, 0.1, 0.14, 0.5, 0.16, 1.1, 0.5, 1.34, 0.86, 1.0, 0.84, 0.4, 0.5, 0.08)],
    ],
    1: [
        [line(0.5, 0.04, 0.5, 1.36)],
        [line(0.5, 0.04, 0.5, 1.36), line(0.5, 0.04, 0.26, 0.34)],
        [line(0.5, 0.04, 0.5, 1.36), line(0.5, 0.04, 0.26, 0.3), line(0.24, 1.36, 0.76, 1.36)],
        [line(0.68, 0.06, 0.34, 1.36)],
        [line(0.62, 0.06, 0.42, 1.36), line(0.62, 0.06, 0.36, 0.3)],
        [line(0.4, 0.06, 0.56, 1.36)],
    ],
    2: [
        [curve(0.12, 0.36, 0.3, 0.1, 0.64, 0.06, 0.88, 0.34, 0.76, 0.7, 0.42, 1.06, 0.1, 1.34),
         line(0.1, 1.34, 0.92, 1.34)],
        [curve(0.16, 0.3, 0.46, 0.05, 0.84, 0.24, 0.78, 0.66, 0.4, 1.12, 0.16, 1.32),
         curve(0.16, 1.32, 0.44, 1.2, 0.66, 1.34, 0.94, 1.28)],
        [curve(0.14, 0.28, 0.5, 0.04, 0.86, 0.3, 0.66, 0.8, 0.26, 1.24, 0.1, 1.22, 0.16, 1.04, 0.38, 1.14, 0.62, 1.32,
               0.94, 1.2)],
        [curve(0.2, 0.14, 0.6, 0.04, 0.86, 0.3, 0.7, 0.72, 0.12, 1.32), line(0.12, 1.32, 0.9, 1.36)],
        [curve(0.2, 0.4, 0.24, 0.12, 0.6, 0.04, 0.82, 0.26, 0.74, 0.62, 0.46, 1.0, 0.14, 1.3, 0.3, 1.36, 0.9, 1.3)],
    ],
    3: [
        [arc(0.46, 0.36, 0.38, 0.32, -160, 85), arc(0.46, 1.02, 0.42, 0.34, -85, 160)],
        [curve(0.14, 0.16, 0.5, 0.03, 0.82, 0.28, 0.7, 0.56, 0.4, 0.66),
         curve(0.4, 0.66, 0.76, 0.76, 0.9, 1.06, 0.6, 1.34, 0.12, 1.24)],
        [line(0.12, 0.08, 0.84, 0.08, 0.44, 0.6), curve(0.44, 0.6, 0.8, 0.7, 0.88, 1.06, 0.56, 1.34, 0.12, 1.22)],
        [curve(0.16, 0.24, 0.4, 0.05, 0.78, 0.16, 0.74, 0.5, 0.48, 0.64, 0.8, 0.8, 0.86, 1.14, 0.5, 1.36, 0.1, 1.16)],
        [curve(0.2, 0.12, 0.56, 0.04, 0.8, 0.24, 0.64, 0.52, 0.36, 0.64, 0.66, 0.66, 0.82, 0.9, 0.66, 1.24, 0.14, 1.34)],
    ],
    4: [
        [line(0.66, 0.06, 0.1, 0.92, 0.94, 0.92), line(0.68, 0.06, 0.68, 1.36)],
        [line(0.2, 0.06, 0.16, 0.72, 0.86, 0.72), line(0.8, 0.06, 0.78, 1.36)],
        [curve(0.24, 0.1, 0.12, 0.5, 0.2, 0.74, 0.5, 0.78, 0.86, 0.66), line(0.86, 0.1, 0.8, 0.66, 0.7, 1.36)],
        [line(0.4, 0.06, 0.08, 0.86, 0.92, 0.82), line(0.66, 0.4, 0.6, 1.36)],
        [line(0.28, 0.1, 0.12, 0.66, 0.84, 0.6), line(0.88, 0.04, 0.62, 1.36)],
    ],
    5: [
        [line(0.86, 0.06, 0.22, 0.06, 0.16, 0.62), curve(0.16, 0.62, 0.5, 0.48, 0.86, 0.72, 0.84, 1.14, 0.5, 1.36, 0.1, 1.2)],
        [line(0.24, 0.1, 0.2, 0.62), curve(0.2, 0.62, 0.56, 0.54, 0.86, 0.86, 0.7, 1.26, 0.36, 1.36, 0.12, 1.22),
         line(0.24, 0.1, 0.88, 0.06)],
        [curve(0.9, 0.08, 0.5, 0.12, 0.34, 0.16, 0.26, 0.5, 0.4, 0.62, 0.76, 0.84, 0.76, 1.16, 0.46, 1.36, 0.1, 1.24)],
        [line(0.8, 0.04, 0.34, 0.08, 0.22, 0.56), curve(0.22, 0.56, 0.62, 0.62, 0.78, 0.94, 0.58, 1.3, 0.1, 1.32)],
        [curve(0.84, 0.1, 0.56, 0.06, 0.28, 0.14, 0.2, 0.42, 0.36, 0.6, 0.66, 0.72, 0.82, 1.0, 0.62, 1.32, 0.26, 1.36,
               0.1, 1.2)],
    ],
    6: [
        [curve(0.76, 0.06, 0.34, 0.36, 0.12, 0.9, 0.2, 1.26, 0.54, 1.36, 0.84, 1.14, 0.76, 0.8, 0.46, 0.7, 0.16, 0.94)],
        [curve(0.66, 0.04, 0.3, 0.4, 0.14, 0.96), arc(0.5, 1.0, 0.36, 0.35, -180, 180)],
        [curve(0.5, 0.04, 0.24, 0.5, 0.16, 1.06, 0.4, 1.36, 0.74, 1.24, 0.8, 0.98, 0.56, 0.84, 0.22, 1.06)],
        [curve(0.84, 0.14, 0.56, 0.06, 0.24, 0.36, 0.12, 0.92, 0.32, 1.34, 0.74, 1.28, 0.86, 0.96, 0.62, 0.7, 0.3, 0.76,
               0.16, 0.96)],
        [line(0.6, 0.04, 0.24, 0.86), arc(0.5, 1.04, 0.32, 0.31, -170, 190)],
    ],
    7: [
        [line(0.08, 0.08, 0.9, 0.08, 0.4, 1.36)],
        [line(0.08, 0.1, 0.9, 0.08, 0.42, 1.36), line(0.3, 0.7, 0.86, 0.68)],
        [curve(0.1, 0.16, 0.4, 0.1, 0.88, 0.12, 0.74, 0.44, 0.56, 0.86, 0.46, 1.36)],
        [line(0.1, 0.34, 0.12, 0.1, 0.88, 0.1, 0.52, 1.36)],
        [line(0.06, 0.14, 0.84, 0.06), curve(0.84, 0.06, 0.62, 0.5, 0.54, 0.9, 0.56, 1.36)],
        [line(0.1, 0.12, 0.86, 0.1, 0.3, 1.34), line(0.26, 0.76, 0.74, 0.66)],
    ],
    8: [
        [arc(0.5, 0.38, 0.34, 0.33, 90, 450), arc(0.5, 1.03, 0.4, 0.33, -90, 270)],
        [curve(0.78, 0.16, 0.44, 0.04, 0.2, 0.28, 0.44, 0.62, 0.8, 0.98, 0.56, 1.36, 0.18, 1.14, 0.36, 0.8, 0.72, 0.44,
               0.78, 0.16)],
        [curve(0.84, 0.2, 0.5, 0.03, 0.18, 0.26, 0.4, 0.58, 0.76, 0.84, 0.76, 1.22, 0.42, 1.36, 0.2, 1.1, 0.4, 0.78,
               0.7, 0.5, 0.86, 0.24)],
        [arc(0.52, 0.34, 0.28, 0.29, 90, 450), arc(0.48, 0.99, 0.34, 0.36, -90, 270)],
        [curve(0.5, 0.66, 0.2, 0.4, 0.4, 0.06, 0.74, 0.14, 0.76, 0.44, 0.46, 0.7, 0.2, 1.0, 0.36, 1.34, 0.74, 1.28,
               0.78, 0.94, 0.5, 0.66)],
    ],
    9: [
        [arc(0.48, 0.4, 0.34, 0.35, 0, 360), line(0.82, 0.36, 0.76, 1.36)],
        [curve(0.82, 0.34, 0.6, 0.05, 0.24, 0.16, 0.16, 0.5, 0.44, 0.74, 0.76, 0.54, 0.82, 0.34, 0.82, 0.8, 0.62, 1.36)],
        [arc(0.5, 0.38, 0.32, 0.33, 0, 360), curve(0.82, 0.38, 0.84, 0.9, 0.66, 1.28, 0.22, 1.3)],
        [curve(0.78, 0.12, 0.4, 0.06, 0.14, 0.36, 0.3, 0.68, 0.64, 0.56, 0.82, 0.2), line(0.82, 0.2, 0.56, 1.36)],
        [curve(0.8, 0.24, 0.46, 0.03, 0.18, 0.3, 0.3, 0.64, 0.62, 0.62, 0.8, 0.24, 0.74, 0.76, 0.4, 1.36)],
    ],
}


def glyphs():
    """Points [G, STROKES, PIECES + 1, 2] centred on the origin with unit height, and labels [G]."""
    points, labels = [], []
    for label, variants in GLYPHS.items():
        for strokes in variants:
            filled = list(strokes) + [strokes[-1]] * (STROKES - len(strokes))
            stacked = np.stack(filled)
            low, high = stacked.min(axis=(0, 1)), stacked.max(axis=(0, 1))
            points.append((stacked - (low + high) / 2) / 1.32)
            labels.append(label)
    return np.stack(points), np.array(labels)
