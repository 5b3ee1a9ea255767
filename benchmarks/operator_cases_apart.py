# SPDX-License-Identifier: Apache-2.0
"""More cases of operator_speed.py (--apart): types, axes and shapes that the table leaves out, of which nobody thinks first."""
import itertools

import numpy as np

import operator_cases_quantized
from operator_models import RANDOM, Table, weights


def types(table, n):
    """Elementwise operators, reductions and movement in types that networks use seldom."""
    for op in ("Neg", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Log", "Softplus", "Elu", "LeakyRelu", "HardSigmoid", "HardSwish", "Reciprocal", "Softsign"):
        table.add(f"{op} f16", op, [("f16", n)])
    table.add("Gelu f16", "Gelu", [("f16", n)], opset=20)
    for op in ("Pow", "Min", "Sub", "Div"):
        table.add(f"{op} f16 two", op, [("f16", n), ("f16", n)])
    for t in ("u8", "i8"):
        for op in ("Sub", "Mul", "Div", "Min"):
            table.add(f"{op} {t}", op, [(t, n), (t, n)])
        for op in ("Greater", "Less", "Equal"):
            table.add(f"{op} {t}", op, [(t, n), (t, n)], opset=19)
    for t, axis in itertools.product(("u8", "i8", "i64", "i32"), (0, 1, 2)):
        table.add(f"ReduceMin {t} axes {axis}", "ReduceMin", [(t, n)], axes=[axis])
    for t in ("i32", "i64"):
        for axis in (0, 1, 2):
            table.add(f"ReduceMean {t} axes {axis}", "ReduceMean", [(t, n)], axes=[axis])
            table.add(f"ReduceProd {t} axes {axis}", "ReduceProd", [(t, n, 1, 3)], axes=[axis])
        table.add(f"ReduceSum {t} all of 4M", "ReduceSum", [(t, (1 << 22,))], [np.array([0])])
    for axis in (0, 1, 2):
        for op in ("ArgMax", "ArgMin"):
            table.add(f"{op} i64 axis {axis}", op, [("i64", n)], axis=axis)
        table.add(f"ArgMax i8 axis {axis}", "ArgMax", [("i8", n)], axis=axis)
        table.add(f"CumSum f16 axis {axis}", "CumSum", [("f16", n)], [np.int64(axis)])
    table.add("Where i8", "Where", [("bool", n), ("i8", n), ("i8", n)])
    table.add("Where bool", "Where", [("bool", n), ("bool", n), ("bool", n)])
    table.add("Clip i32", "Clip", [("i32", n)], [np.int32(2), np.int32(5)])
    table.add("Clip i8", "Clip", [("i8", n)], [np.int8(2), np.int8(5)])
    for t in ("i8", "i32", "bool"):
        table.add(f"Transpose {t} 0 2 1", "Transpose", [(t, n)], perm=(0, 2, 1))
        table.add(f"Gather {t} axis 2", "Gather", [(t, n), ("i64", (n[2],), 0, n[2])], axis=2)
        table.add(f"Concat {t} axis 2", "Concat", [(t, n), (t, n)], axis=2)


def broadcasts(table, n):
    a, b, c = n
    for t in ("f32", "f16", "i32", "i64"):
        table.add(f"Add {t} middle", "Add", [(t, (a, 1, c)), (t, (1, b, 1))])
        table.add(f"Mul {t} middle of 4", "Mul", [(t, (4, 8, 16, 300)), (t, (4, 1, 16, 1))])
    table.add("Where f32 all outer", "Where", [("bool", (1, b, 1)), ("f32", (a, 1, c)), ("f32", (1, 1, 1))])
    table.add("Where f32 scalar branches", "Where", [("bool", n), ("f32", (1,)), ("f32", (1,))])
    table.add("Max f32 column and row", "Max", [("f32", (b, 1)), ("f32", (c,))])
    table.add("Div f32 by column", "Div", [("f32", n), ("f32", (b, 1))])
    table.add("Sub f32 from row", "Sub", [("f32", (c,)), ("f32", n)])
    table.add("Pow f32 by column", "Pow", [("f32", n), ("f32", (b, 1))])
    table.add("Mul f32 rows of 3", "Mul", [("f32", (40000, 3)), ("f32", (3,))])
    table.add("Mul f32 rows of 1", "Mul", [("f32", (40000, 7)), ("f32", (40000, 1))])
    table.add("Add f32 channels of images", "Add", [("f32", (4, 64, 28, 28)), ("f32", (64, 1, 1))])
    table.add("Add f32 prime", "Add", [("f32", (1009, 997)), ("f32", (1009, 997))])


def reductions(table, n):
    for op in ("ReduceSum", "ReduceMax"):
        extra = [np.array([0])] if op == "ReduceSum" else []
        table.add(f"{op} f32 all of 4M", op, [("f32", (1 << 22,))], extra, **({} if extra else {"axes": [0]}))
    for axes in ([1], [2], [1, 3], [0, 2], [2, 3], [0, 1]):
        table.add(f"ReduceMean f32 rank 4 {axes}", "ReduceMean", [("f32", (7, 61, 29, 31))], axes=axes)
        table.add(f"ReduceMax f32 rank 4 {axes}", "ReduceMax", [("f32", (7, 61, 29, 31))], axes=axes)
    for shape, axis in (((31, 7, 1009), 1), ((4, 21, 64, 64), 1), ((1, 1000), 1), ((3, 32000), 1), ((12, 197, 197), 2), ((5000, 10), 1)):
        name = "x".join(map(str, shape)) + f" axis {axis}"
        table.add(f"Softmax f32 {name}", "Softmax", [("f32", shape)], axis=axis)
        table.add(f"LogSoftmax f32 {name}", "LogSoftmax", [("f32", shape)], axis=axis)
        table.add(f"ArgMax f32 {name}", "ArgMax", [("f32", shape)], axis=axis)
    table.add("TopK f32 3 of 1000", "TopK", [("f32", (1, 1000))], [np.array([3])], outputs=2, axis=1)
    table.add("TopK f32 100 of 100000", "TopK", [("f32", (100000,))], [np.array([100])], outputs=2, axis=0)
    table.add("TopK f32 columns 3 of 80", "TopK", [("f32", (4, 80, 2100))], [np.array([3])], outputs=2, axis=1)
    table.add("LayerNormalization 4096x96", "LayerNormalization", [("f32", (4096, 96))], [weights(96), weights(96)], axis=-1)
    table.add("LayerNormalization 197x768", "LayerNormalization", [("f32", (197, 768))], [weights(768), weights(768)], axis=-1)
    table.add("LayerNormalization f16 197x768", "LayerNormalization", [("f16", (197, 768))], [weights(768).astype(np.float16)] * 2, axis=-1)


def movement(table, n):
    for t in ("f32", "f16", "u8", "i64"):
        for order in ((0, 3, 1, 4, 2), (4, 3, 2, 1, 0), (0, 2, 1, 3, 4), (1, 0, 3, 2, 4)):
            table.add(f"Transpose {t} 5 axes {' '.join(map(str, order))}", "Transpose", [(t, (3, 8, 14, 7, 64))], perm=order)
        table.add(f"Transpose {t} prime", "Transpose", [(t, (1009, 997))], perm=(1, 0))
        table.add(f"Gather {t} middle of 5", "Gather", [(t, (4, 50, 33, 5)), ("i64", (200,), 0, 50)], axis=1)
    for count, shape, axis in ((64, (1, 3, 256), 1), (64, (128, 3), 1), (16, (4, 1, 1000), 1), (3, (1, 64, 28, 28), 1), (200, (7,), 0)):
        table.add(f"Concat {count} of {'x'.join(map(str, shape))} axis {axis}", "Concat", [("f32", shape)] * count, axis=axis)
    table.add("Split f32 12 heads", "Split", [("f32", (1, 197, 768))], [np.full(12, 64)], outputs=12, axis=2)
    table.add("Split f32 3 of channels", "Split", [("f32", (1, 192, 28, 28))], [np.full(3, 64)], outputs=3, axis=1)
    table.add("Split f32 rows of 3", "Split", [("f32", (10000, 9))], [np.full(3, 3)], outputs=3, axis=1)
    for mode in ("constant", "reflect", "edge"):
        table.add(f"Pad f32 {mode} 1d", "Pad", [("f32", (4, 16, 8000))], [np.array([0, 0, 7, 0, 0, 9])], mode=mode)
        table.add(f"Pad f16 {mode}", "Pad", [("f16", (1, 16, 128, 128))], [np.array([0, 0, 3, 3, 0, 0, 3, 3])], mode=mode)
        table.add(f"Pad f32 {mode} 3d", "Pad", [("f32", (1, 8, 16, 32, 32))], [np.array([0, 0, 1, 1, 1, 0, 0, 1, 1, 1])], mode=mode)
    table.add("Pad f32 negative", "Pad", [("f32", (1, 16, 256, 256))], [np.array([0, 0, -4, -4, 0, 0, -4, -4])])
    for t in ("f16", "u8", "i64"):
        table.add(f"Expand {t} middle", "Expand", [(t, (8, 1, 300))], [np.array([8, 100, 300])])
        table.add(f"ScatterElements {t}", "ScatterElements", [(t, n), ("i64", n, 0, n[1]), (t, n)], axis=1)
        table.add(f"ScatterND {t} rows", "ScatterND", [(t, n), ("i64", (n[1], 2), 0, min(n[:2])), (t, (n[1], n[2]))])
    table.add("Slice f32 four axes", "Slice", [("f32", (8, 32, 64, 64))], [np.array([1, 1, 1, 1]), np.array([7, 31, 63, 63]), np.arange(4)])


def images(table, n):
    for scale in (3.0, 0.75):
        for mode in ("linear", "cubic", "nearest"):
            table.add(f"Resize {mode} {scale} of 3 channels", "Resize", [("f32", (1, 3, 224, 224))], [None, np.array([1, 1, scale, scale], np.float32)], mode=mode)
    table.add("Resize linear antialias", "Resize", [("f32", (1, 3, 224, 224))], [None, np.array([1, 1, 0.5, 0.5], np.float32)], mode="linear", antialias=1, opset=18)
    table.add("Resize nearest 3d", "Resize", [("f32", (1, 8, 16, 32, 32))], [None, np.array([1, 1, 2, 2, 2], np.float32)], mode="nearest")
    for window, stride in ((3, 2), (3, 1)):
        shape = dict(kernel_shape=[window] * 3, strides=[stride] * 3, pads=[1] * 6)
        table.add(f"AveragePool 3d {window} by {stride}", "AveragePool", [("f32", (1, 16, 16, 48, 48))], **shape)
        table.add(f"MaxPool 3d {window} by {stride}", "MaxPool", [("f32", (1, 16, 16, 48, 48))], **shape)
    table.add("MaxPool 2 by 2 prime", "MaxPool", [("f32", (1, 37, 61, 59))], kernel_shape=[2, 2], strides=[2, 2])
    table.add("MaxPool i8", "MaxPool", [("i8", (1, 64, 112, 112))], kernel_shape=[2, 2], strides=[2, 2])
    table.add("GlobalMaxPool 1d", "GlobalMaxPool", [("f32", (4, 256, 1000))])
    table.add("GlobalAveragePool 3d", "GlobalAveragePool", [("f32", (2, 64, 8, 16, 16))])
    table.add("GlobalLpPool", "GlobalLpPool", [("f32", (4, 256, 28, 28))])


def products(table, n):
    def convolution(name, x, w, op="Conv", **attributes):
        table.add(f"{op} {name}", op, [("f32", x)], [weights(*w)], **attributes)

    convolution("1d 32 to 64 of 5 by 2", (1, 32, 4000), (64, 32, 5), strides=[2], pads=[2, 2])
    convolution("1d 512 to 512 of 1", (1, 512, 200), (512, 512, 1))
    convolution("1d dilated", (1, 64, 2000), (64, 64, 3), dilations=[8], pads=[8, 8])
    convolution("1d depthwise of 3 batch 8", (8, 128, 400), (128, 1, 3), group=128, pads=[1, 1])
    convolution("1d groups of 4", (1, 64, 2000), (64, 4, 9), group=16, pads=[4, 4])
    convolution("3d 16 to 16 of 1x3x3", (1, 16, 8, 56, 56), (16, 16, 1, 3, 3), pads=[0, 1, 1] * 2)
    convolution("3d 16 to 32 of 3x1x1", (1, 16, 8, 56, 56), (32, 16, 3, 1, 1), pads=[1, 0, 0] * 2)
    convolution("3d 64 to 64 of 1", (1, 64, 8, 28, 28), (64, 64, 1, 1, 1))
    convolution("3d groups", (1, 32, 8, 28, 28), (32, 8, 3, 3, 3), pads=[1] * 6, group=4)
    convolution("2d groups of 2 channels", (1, 32, 56, 56), (32, 2, 3, 3), pads=[1] * 4, group=16)
    convolution("2d groups of 2", (1, 96, 27, 27), (256, 48, 5, 5), pads=[2] * 4, group=2)
    convolution("2d depthwise batch 4", (4, 96, 28, 28), (96, 1, 3, 3), pads=[1] * 4, group=96)
    convolution("2d depthwise dilated", (1, 64, 64, 64), (64, 1, 3, 3), pads=[2] * 4, dilations=[2, 2], group=64)
    convolution("2d prime", (1, 31, 37, 41), (43, 31, 3, 3), pads=[1] * 4)
    convolution("2d 1x1 by 2", (1, 256, 56, 56), (512, 256, 1, 1), strides=[2, 2])
    convolution("2d 2048 to 512 of 1 7x7", (1, 2048, 7, 7), (512, 2048, 1, 1))
    convolution("2d 512 to 512 of 3 7x7", (1, 512, 7, 7), (512, 512, 3, 3), pads=[1] * 4)
    convolution("2d lopsided padding", (1, 32, 64, 64), (32, 32, 4, 4), pads=[1, 2, 2, 1])
    for name, x, w, attributes in (("groups", (1, 32, 32, 32), (32, 8, 4, 4), dict(strides=[2, 2], pads=[1] * 4, group=4)),
                                   ("1d groups", (1, 64, 500), (64, 8, 4), dict(strides=[2], group=8)),
                                   ("256 to 128 of 4 by 2", (1, 256, 16, 16), (256, 128, 4, 4), dict(strides=[2, 2], pads=[1] * 4)),
                                   ("1 to 1 of 16 by 8", (1, 1, 64, 64), (1, 1, 16, 16), dict(strides=[8, 8], pads=[4] * 4)),
                                   ("3d 16 to 8 of 3 by 2", (1, 16, 4, 16, 16), (16, 8, 3, 3, 3), dict(strides=[2] * 3, pads=[1] * 6))):
        convolution(name, x, w, "ConvTranspose", **attributes)
    for name, left, right in (("batch broadcast left", (1, 128, 64), (8, 64, 128)), ("batch 2 of 4", (2, 1, 64, 64), (1, 8, 64, 64)), ("1x4096x64", (1, 4096), (4096, 64)),
                              ("prime", (97, 101), (101, 103)), ("rank 5", (2, 3, 4, 32, 64), (2, 3, 4, 64, 32)), ("column by row", (1000, 1), (1, 1000)),
                              ("batched vectors", (64, 1, 128), (64, 128, 1)), ("32 rows of 4096x1024", (32, 4096), (4096, 1024)), ("8 rows", (8, 768), (768, 3072))):
        table.add(f"MatMul {name}", "MatMul", [("f32", left), ("f32", right)])
    for a, b in itertools.product((0, 1), repeat=2):
        left, right = (127, 61) if not a else (61, 127), (61, 89) if not b else (89, 61)
        table.add(f"Gemm prime transA {a} transB {b}", "Gemm", [("f32", left)], [weights(*right), weights(89)], transA=a, transB=b)
    table.add("MatMul i64", "MatMul", [("i64", (64, 64)), ("i64", (64, 64))])
    table.add("MatMulInteger i8", "MatMulInteger", [("i8", (197, 768), -8, 8)], [RANDOM.integers(-8, 8, (768, 768)).astype(np.int8)])
    table.add("MatMulInteger both computed", "MatMulInteger", [("u8", (64, 256)), ("u8", (256, 64))])
    table.add("QLinearMatMul", "QLinearMatMul", [("u8", (128, 256))], [np.float32(0.02), np.uint8(3), RANDOM.integers(-8, 8, (256, 128)).astype(np.int8), np.float32(0.03), np.int8(0), np.float32(0.1), np.uint8(9)])


def cases(shape):
    """Functions that make the cases, by name."""
    table = Table()
    for family in (types, broadcasts, reductions, movement, images, products):
        family(table, shape)
    operator_cases_quantized.add_cases(table, shape)
    return table
