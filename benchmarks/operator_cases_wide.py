# SPDX-License-Identifier: Apache-2.0
"""Still more cases of operator_speed.py (--wide): some 1,530 of sizes from 1 to 10^7 elements, ranks from 1 to 6, every kind of
broadcasting, odd axes and newer operators. They have shapes of their own."""
import itertools

import numpy as np

from operator_models import RANDOM, Table, weights


def text(*shapes):
    return " ".join("x".join(map(str, shape)) for shape in shapes)


def elementwise(table):
    for n in ((1,), (17,), (1000,), (100000,), (10000000,), (3, 5, 7, 11, 13), (2, 3, 4, 5, 6, 7)):
        s = text(n)
        for op in ("Relu", "Sigmoid", "Exp", "Sqrt", "Tanh", "Neg", "Gelu", "Softplus", "HardSwish"):
            table.add(f"{op} f32 {s}", op, [("f32", n)], opset=20 if op == "Gelu" else 17)
        for op in ("Add", "Mul", "Div", "Sub", "Max", "Pow", "Greater"):
            table.add(f"{op} f32 {s}", op, [("f32", n), ("f32", n)])
        for t in ("f16", "i64", "i32", "u8"):
            table.add(f"Add {t} {s}", "Add", [(t, n), (t, n)])
        table.add(f"Cast f32 f16 {s}", "Cast", [("f32", n)], to=10)
        table.add(f"Where f32 {s}", "Where", [("bool", n), ("f32", n), ("f32", n)])
        table.add(f"Clip f32 {s}", "Clip", [("f32", n)], [np.float32(2), np.float32(5)])
    for x, y in (((1000, 1), (1, 1000)), ((64, 1, 56, 56), (1, 64, 1, 1)), ((1, 64, 56, 56), (1, 1, 56, 56)), ((32, 1, 1, 128), (32, 12, 128, 128)),
                 ((7, 1, 9, 1, 11), (1, 8, 1, 10, 11)), ((100000, 1), (100000, 4)), ((3,), (100000, 3)), ((5, 4, 3, 2, 1, 8), (5, 1, 3, 1, 6, 8)),
                 ((1, 512), (4096, 512)), ((4096, 1), (4096, 512)), ((1,), (1000000,)), ((2, 1000, 1), (2, 1, 1000)), ((128, 1, 64), (128, 64, 1))):
        s = text(x, y)
        for op, t in (("Add", "f32"), ("Mul", "f16"), ("Sub", "i32"), ("Div", "f32"), ("Equal", "i64"), ("Max", "f32"), ("Pow", "f32"), ("Less", "f16"),
                      ("Mul", "i64"), ("And", "bool")):
            table.add(f"{op} {t} broadcast {s}", op, [(t, x), (t, y)])
        table.add(f"Where f32 broadcast {s}", "Where", [("bool", x), ("f32", y), ("f32", (1,))])
    for op, t in itertools.product(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), ("u8", "i64", "i8")):
        table.add(f"{op} {t}", op, [(t, (8, 128, 1024)), (t, (8, 128, 1024))], opset=18)
    for direction in ("LEFT", "RIGHT"):
        table.add(f"BitShift u8 {direction} by one", "BitShift", [("u8", (1000, 1000)), ("u8", (1,))], direction=direction)
    table.add("IsInf f16", "IsInf", [("f16", (1000, 1000))], opset=20)
    table.add("Mod f32 by one", "Mod", [("f32", (1000, 100)), ("f32", (1,))], fmod=1)


