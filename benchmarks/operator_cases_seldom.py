# SPDX-License-Identifier: Apache-2.0
"""More cases of operator_speed.py (--seldom): operators that a few networks have, in their modes, along every axis, with extents of
1, primes and large ones: resizes, samplers, suppression, scatters with a reduction, sorting, spectra, losses."""

import itertools

import numpy as np

from operator_models import RANDOM, Table, weights
from operator_cases_moves import text


def resizes(table):
    for s in ((1, 3, 31, 37), (2, 16, 20, 20), (1, 64, 56, 56)):
        for mode, how in itertools.product(("nearest", "linear", "cubic"), ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")):
            for scale in ((1, 1, 2.5, 1), (1, 1, 1, 0.6), (1, 1, 3, 3)):
                table.add(f"Resize {mode} {how} {text(s)} {scale}", "Resize", [("f32", s)], [None, np.array(scale, np.float32)], opset=19, mode=mode,
                          coordinate_transformation_mode=how)
        for rounding in ("round_prefer_ceil", "floor", "ceil"):
            table.add(f"Resize nearest {rounding} {text(s)}", "Resize", [("f32", s)], [None, np.array((1, 1, 1.7, 2), np.float32)], mode="nearest",
                      nearest_mode=rounding)
        table.add(f"Resize antialias linear {text(s)}", "Resize", [("f32", s)], [None, np.array((1, 1, 0.5, 0.5), np.float32)], opset=19, mode="linear", antialias=1)
        table.add(f"Resize exclude {text(s)}", "Resize", [("f32", s)], [None, np.array((1, 1, 0.5, 1.5), np.float32)], opset=19, mode="cubic", exclude_outside=1)
        table.add(f"Resize channels {text(s)}", "Resize", [("f32", s)], [None, np.array((1, 2, 1, 1), np.float32)], mode="nearest")
        for ty in ("f32", "u8"):
            table.add(f"Upsample {ty} {text(s)}", "Upsample", [(ty, s)], [np.array((1, 1, 2, 3), np.float32)], opset=9, mode="nearest")
    for mode in ("nearest", "linear"):
        table.add(f"Resize {mode} volume", "Resize", [("f32", (1, 4, 9, 10, 11))], [None, np.array((1, 1, 2, 1.5, 2), np.float32)], mode=mode)
        table.add(f"Resize {mode} line", "Resize", [("f32", (3, 5, 101))], [None, np.array((1, 1, 2.5), np.float32)], mode=mode)


def samplers(table):
    for mode, padding, corners in itertools.product(("linear", "nearest", "cubic"), ("zeros", "border", "reflection"), (0, 1)):
        table.add(f"GridSample {mode} {padding} {corners}", "GridSample", [("f32", (2, 5, 17, 19)), ("f32", (2, 13, 11, 2), -1.3, 1.3)], opset=20, mode=mode,
                  padding_mode=padding, align_corners=corners)
        if mode != "cubic":
            table.add(f"GridSample volume {mode} {padding} {corners}", "GridSample", [("f32", (1, 3, 7, 9, 11)), ("f32", (1, 5, 6, 7, 3), -1.3, 1.3)], opset=20,
                      mode=mode, padding_mode=padding, align_corners=corners)
    for mode, samples, how in itertools.product(("avg", "max"), (0, 2), ("half_pixel", "output_half_pixel")):
        table.add(f"RoiAlign {mode} {samples} {how}", "RoiAlign", [("f32", (2, 8, 25, 31)), ("f32", (37, 4), 1, 24)], [RANDOM.integers(0, 2, 37)], opset=16, mode=mode,
                  sampling_ratio=samples, coordinate_transformation_mode=how, output_height=3, output_width=5)
    for boxes, classes in ((100, 1), (1000, 3), (8400, 1), (300, 80)):
        for limit, iou, score in ((10, 0.5, 3.0), (1000, 0.3, 6.0)):
            table.add(f"NonMaxSuppression {boxes} {classes} {limit}", "NonMaxSuppression", [("f32", (1, boxes, 4), 0, 100), ("f32", (1, classes, boxes))],
                      [np.array([limit]), np.array([iou], np.float32), np.array([score], np.float32)])
    for corners in (0, 1):
        table.add(f"AffineGrid image {corners}", "AffineGrid", [("f32", (2, 2, 3), -1, 1)], [np.array([2, 3, 17, 31])], opset=20, align_corners=corners)
        table.add(f"AffineGrid volume {corners}", "AffineGrid", [("f32", (2, 3, 4), -1, 1)], [np.array([2, 3, 7, 11, 13])], opset=20, align_corners=corners)
    for groups, pads, strides in ((1, 1, 1), (2, 0, 2)):
        n = 13 if pads else 6
        table.add(f"DeformConv {groups} {strides}", "DeformConv", [("f32", (1, 4, 13, 13), -1, 1), ("f32", (6, 4, 3, 3), -1, 1), ("f32", (1, 18 * groups, n, n), -1, 1), ("f32", (6,), -1, 1), ("f32", (1, 9 * groups, n, n), 0, 1)],
                  opset=19, kernel_shape=[3, 3], pads=[pads] * 4, strides=[strides] * 2, offset_group=groups)
    for s in ((2, 3, 13, 15), (1, 1, 8, 8)):
        for w, st, ceil in ((2, 2, 0), (3, 2, 1), (3, 1, 0)):
            table.add(f"MaxPool indices {w} {st} {text(s)}", "MaxPool", [("f32", s)], outputs=2, kernel_shape=[w, w], strides=[st, st], ceil_mode=ceil)
        table.add(f"MaxPool dilated {text(s)}", "MaxPool", [("f32", s)], kernel_shape=[3, 2], dilations=[2, 3])
        for p in (1, 2, 3):
            table.add(f"LpPool {p} {text(s)}", "LpPool", [("f32", s, -4, 4)], opset=18, kernel_shape=[3, 2], strides=[2, 1], p=p, pads=[1, 0, 1, 0])
            table.add(f"GlobalLpPool {p} {text(s)}", "GlobalLpPool", [("f32", s, -4, 4)], p=p)
    table.add("MaxUnpool", "MaxUnpool", [("f32", (1, 2, 5, 7))], [np.stack([RANDOM.choice(140, 35, replace=False).reshape(5, 7) + 140 * c for c in range(2)])[None]], kernel_shape=[2, 2], strides=[2, 2])
    for s, w in (((2, 12, 30), (2, 3)), ((1, 27, 121), (3, 3))):
        table.add(f"Col2Im {text(s)}", "Col2Im", [("f32", s)], [np.array([7, 7] if w == (2, 3) else [13, 13]), np.array(w)], opset=18)


def indices(table):
    big = ((1000, 33), (37, 41, 3), (100003,))
    for s, reduction, ty in itertools.product(big, ("none", "add", "mul", "max", "min"), ("f32", "f16", "i32", "i64", "u8", "bool")):
        if ty == "bool" and reduction in ("mul", "min", "add", "max"):
            continue
        axis = len(s) - 1
        where = RANDOM.integers(-s[axis], s[axis], s)
        if reduction == "none":
            where = np.argsort(RANDOM.random(s), axis)
        table.add(f"ScatterElements {reduction} {ty} {text(s)}", "ScatterElements", [(ty, s)], [where, np.ones(s, {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "bool": bool}[ty])], opset=18, axis=axis,
                  reduction=reduction)
        rows = np.arange(s[0])[: s[0] // 2, None] if reduction == "none" else RANDOM.integers(-s[0], s[0], (s[0] // 2, 1))
        table.add(f"ScatterND {reduction} {ty} {text(s)}", "ScatterND", [(ty, s), ("i64", rows.shape, 0, s[0])] if reduction != "none" else [(ty, s)], ([rows] if reduction == "none" else []) + [np.ones((rows.shape[0], *s[1:]), {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "bool": bool}[ty])], opset=18, reduction=reduction)
    for s in ((7, 11, 13), (1, 997), (64, 64, 2)):
        for ty in ("f32", "i32", "bool", "u8"):
            table.add(f"NonZero {ty} {text(s)}", "NonZero", [(ty, s, 0, 3)])
        for axis in range(-1, len(s)):
            table.add(f"Compress axis {axis} {text(s)}", "Compress", [("f32", s), ("bool", (s[axis] if axis >= 0 else int(np.prod(s)),))], **({"axis": axis} if axis >= 0 else {}))
            for ty in ("f32", "i64", "i32", "u8"):
                if int(np.prod(s)) // s[axis] > 512 and axis >= 0:
                    continue
                table.add(f"Unique {ty} axis {axis} {text(s)}", "Unique", [(ty, s, 0, 3)], outputs=4, **({"axis": axis} if axis >= 0 else {}))
        for axis in range(len(s)):
            for exclusive, reverse in itertools.product((0, 1), (0, 1)):
                for ty in ("f32", "i32", "i64", "f16"):
                    table.add(f"CumSum {ty} axis {axis} {exclusive}{reverse} {text(s)}", "CumSum", [(ty, s, -8, 8)], [np.int64(axis)], exclusive=exclusive, reverse=reverse)
            table.add(f"GatherElements axis {axis} {text(s)}", "GatherElements", [("f32", s), ("i64", s, 0, s[axis])], axis=axis)
            table.add(f"OneHot axis {axis} {text(s)}", "OneHot", [("i64", s, 0, 5)], [np.int64(5), np.array([0, 1], np.float32)], axis=axis)
            table.add(f"Hardmax axis {axis} {text(s)}", "Hardmax", [("f32", s)], axis=axis)
        table.add(f"GatherND {text(s)}", "GatherND", [("f32", s), ("i64", (29, 2), 0, s[-1] if len(s) == 2 and s[0] == 1 else 2)] if s[0] > 1 else [("f32", s), ("i64", (29, 1), 0, 1)])
        for upper, k in itertools.product((0, 1), (-3, 0, 5)):
            for ty in ("f32", "i64", "bool"):
                table.add(f"Trilu {ty} {upper} {k} {text(s)}", "Trilu", [(ty, s)], [np.int64(k)], upper=upper)
    table.add("GatherND batch", "GatherND", [("f32", (5, 7, 11)), ("i64", (5, 3, 1), 0, 7)], batch_dims=1)
    for batch, time in ((1, 0), (0, 1)):
        table.add(f"ReverseSequence {batch}", "ReverseSequence", [("f32", (13, 17, 5)), ("i64", ((13, 17)[batch],), 1, 12)], batch_axis=batch, time_axis=time)
    table.add("OneHot of floats", "OneHot", [("f32", (1001,), 0, 9)], [np.int64(10), np.array([0, 1], np.int64)])
    table.add("EyeLike 300x301", "EyeLike", [("f32", (300, 301))], k=2)
    table.add("CenterCropPad", "CenterCropPad", [("f32", (20, 11, 3))], [np.array([10, 14])], opset=18, axes=[0, 1])


def formulas(table):
    s = (7, 13, 31)
    for op, form in (("Celu", {"alpha": 2.0}), ("Shrink", {"lambd": 1.0, "bias": 0.5}), ("ThresholdedRelu", {"alpha": 1.5}), ("IsInf", {}), ("IsInf", {"detect_negative": 0}), ("Selu", {}), ("Softsign", {})):
        table.add(f"{op} {form}", op, [("f32", s, -4, 4)], **form)
    for ty, direction in itertools.product(("u8",), ("LEFT", "RIGHT")):
        table.add(f"BitShift {ty} {direction}", "BitShift", [(ty, s), (ty, s, 0, 9)], direction=direction)
    for ty, fmod in (("f32", 1), ("f16", 1), ("i32", 0), ("i32", 1), ("i64", 0), ("i8", 0), ("u8", 0)):
        bounds = (0, 100) if ty == "u8" else (-50, 50)
        table.add(f"Mod {ty} {fmod}", "Mod", [(ty, s, *bounds), (ty, s, 1, 9)], fmod=fmod)
    for n in (1, 2, 3, 6, 9, 20):
        table.add(f"Det {n}", "Det", [("f32", (5, n, n), -1, 1)])
        table.add(f"Det {n} single", "Det", [("f32", (n, n), -1, 1)])
    for s, reduction in itertools.product(((13, 7), (5, 7, 3, 4), (1000, 100)), ("none", "sum", "mean")):
        labels = (s[0], *s[2:])
        table.add(f"SoftmaxCrossEntropyLoss {reduction} {text(s)}", "SoftmaxCrossEntropyLoss", [("f32", s), ("i64", labels, 0, s[1])], reduction=reduction)
        table.add(f"SoftmaxCrossEntropyLoss weights {reduction} {text(s)}", "SoftmaxCrossEntropyLoss", [("f32", s), ("i64", labels, 0, s[1])], [np.abs(weights(s[1]))], reduction=reduction, outputs=2, ignore_index=2)
        table.add(f"NegativeLogLikelihoodLoss {reduction} {text(s)}", "NegativeLogLikelihoodLoss", [("f32", s), ("i64", labels, 0, s[1])], [np.abs(weights(s[1]))], reduction=reduction, ignore_index=1)
    for s in ((2, 12, 9, 11), (1, 64, 7, 7), (3, 8, 50)):
        if len(s) == 4:
            table.add(f"LRN {text(s)}", "LRN", [("f32", s)], size=3, alpha=0.01, beta=0.6, bias=2.0)
        table.add(f"MeanVarianceNormalization {text(s)}", "MeanVarianceNormalization", [("f32", s)], axes=[0, 2] + [3] * (len(s) == 4))
        table.add(f"GroupNormalization {text(s)}", "GroupNormalization", [("f32", s)], [weights(s[1]), weights(s[1])], opset=21, num_groups=4)
        for p, axis in itertools.product((1, 2), range(len(s))):
            table.add(f"LpNormalization {p} {axis} {text(s)}", "LpNormalization", [("f32", s, -3, 3)], p=p, axis=axis)
    for inverse, onesided, axis in ((0, 0, 1), (0, 1, 1), (1, 0, 1), (0, 0, 2)):
        table.add(f"DFT {inverse}{onesided} {axis}", "DFT", [("f32", (3, 20, 12, 1 if not inverse else 2), -1, 1)], [None, np.int64(axis)], opset=20, inverse=inverse, onesided=onesided)
    table.add("STFT", "STFT", [("f32", (2, 400, 1), -1, 1)], [np.int64(40), np.hanning(100).astype(np.float32)], onesided=1)
    for eq, *shapes in (("ij,kj->ik", (13, 31), (17, 31)), ("bhid,bhjd->bhij", (2, 3, 11, 16), (2, 3, 13, 16)), ("ii->i", (17, 17)), ("...ii->...", (3, 9, 9)), ("abc->cab", (5, 7, 11)), ("ab,b,bc->ac", (5, 7), (7,), (7, 9)), ("i,i->", (1001,), (1001,))):
        table.add(f"Einsum {eq}", "Einsum", [("f32", s, -1, 1) for s in shapes], equation=eq)
    table.add("Bernoulli", "Bernoulli", [("f32", (100, 100), 0, 1)], opset=15)
    for op in ("RandomNormalLike", "RandomUniformLike"):
        table.add(op, op, [("f32", (100, 100))])
    table.add("Multinomial", "Multinomial", [("f32", (3, 50), -1, 1)], sample_size=20)


def cases(_shape=None):
    table = Table()
    for fill in (resizes, samplers, indices, formulas):
        fill(table)
    return table
