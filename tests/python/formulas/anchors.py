# SPDX-License-Identifier: Apache-2.0
"""Prior boxes and anchors of single-shot detectors."""
import numpy as np

from formulas.table import Case, formula

VARIANCE = np.array([0.1, 0.2, 0.3, 0.4], np.float32)


def with_variances(boxes):
    """[2, boxes * 4, 1] of boxes [.., 4]."""
    return np.stack([boxes.reshape(-1), np.tile(VARIANCE, boxes.size // 4)])[..., None]


def around(centres, sizes):
    """Boxes x1, y1, x2, y2 [H, W, S, 4] of centres [H, W, 2] and sizes [S, 2]."""
    return np.concatenate([centres[:, :, None] - sizes / 2, centres[:, :, None] + sizes / 2], -1)


def cells(rows, columns):
    """The middles (x, y) of the cells of a map, from 0 to 1."""
    y, x = np.meshgrid((np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns, indexing="ij")
    return np.stack([x, y], -1)


@formula("PriorBox_TRT", "1", "of each cell and minSize s: squares of s and sqrt(s maxSize), boxes of s sqrt(ratio) x s / sqrt(ratio)",
         "Liu et al. 2015, arXiv:1512.02325, 2.2; Caffe SSD, PriorBox")
def prior_box(draw, _):
    sizes = []
    for least, most in ((10, 20), (15, 25)):
        sizes += [(least, least), (np.sqrt(least * most),) * 2]
        sizes += [(least * np.sqrt(ratio), least / np.sqrt(ratio)) for ratio in (2, 1 / 2, 3, 1 / 3)]
    boxes = around(cells(3, 2), np.array(sizes) / [40, 60])
    for clip in (0, 1):
        fields = {"minSize": np.array([10, 15], np.float32), "maxSize": np.array([20, 25], np.float32),
                  "aspectRatios": np.array([1, 2, 3], np.float32), "flip": 1, "clip": clip, "variance": VARIANCE, "imgH": 0,
                  "imgW": 0, "stepH": 0.0, "stepW": 0.0, "offset": 0.5}
        yield Case(fields, [draw.real(1, 2, 3, 2), draw.real(1, 3, 60, 40)],
                   [with_variances(np.clip(boxes, 0, 1) if clip else boxes)[None]], 1e-5)


def grid_anchors(rectangular):
    shapes = ((3, 2), (2, 1), (1, 1)) if rectangular else ((3, 3), (2, 2), (1, 1))
    scales = [0.2, 0.5, 0.8, 1.0]  # minSize to maxSize in equal steps, then 1
    expected = []
    for level, (rows, columns) in enumerate(shapes):
        if level == 0:
            sizes = [(0.1, 1), (0.2, 2), (0.2, 0.5)]
        else:
            sizes = [(scales[level], ratio) for ratio in (1, 2, 0.5, 3)] + [(np.sqrt(scales[level] * scales[level + 1]), 1)]
        sides = np.array([(scale * np.sqrt(ratio), scale / np.sqrt(ratio)) for scale, ratio in sizes])
        expected.append(with_variances(around(cells(rows, columns), sides)))
    given = np.array(shapes if rectangular else [rows for rows, _ in shapes], np.int32).ravel()
    yield Case({"minSize": 0.2, "maxSize": 0.8, "aspectRatios": np.array([1, 2, 0.5, 3], np.float32), "featureMapShapes": given,
                "variance": VARIANCE, "numLayers": 3}, [], expected, 1e-5)


GRID = ("scales in equal steps from minSize to maxSize; of each cell boxes of scale sqrt(ratio) x scale / sqrt(ratio), and a square of "
        "the mean of two scales; three boxes in the first map", "Liu et al. 2015, arXiv:1512.02325, (4); TensorFlow Object Detection API, "
        "multiple_grid_anchor_generator")
formula("GridAnchor_TRT", "1", *GRID, halves=False)(lambda draw, _: grid_anchors(False))
formula("GridAnchorRect_TRT", "1", *GRID, halves=False)(lambda draw, _: grid_anchors(True))