def reductions(table):
    for shape, axes in (((10000000,), [0]), ((1000, 1000), [0]), ((1000, 1000), [1]), ((3, 1000000), [1]), ((1000000, 3), [1]), ((1000000, 3), [0]),
                        ((2, 3, 224, 224), [2, 3]), ((2, 3, 224, 224), [1]), ((16, 64, 7, 7), [2, 3]), ((5, 6, 7, 8, 9, 10), [1, 3, 5]),
                        ((5, 6, 7, 8, 9, 10), [0, 2, 4]), ((32, 12, 128, 128), [3]), ((32, 12, 128, 128), [2]), ((32, 12, 128, 128), [1]), ((1, 7), [1]),
                        ((257, 129, 65), [1])):
        s = f"{text(shape)} {axes}"
        for op, t in (("ReduceMean", "f32"), ("ReduceMax", "f32"), ("ReduceMin", "f32"), ("ReduceL2", "f32"), ("ReduceL1", "f32"), ("ReduceProd", "f32"),
                      ("ReduceLogSumExp", "f32"), ("ReduceSumSquare", "f32"), ("ReduceMax", "i64"), ("ReduceMean", "f16"), ("ReduceMin", "u8"),
                      ("ReduceMean", "i32")):
            table.add(f"{op} {t} {s}", op, [(t, shape, 0.9, 1.1) if t == "f32" else (t, shape)], axes=axes)
        for t in ("f32", "i64"):
            table.add(f"ReduceSum {t} {s}", "ReduceSum", [(t, shape)], [np.array(axes)])
        if len(axes) > 1:
            continue
        axis = axes[0]
        for op in ("Softmax", "LogSoftmax", "ArgMax", "ArgMin", "Hardmax", "LpNormalization"):
            table.add(f"{op} f32 {s}", op, [("f32", shape)], axis=axis)
        table.add(f"ArgMax i64 last {s}", "ArgMax", [("i64", shape)], axis=axis, select_last_index=1)
        table.add(f"Softmax f16 {s}", "Softmax", [("f16", shape)], axis=axis)
        table.add(f"CumSum f32 {s}", "CumSum", [("f32", shape)], [np.int64(axis)])
        table.add(f"CumSum f32 exclusive {s}", "CumSum", [("f32", shape)], [np.int64(axis)], exclusive=1)
        if shape[axis] >= 10:
            table.add(f"TopK 10 {s}", "TopK", [("f32", shape)], [np.array([10])], outputs=2, axis=axis)
            table.add(f"TopK 10 unsorted {s}", "TopK", [("f32", shape)], [np.array([10])], outputs=2, axis=axis, sorted=0)
            table.add(f"TopK many {s}", "TopK", [("f32", shape)], [np.array([min(2000, shape[axis] // 2)])], outputs=2, axis=axis)


def normalizations(table):
    for shape in ((1, 32, 128, 128), (8, 64, 14, 14), (1, 3, 1000), (2, 16, 8, 16, 16), (16, 128)):
        c, s = shape[1], text(shape)
        table.add(f"BatchNormalization {s}", "BatchNormalization", [("f32", shape)], [weights(c), weights(c), weights(c), np.abs(weights(c)) + 0.5])
        if len(shape) > 2:
            table.add(f"InstanceNormalization {s}", "InstanceNormalization", [("f32", shape)], [weights(c), weights(c)])
            if c % 8 == 0:
                table.add(f"GroupNormalization {s}", "GroupNormalization", [("f32", shape)], [weights(c), weights(c)], opset=21, num_groups=8)
        if len(shape) == 4:
            table.add(f"LRN {s}", "LRN", [("f32", shape)], size=3)
        table.add(f"LayerNormalization {s}", "LayerNormalization", [("f32", shape)], [weights(shape[-1]), weights(shape[-1])], axis=-1)
        table.add(f"LayerNormalization without bias {s}", "LayerNormalization", [("f32", shape)], [weights(shape[-1])], axis=-1)
    table.add("RMSNormalization", "RMSNormalization", [("f32", (128, 768))], [weights(768)], opset=23, axis=-1)
    table.add("MeanVarianceNormalization of channels", "MeanVarianceNormalization", [("f32", (2, 16, 64, 64))], axes=[0, 2, 3])


TRANSPOSES = (((1000, 1000), (1, 0)), ((2, 3, 224, 224), (0, 2, 3, 1)), ((2, 224, 224, 3), (0, 3, 1, 2)), ((7, 11, 13, 17), (3, 1, 2, 0)),
              ((4, 8, 16, 32, 8), (0, 3, 2, 1, 4)), ((3, 4, 5, 6, 7, 8), (5, 3, 1, 0, 2, 4)), ((100000, 4), (1, 0)), ((4, 100000), (1, 0)),
              ((32, 128, 12, 64), (0, 2, 1, 3)), ((32, 128, 12, 64), (0, 2, 3, 1)), ((64, 3, 3, 64), (3, 0, 1, 2)), ((1, 4, 64, 2, 64, 2), (0, 1, 3, 5, 2, 4)))
SLICES = (((1000, 1000), [-1], [-2**40], [0], [-1]), ((1000, 1000), [-1], [-2**40], [1], [-2]), ((1, 64, 56, 56), [0, 0], [2**40] * 2, [2, 3], [2, 2]),
          ((64, 128, 128), [5], [100], [1], [3]), ((10, 10, 10, 10, 10), [1] * 5, [9] * 5, [0, 1, 2, 3, 4], [1, 2, 1, 2, 1]),
          ((1000000,), [3], [-3], [0], [1]), ((1000000,), [3], [-3], [0], [5]), ((1, 3, 640, 640), [1], [2**40], [3], [2]))
CONCATENATIONS = (([(4, 100, 3), (4, 50, 3)], 1), ([(1000, 1), (1000, 1)], 1), ([(1000, 3), (1000, 5), (1000, 7)], 1), ([(1, 64, 28, 28)] * 4, 1),
                  ([(2, 8, 100, 17), (2, 8, 100, 15)], 3), ([(1,)] * 20, 0), ([(100000, 2), (100000, 2)], 1))


def movement(table, t):
    for shape, perm in TRANSPOSES:
        table.add(f"Transpose {t} {text(shape)} {perm}", "Transpose", [(t, shape)], perm=perm)
    for shape, *limits in SLICES:
        table.add(f"Slice {t} {text(shape)} {limits[0]} {limits[2]} {limits[3]}", "Slice", [(t, shape)], [np.array(limit) for limit in limits])
    for shapes, axis in CONCATENATIONS:
        table.add(f"Concat {t} {text(*shapes[:3])} {axis}", "Concat", [(t, shape) for shape in shapes], axis=axis)
    for name, shape, picks, axis in (("rows of 768", (5000, 768), (4, 128), 0), ("rows of 8", (50000, 8), (4, 1000), 0), ("columns", (128, 1000), (300,), -1),
                                     ("elements", (100000,), (100000,), 0), ("middle", (16, 100, 64), (5, 7), 1)):
        table.add(f"Gather {t} {name}", "Gather", [(t, shape), ("i64", picks, 0, shape[axis])], axis=axis)
    if t != "bool":
        table.add(f"GatherElements {t}", "GatherElements", [(t, (1000, 100)), ("i64", (1000, 100), 0, 1000)], axis=0)
        table.add(f"ScatterElements {t}", "ScatterElements", [(t, (1000, 100)), ("i64", (500, 100), 0, 1000), (t, (500, 100))], axis=0)
        table.add(f"Pad {t} image", "Pad", [(t, (1, 3, 224, 224))], [np.array([0, 0, 3, 3, 0, 0, 3, 3])])
        table.add(f"Pad {t} rows", "Pad", [(t, (1000, 100))], [np.array([0, 1, 0, 1])])
    for count, width in ((10000, 2), (10000, 3)):
        table.add(f"GatherND {t} {width}", "GatherND", [(t, (64, 64, 64)), ("i64", (count, width), 0, 64)])
    table.add(f"ScatterND {t} 2", "ScatterND", [(t, (64, 64, 64)), ("i64", (1000, 2), 0, 64), (t, (1000, 64))])
    table.add(f"ScatterND {t} 3", "ScatterND", [(t, (64, 64, 64)), ("i64", (10000, 3), 0, 64), (t, (10000,))])
    for shape, times in (((100, 1, 100), [1, 50, 1]), ((1000, 7), [3, 20]), ((1000, 1), [1, 200])):
        table.add(f"Tile {t} {text(shape)}", "Tile", [(t, shape)], [np.array(times)])
    for shape, to in (((1, 64, 1, 1), [8, 64, 56, 56]), ((100, 1, 100), [100, 100, 100])):
        table.add(f"Expand {t} {text(shape)}", "Expand", [(t, shape)], [np.array(to)])
    table.add(f"NonZero {t}", "NonZero", [(t, (300, 300), 0, 3)])
    table.add(f"Where {t} rows and one", "Where", [("bool", (64, 1, 1000)), (t, (64, 8, 1000)), (t, (1,))])
    table.add(f"Compress {t}", "Compress", [(t, (1000, 64))], [np.arange(1000) % 3 == 0], axis=0)
    table.add(f"Split {t} columns", "Split", [(t, (64, 300))], [np.array([100, 100, 100])], outputs=3, axis=1)
    table.add(f"Split {t} rows", "Split", [(t, (64, 300))], [np.full(64, 1)], outputs=64, axis=0)
    if t in ("f32", "f16", "u8"):
        table.add(f"DepthToSpace {t}", "DepthToSpace", [(t, (1, 48, 60, 60))], blocksize=4)
    if t in ("f32", "f16"):
        table.add(f"SpaceToDepth {t}", "SpaceToDepth", [(t, (1, 3, 640, 640))], blocksize=2)
    if t in ("f32", "i64", "bool"):
        table.add(f"Trilu {t}", "Trilu", [(t, (8, 500, 500))], upper=0)
    table.add(f"Reshape {t}", "Reshape", [(t, (64, 300))], [np.array([300, 64])])
    table.add(f"Flatten {t}", "Flatten", [(t, (64, 3, 100))])


def images(table):
    for shape in ((1, 3, 512, 512), (4, 64, 28, 28), (1, 256, 14, 14), (1, 1, 100, 100)):
        s = text(shape)
        for mode, place, scale in itertools.product(("nearest", "linear", "cubic"), ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"),
                                                    ((2, 2), (0.5, 0.5), (1.5, 0.75))):
            table.add(f"Resize {mode} {place} {s} {scale}", "Resize", [("f32", shape)], [None, np.array([1, 1, *scale], np.float32)], mode=mode,
                      coordinate_transformation_mode=place)
        double = np.array([1, 1, 2, 2], np.float32)
        table.add(f"Resize floor {s}", "Resize", [("f32", shape)], [None, double], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        table.add(f"Resize to 97x101 {s}", "Resize", [("f32", shape)], [None, None, np.array([*shape[:2], 97, 101])], mode="linear")
        table.add(f"Resize u8 linear {s}", "Resize", [("u8", shape)], [None, double], mode="linear")
        table.add(f"Resize antialias cubic {s}", "Resize", [("f32", shape)], [None, np.array([1, 1, 0.5, 0.5], np.float32)], mode="cubic", antialias=1,
                  opset=18)
        for window, stride, pad, step in ((2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 1), (5, 3, 2, 1), (3, 1, 2, 2)):
            form = dict(kernel_shape=[window] * 2, strides=[stride] * 2, pads=[pad] * 4)
            table.add(f"MaxPool {window} {stride} {step} {s}", "MaxPool", [("f32", shape)], dilations=[step] * 2, **form)
            if step == 1:
                table.add(f"AveragePool {window} {stride} {s}", "AveragePool", [("f32", shape)], **form)
                for t in ("f16", "u8"):
                    table.add(f"MaxPool {t} {window} {stride} {s}", "MaxPool", [(t, shape)], **form)
        table.add(f"MaxPool 1x3 {s}", "MaxPool", [("f32", shape)], kernel_shape=[1, 3], strides=[1, 2])
        table.add(f"AveragePool 4x1 {s}", "AveragePool", [("f32", shape)], kernel_shape=[4, 1], strides=[4, 1])
        for op in ("GlobalAveragePool", "GlobalMaxPool"):
            table.add(f"{op} {s}", op, [("f32", shape)])
    table.add("MaxPool indices 3 2", "MaxPool", [("f32", (1, 16, 56, 56))], outputs=2, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    table.add("MaxUnpool", "MaxUnpool", [("f32", (1, 16, 28, 28)), ("i64", (1, 16, 28, 28), 0, 12544)], kernel_shape=[2, 2], strides=[2, 2])
    table.add("GridSample 3d", "GridSample", [("f32", (1, 4, 16, 16, 16)), ("f32", (1, 8, 16, 16, 3), -1, 1)], opset=20)
    table.add("GridSample reflection", "GridSample", [("f32", (1, 8, 64, 64)), ("f32", (1, 64, 64, 2), -1.5, 1.5)], padding_mode="reflection", opset=20)
    table.add("GridSample corners", "GridSample", [("f32", (4, 3, 64, 64)), ("f32", (4, 64, 64, 2), -1, 1)], align_corners=1, opset=20)
    table.add("AffineGrid", "AffineGrid", [("f32", (2, 2, 3))], [np.array([2, 3, 128, 128])], opset=20)
    table.add("NonMaxSuppression", "NonMaxSuppression", [("f32", (1, 1000, 4)), ("f32", (1, 4, 1000), 0, 1)],
              [np.array([50]), np.array([0.5], np.float32), np.array([0.3], np.float32)])


def products(table):
    signed = lambda *shape: RANDOM.integers(-8, 8, shape).astype(np.int8)
    half = np.float16
    for m, k, n in ((1, 4096, 4096), (1, 768, 50000), (2, 768, 768), (4, 512, 2048), (8, 4096, 1024), (32, 768, 3072), (100, 100, 100), (1000, 1000, 1000),
                    (17, 19, 23), (1, 10, 10), (4096, 64, 64), (64, 64, 4096), (3, 100000, 3), (1000, 2, 1000), (31, 1025, 7), (256, 4096, 8)):
        s = f"{m}x{k}x{n}"
        table.add(f"MatMul with weights {s}", "MatMul", [("f32", (m, k))], [weights(k, n)])
        table.add(f"MatMul {s}", "MatMul", [("f32", (m, k)), ("f32", (k, n))])
        if k * n > 1 << 22:
            continue
        table.add(f"MatMul f16 {s}", "MatMul", [("f16", (m, k), -1, 1), ("f16", (k, n), -1, 1)])
        table.add(f"Gemm transB {s}", "Gemm", [("f32", (m, k))], [weights(n, k), weights(n)], transB=1)
        table.add(f"MatMulInteger {s}", "MatMulInteger", [("u8", (m, k))], [signed(k, n)])
        table.add(f"MatMulInteger i8 {s}", "MatMulInteger", [("i8", (m, k)), ("i8", (k, n))])
        table.add(f"QLinearMatMul {s}", "QLinearMatMul", [("u8", (m, k))], [np.float32(0.02), np.uint8(3), signed(k, n), np.float32(0.03), np.int8(0),
                                                                           np.float32(0.1), np.uint8(9)])
    for x, y in (((12, 128, 64), (12, 64, 128)), ((12, 1, 64), (12, 64, 512)), ((8, 8, 512, 64), (8, 8, 64, 512)), ((1000, 3, 3), (1000, 3, 3)),
                 ((10000, 4, 4), (10000, 4, 1)), ((64, 100), (8, 100, 64)), ((2, 3, 4, 5, 6), (2, 3, 4, 6, 5)), ((50, 1, 512), (512, 8)),
                 ((4, 7, 33, 65), (65, 31))):
        table.add(f"MatMul {text(x, y)}", "MatMul", [("f32", x), ("f32", y)])
        table.add(f"MatMul f16 {text(x, y)}", "MatMul", [("f16", x, -1, 1), ("f16", y, -1, 1)])
    for equation, *shapes in (("ij,jk->ik", (200, 300), (300, 100)), ("bnqd,bnkd->bnqk", (2, 8, 128, 64), (2, 8, 128, 64)),
                              ("bqnd,bknd->bnqk", (2, 128, 8, 64), (2, 128, 8, 64)), ("bnqk,bknd->bqnd", (2, 8, 128, 128), (2, 128, 8, 64)),
                              ("bij,bij->bij", (8, 64, 64), (8, 64, 64)), ("ii->i", (1000, 1000)), ("ijk->kji", (50, 60, 70)), ("ijk->j", (50, 60, 70)),
                              ("i,i->", (100000,), (100000,)), ("bi,bj->bij", (64, 100), (64, 100)), ("abc,cd->abd", (16, 100, 64), (64, 32)),
                              ("abcd,cde->abe", (4, 10, 16, 32), (16, 32, 64)), ("bhwc,hkc->bhwk", (2, 14, 14, 64), (14, 14, 64)),
                              ("ik,jk->ij", (500, 64), (500, 64)), ("ki,kj->ij", (64, 500), (64, 500)), ("ij,ij->", (500, 500), (500, 500)),
                              ("bik,bjk,bkl->bijl", (2, 20, 30), (2, 20, 30), (2, 30, 20))):
        table.add(f"Einsum {equation}", "Einsum", [("f32", shape) for shape in shapes], equation=equation)
    for t, kind in (("f32", np.float32), ("f16", half)):
        for name, x, w, form in (
                ("1x1 8", (1, 8, 32, 32), (8, 8, 1, 1), {}), ("3x3 16", (1, 16, 32, 32), (16, 16, 3, 3), dict(pads=[1] * 4)),
                ("3x3 16 batch 8", (8, 16, 32, 32), (16, 16, 3, 3), dict(pads=[1] * 4)), ("3x3 128", (1, 128, 14, 14), (128, 128, 3, 3), dict(pads=[1] * 4)),
                ("3x3 256 batch 4", (4, 256, 7, 7), (256, 256, 3, 3), dict(pads=[1] * 4)), ("1x1 512 to 128", (1, 512, 28, 28), (128, 512, 1, 1), {}),
                ("1x1 3 to 64", (1, 3, 100, 100), (64, 3, 1, 1), {}), ("3x3 3 to 16 by 2", (1, 3, 160, 160), (16, 3, 3, 3), dict(pads=[1] * 4, strides=[2, 2])),
                ("5x5 24", (1, 24, 40, 40), (24, 24, 5, 5), dict(pads=[2] * 4)),
                ("depthwise 3 by 2", (1, 96, 56, 56), (96, 1, 3, 3), dict(pads=[1] * 4, strides=[2, 2], group=96)),
                ("depthwise 5 by 2", (1, 72, 28, 28), (72, 1, 5, 5), dict(pads=[2] * 4, strides=[2, 2], group=72)),
                ("depthwise 7", (1, 384, 14, 14), (384, 1, 7, 7), dict(pads=[3] * 4, group=384)), ("1d 512", (1, 512, 100), (512, 512, 3), dict(pads=[1, 1])),
                ("1d depthwise 7", (1, 256, 300), (256, 1, 7), dict(pads=[3, 3], group=256)), ("1d 1 to 128 by 5", (1, 1, 16000), (128, 1, 10), dict(strides=[5])),
                ("32 groups", (1, 128, 28, 28), (128, 4, 3, 3), dict(pads=[1] * 4, group=32)),
                ("dilated", (1, 64, 33, 33), (64, 64, 3, 3), dict(pads=[2] * 4, dilations=[2, 2])), ("3d", (1, 3, 16, 56, 56), (24, 3, 3, 3, 3), dict(pads=[1] * 6))):
            table.add(f"Conv {t} {name}", "Conv", [(t, x, -1, 1)], [weights(*w).astype(kind)], **form)
        for name, x, w, form in (("2 by 2", (1, 64, 28, 28), (64, 32, 2, 2), dict(strides=[2, 2])),
                                 ("4 by 2", (1, 128, 8, 8), (128, 64, 4, 4), dict(strides=[2, 2], pads=[1] * 4)),
                                 ("3 by 1", (1, 16, 64, 64), (16, 3, 3, 3), dict(pads=[1] * 4)),
                                 ("1d 8 by 4", (1, 128, 200), (128, 64, 8), dict(strides=[4], pads=[2, 2]))):
            table.add(f"ConvTranspose {t} {name}", "ConvTranspose", [(t, x, -1, 1)], [weights(*w).astype(kind)], **form)


def networks(table):
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for steps, batch, width, hidden, directions in ((10, 1, 10, 20, 1), (50, 1, 40, 256, 1), (50, 8, 128, 128, 1), (20, 32, 64, 64, 2), (200, 1, 80, 64, 2),
                                                        (1, 1, 512, 512, 1), (5, 64, 256, 256, 1), (30, 2, 100, 100, 2)):
            extra = {"linear_before_reset": 1} if op == "GRU" else {}
            table.add(f"{op} {steps} steps batch {batch} {width} to {hidden} directions {directions}", op, [("f32", (steps, batch, width), -1, 1)],
                      [weights(directions, gates * hidden, width), weights(directions, gates * hidden, hidden), weights(directions, 2 * gates * hidden)],
                      outputs=2, hidden_size=hidden, direction="bidirectional" if directions == 2 else "forward", **extra)
    for b, h, q, k, d in ((1, 12, 128, 128, 64), (1, 12, 1, 512, 64), (2, 8, 77, 77, 64), (1, 8, 256, 256, 32), (4, 4, 33, 65, 48)):
        operands = [("f32", (b, h, q, d), -1, 1), ("f32", (b, h, k, d), -1, 1), ("f32", (b, h, k, d), -1, 1)]
        for causal in (0, 1):
            table.add(f"Attention causal {causal} {b}x{h}x{q}x{k}x{d}", "Attention", operands, opset=23, is_causal=causal)
    table.add("RotaryEmbedding", "RotaryEmbedding", [("f32", (1, 12, 128, 64)), ("f32", (1, 128, 32)), ("f32", (1, 128, 32))], opset=23)
    table.add("STFT", "STFT", [("f32", (1, 16000, 1))], [np.int64(160), np.hanning(400).astype(np.float32), np.int64(400)])
    table.add("DFT", "DFT", [("f32", (8, 512, 1))], opset=20)
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        table.add(op, op, [("f32", (64, 1000)), ("i64", (64,), 0, 1000)])


def quantized(table):
    for n in ((1, 768), (197, 768), (1, 3, 224, 224), (1000000,), (64,)):
        for t, kind in (("u8", np.uint8), ("i8", np.int8)):
            table.add(f"QuantizeLinear {t} {text(n)}", "QuantizeLinear", [("f32", n)], [np.float32(0.05), kind(0)], opset=21)
            table.add(f"DequantizeLinear {t} {text(n)}", "DequantizeLinear", [(t, n)], [np.float32(0.05), kind(0)], opset=21)
        table.add(f"DequantizeLinear i32 {text(n)}", "DequantizeLinear", [("i32", n)], [np.float32(0.05)], opset=21)
        table.add(f"DynamicQuantizeLinear {text(n)}", "DynamicQuantizeLinear", [("f32", n)], outputs=3)
    for axis in (0, 1):
        table.add(f"DequantizeLinear i8 axis {axis}", "DequantizeLinear", [("i8", (768, 768))], [np.abs(weights(768)) + 0.01, np.zeros(768, np.int8)], axis=axis)
    table.add("DequantizeLinear i8 blocks", "DequantizeLinear", [("i8", (768, 768))], [np.abs(weights(768, 24)) + 0.01, np.zeros((768, 24), np.int8)], axis=1,
              block_size=32, opset=21)


def cases(_):
    """Functions that make the cases, by name."""
    table = Table()
    for family in (elementwise, reductions, normalizations, images, products, networks, quantized):
        family(table)
    for t in ("f32", "u8", "f16", "i64", "bool", "i8"):
        movement(table, t)
    return table
